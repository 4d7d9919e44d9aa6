"""The errors of positions that a leader's log does not confirm. Pure."""

from __future__ import annotations

from pyk.clients.errors import (
    LogTruncatedError,
    NotLeaderOrFollowerError,
    UnstableOffsetCommitError,
)
from pyk.clients.topic_partition import TopicPartition


def old_leader_error(
    topic_partition: TopicPartition, offset: int, read_epoch: int, leader_epoch: int
) -> NotLeaderOrFollowerError:
    """Return the error of a leader in an older epoch than the records before ``offset``."""
    topic, partition = topic_partition
    return NotLeaderOrFollowerError(
        f"the leader of {topic_partition} is in epoch {leader_epoch}, but offset {offset} was "
        f"read in epoch {read_epoch}: the metadata is stale",
        topic=topic,
        partition=partition,
    )


def truncated_error(
    topic_partition: TopicPartition, position: int, end_offset: int
) -> LogTruncatedError:
    """Return the error of a log that ends before the position; -1 if its end is unknown."""
    topic, partition = topic_partition
    return LogTruncatedError(
        f"the log of {topic_partition} was truncated"
        f"{f' to offset {end_offset}' if end_offset >= 0 else ''}, but was read up to "
        f"{position}; seek to go on",
        topic=topic,
        partition=partition,
        offset=end_offset if end_offset >= 0 else None,
    )


def unstable_error(topic_partition: TopicPartition) -> UnstableOffsetCommitError:
    """Return why a group does not tell where it stopped."""
    topic, partition = topic_partition
    return UnstableOffsetCommitError(
        f"the committed offset of {topic_partition} waits for the end of a transaction that "
        "commits it and is still open, until its producer's transaction.timeout.ms at the latest",
        topic=topic,
        partition=partition,
    )
