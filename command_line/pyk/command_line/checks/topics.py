"""Conclude from the metadata of topics. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyk.clients import AclOperation
from pyk.clients.errors.advice import RESTORE_REPLICAS, START_REPLICAS
from pyk.clients.errors.needed_acls import needed_acl
from pyk.clients.wording import counted
from pyk.command_line.checks.finding import Finding, Status, failed, ok, warning
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.runtime import slotted

UNKNOWN_OPERATIONS = -(2**31)
NEEDED = {
    AclOperation.READ: ("consume from", ApiKey.FETCH),
    AclOperation.WRITE: ("produce to", ApiKey.PRODUCE),
}
REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@slotted.frozen
class PartitionState:
    """The replicas of a partition."""

    partition: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@slotted.frozen
class TopicState:
    """A topic, as a broker describes it."""

    name: str
    error_code: int = 0
    partitions: tuple[PartitionState, ...] = ()
    operations: int = UNKNOWN_OPERATIONS
    """The operations that the client may do, as bits."""


def topic_findings(
    topic: TopicState, min_in_sync: int | None, known: Mapping[str, object]
) -> Iterator[Finding]:
    """Yield what was found out about a topic; ``known`` are the names of topics."""
    if topic.error_code:
        yield _unusable(topic, known)
        return
    yield from replica_findings(topic, min_in_sync)
    yield from _authorization(topic)


def replica_findings(topic: TopicState, min_in_sync: int | None) -> Iterator[Finding]:
    """Yield whether the partitions of a topic have leaders, and replicas in sync."""
    yield from _leaders(topic)
    if min_in_sync is not None:
        yield from _in_sync(topic, min_in_sync)


def offsets_findings(topic: TopicState, min_in_sync: int | None) -> Iterator[Finding]:
    """Yield what keeps the topic of groups from storing their offsets; nothing if it works."""
    for one in replica_findings(topic, min_in_sync):
        if one.status is Status.FAILED:
            meaning = f"groups can neither commit nor get members: {one.meaning}"
            yield slotted.evolve(one, meaning=meaning)


def _unusable(topic: TopicState, known: Mapping[str, object]) -> Finding:
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        advice = did_you_mean(topic.name, known)
        return failed(
            "topic",
            topic.name,
            "it does not exist, or the client may not see it",
            "records can be neither written nor read",
            advice or f"create it: pyk topic create {topic.name}",
        )
    if topic.error_code == REFUSED:
        return failed(
            "authorization",
            topic.name,
            "the client may not describe it",
            "it can neither write nor read there",
            needed_acl(ApiKey.METADATA, REFUSED),
        )
    name = _error_name(topic.error_code)
    return failed("topic", topic.name, name, "the broker cannot describe it", "try again later")


def _leaders(topic: TopicState) -> Iterator[Finding]:
    lost = [one.partition for one in topic.partitions if one.leader < 0]
    total = len(topic.partitions)
    if lost:
        yield failed(
            "leaders",
            topic.name,
            f"{counted(len(lost), 'partition')} of {total} without a leader: {_numbers(lost)}",
            "these partitions can be neither written nor read",
            START_REPLICAS,
        )
    else:
        yield ok("leaders", topic.name, f"{counted(total, 'partition')}, each with a leader")


def _in_sync(topic: TopicState, minimum: int) -> Iterator[Finding]:
    led = [one for one in topic.partitions if one.leader >= 0]  # others are told of as leaderless
    short = [one.partition for one in led if len(one.in_sync) < minimum]
    behind = [one.partition for one in led if len(one.in_sync) < len(one.replicas)]
    impossible = any(len(one.replicas) < minimum for one in topic.partitions)
    if impossible:
        yield failed(
            "replicas",
            topic.name,
            f"min.insync.replicas is {minimum}, and there are fewer replicas",
            "producers with acks=all are always refused (NOT_ENOUGH_REPLICAS)",
            f"lower it: pyk config set topic {topic.name} min.insync.replicas=1, or add replicas",
        )
    elif short:
        yield failed(
            "replicas",
            topic.name,
            f"fewer than min.insync.replicas={minimum} in sync: partition {_numbers(short)}",
            "producers with acks=all are refused (NOT_ENOUGH_REPLICAS) until replicas catch up",
            RESTORE_REPLICAS,
        )
    elif behind:
        yield warning(
            "replicas",
            topic.name,
            f"not all replicas in sync: partition {_numbers(behind)}",
            "one more broker that fails may stop producers",
            "look at the brokers whose replicas are behind",
        )
    else:
        yield ok("replicas", topic.name, f"all in sync, min.insync.replicas is {minimum}")


def _authorization(topic: TopicState) -> Iterator[Finding]:
    if topic.operations == UNKNOWN_OPERATIONS:
        return
    for operation, (what, api_key) in NEEDED.items():
        if topic.operations & (1 << operation):
            yield ok("authorization", topic.name, f"the client may {what} it")
        else:
            yield warning(
                "authorization",
                topic.name,
                f"the client may not {what} it",
                "if it tries, its requests are refused (TOPIC_AUTHORIZATION_FAILED)",
                needed_acl(api_key, REFUSED),
            )


def _numbers(partitions: list[int]) -> str:
    shown = ", ".join(map(str, partitions[:10]))
    return f"{shown} …" if len(partitions) > 10 else shown


def _error_name(code: int) -> str:
    return ErrorCode(code).name if code in set(ErrorCode) else f"error {code}"
