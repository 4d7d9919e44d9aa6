"""What a heartbeat's response tells an application of its group. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntEnum

from pyk.protocol.messages.streams_group_heartbeat import Status

MAX_NAMED = 3


class StatusCode(IntEnum):
    """The kinds of status, with Kafka's numbers."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


def stale_topology(epoch: int, group_epoch: int) -> Status:
    return _status(
        StatusCode.STALE_TOPOLOGY,
        f"The member's topology epoch {epoch} is behind the group's topology epoch {group_epoch}.",
    )


def delayed(reason: str) -> Status:
    return _status(
        StatusCode.ASSIGNMENT_DELAYED, f"Assignment delayed due to the configured {reason}."
    )


INITIAL_DELAY = "initial rebalance delay"
ASSIGNMENT_INTERVAL = "assignment interval"


def missing_source_topics(names: Collection[str]) -> Status:
    return _status(
        StatusCode.MISSING_SOURCE_TOPICS, f"Source topics {summary(sorted(names))} are missing."
    )


def incorrectly_partitioned(detail: str) -> Status:
    return _status(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail)


def missing_internal_topics(names: Collection[str]) -> Status:
    return _status(
        StatusCode.MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {summary(sorted(names))}"
    )


def shutdown_application(member_id: str) -> Status:
    return _status(
        StatusCode.SHUTDOWN_APPLICATION,
        f"Streams group member {member_id} encountered a fatal error and requested a shutdown for "
        "the entire application.",
    )


def summary(names: Sequence[str]) -> str:
    """Return the first names, and how many others there are."""
    named = ", ".join(names[:MAX_NAMED])
    others = len(names) - MAX_NAMED
    return f"{named} and {others} additional topics" if others > 0 else named


def _status(code: StatusCode, detail: str) -> Status:
    return Status(status_code=code, status_detail=detail)
