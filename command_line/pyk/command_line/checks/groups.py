"""Conclude from the state of a group. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyk.clients import (
    AclOperation,
    ConsumerGroupDescription,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    GroupListing,
    KafkaError,
    PartitionLag,
    ShareGroupDescription,
    SharePartitionOffset,
    TopicAuthorizationFailedError,
    TopicPartition,
)
from pyk.clients.errors.needed_acls import needed_acl
from pyk.clients.wording import counted
from pyk.command_line.checks.finding import Finding, failed, ok, warning
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode

Lags = Mapping[TopicPartition, PartitionLag] | Mapping[TopicPartition, SharePartitionOffset]
Described = ConsumerGroupDescription | ShareGroupDescription

WAITING = {"PreparingRebalance", "CompletingRebalance"}
"""States of the classic protocol in which no member has partitions."""
MOVING = {"Assigning", "Reconciling"}
"""States of the newer protocol in which partitions move from member to member."""
CONSUMERS = {"", "consumer", "share"}
"""Protocol types of groups that consumers can join; empty for a group that only has offsets."""
OF_CONSUMERS = {"", "consumer", "classic"}
"""What a list may call a group that can be described as one of consumers."""


def is_rebalancing(described: Described) -> bool:
    """Return whether a group is in a state that should not last."""
    return described.state in WAITING | MOVING


def group_findings(
    group_id: str, described: Described | KafkaError, lags: Lags, waited_seconds: float = 0.0
) -> Iterator[Finding]:
    """Yield what was found out about a group.

    A rebalance was looked at for ``waited_seconds`` without coming to its end.
    """
    if isinstance(described, KafkaError):
        yield _unusable(group_id, described)
        return
    is_share = isinstance(described, ShareGroupDescription)
    kind = "share" if isinstance(described, ShareGroupDescription) else described.protocol_type
    if kind not in CONSUMERS:
        yield foreign_finding(group_id, kind)
        return
    yield _state(group_id, described, waited_seconds)
    yield from _authorization(group_id, described)
    yield from _lag(group_id, lags, is_share=is_share)
    idle = [one.member_id for one in described.members if not one.assignment]
    if idle and described.state == "Stable":
        yield warning(
            "assignment",
            group_id,
            f"{counted(len(idle), 'member')} of {len(described.members)} without partitions",
            "there are more members than partitions, so these have nothing to do",
            "stop them, or add partitions",
        )


def listed_finding(group_id: str, error: KafkaError, listed: GroupListing | None) -> Finding:
    """Return the finding of a group that cannot be described as one of consumers."""
    kind = "" if listed is None else listed.protocol_type or listed.group_type
    return _unusable(group_id, error) if kind in OF_CONSUMERS else foreign_finding(group_id, kind)


def foreign_finding(group_id: str, kind: str) -> Finding:
    """Return the finding of a group whose members are no consumers."""
    return failed(
        "group",
        group_id,
        f"its type is {kind}",
        "consumers cannot join it (INCONSISTENT_GROUP_PROTOCOL)",
        "give consumers a group_id that no other kind of program uses",
    )


def _state(group_id: str, described: Described, waited_seconds: float) -> Finding:
    members, state = len(described.members), described.state
    if is_rebalancing(described):
        seen = f"{state} for {waited_seconds:.0f} s, {counted(members, 'member')}"
        advice = "find the member that does not poll, or that restarts again and again"
        if state in MOVING:
            meaning = "a member has not given up partitions yet that another one waits for"
            return warning("group", group_id, seen, meaning, advice)
        meaning = "its members read nothing until all have joined, or max.poll.interval.ms is over"
        return failed("group", group_id, seen, meaning, advice)
    if not members:
        return warning(
            "group",
            group_id,
            f"{state}, without members",
            "nobody reads for it",
            "start its consumers; if they run, they cannot join: look at their logs",
        )
    return ok("group", group_id, f"{state}, {counted(members, 'member')}")


def _authorization(group_id: str, described: Described) -> Iterator[Finding]:
    operations = described.authorized_operations
    if operations is None:
        return
    if AclOperation.READ in operations:
        yield ok("authorization", group_id, "the client may be a member of it")
        return
    yield warning(
        "authorization",
        group_id,
        "the client may not be a member of it",
        "if it tries, it is refused (GROUP_AUTHORIZATION_FAILED)",
        needed_acl(ApiKey.JOIN_GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    )


def _lag(group_id: str, lags: Lags, *, is_share: bool) -> Iterator[Finding]:
    behind = sum(at.lag or 0 for at in lags.values())
    if not lags and is_share:
        yield warning(
            "lag",
            group_id,
            "it has not begun to read",
            "it begins where share.auto.offset.reset says: by default it skips what is there",
            "set share.auto.offset.reset=earliest on the group to read it",
        )
    elif not lags:
        yield warning(
            "lag",
            group_id,
            "it has committed no offsets",
            "its consumers begin where auto.offset.reset says: by default they skip what is there",
            "give auto.offset.reset=earliest to read it",
        )
    else:
        yield ok("lag", group_id, counted(behind, "offset"))


def _unusable(group_id: str, error: KafkaError) -> Finding:
    if isinstance(error, GroupIdNotFoundError):
        return warning(
            "group",
            group_id,
            "it does not exist",
            "no consumer has joined it, nor committed offsets for it",
            "check its name: pyk group list",
        )
    if isinstance(error, GroupAuthorizationFailedError):
        advice = needed_acl(ApiKey.JOIN_GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        meaning = "the client cannot be a member of the group"
        return failed("authorization", group_id, str(error), meaning, advice)
    if isinstance(error, TopicAuthorizationFailedError):
        advice = needed_acl(ApiKey.LIST_OFFSETS, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        meaning = "how far it is behind cannot be seen"
        return warning("authorization", group_id, str(error), meaning, advice)
    return failed(
        "group",
        group_id,
        str(error),
        "the coordinator of the group does not answer for it",
        "look at the logs of the broker that coordinates it",
    )
