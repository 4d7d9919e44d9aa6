"""Conclude from the state of a group. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyk.clients import (
    ConsumerGroupDescription,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    KafkaError,
    PartitionLag,
    ShareGroupDescription,
    SharePartitionOffset,
    TopicPartition,
)
from pyk.clients.wording import counted
from pyk.command_line.checks.finding import Finding, failed, ok, warning

Lags = Mapping[TopicPartition, PartitionLag] | Mapping[TopicPartition, SharePartitionOffset]

REBALANCING = {"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}


def group_findings(
    group_id: str,
    described: ConsumerGroupDescription | ShareGroupDescription | KafkaError,
    lags: Lags,
) -> Iterator[Finding]:
    """Yield what was found out about a group."""
    if isinstance(described, KafkaError):
        yield _unusable(group_id, described)
        return
    members, state = len(described.members), described.state
    if state in REBALANCING:
        yield warning(
            "group",
            group_id,
            f"{state}, {counted(members, 'member')}",
            "its members read nothing until all have joined, or max.poll.interval.ms is over",
            "if it stays like this, find the member that does not poll, or that restarts again "
            "and again",
        )
    elif not members:
        yield warning(
            "group",
            group_id,
            f"{state}, without members",
            "nobody reads for it",
            "start its consumers; if they run, they cannot join: look at their logs",
        )
    else:
        yield ok("group", group_id, f"{state}, {counted(members, 'member')}")
    yield from _lag(group_id, lags, is_share=isinstance(described, ShareGroupDescription))
    idle = [one.member_id for one in described.members if not one.assignment]
    if idle and state == "Stable":
        yield warning(
            "assignment",
            group_id,
            f"{counted(len(idle), 'member')} of {members} without partitions",
            "there are more members than partitions, so these have nothing to do",
            "stop them, or add partitions",
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
        return failed(
            "authorization",
            group_id,
            str(error),
            "the client cannot be a member of the group",
            "give its user READ on the group",
        )
    return failed(
        "group",
        group_id,
        str(error),
        "the coordinator of the group does not answer for it",
        "look at the logs of the broker that coordinates it",
    )
