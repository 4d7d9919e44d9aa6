"""The committed offsets of one shard's groups: commit, fetch, delete, expire.

Offsets change only by replaying records, so that a restart and a commit are the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .classic_group import ClassicGroup, GroupState
from .groups import GroupWithOffsets
from .pending_offsets import PendingOffsets
from .records import UNKNOWN_TOPIC_ID, CommittedOffset, offset_record, offset_tombstone

GroupOffsets = Mapping[str, Mapping[int, CommittedOffset]]
"""Committed offsets by topic and partition."""


@slotted.frozen(kw_only=True)
class OffsetConfig:
    """The broker configuration that committed offsets obey."""

    retention_ms: int = 7 * 24 * 3600 * 1000
    check_interval_ms: int = 600_000
    metadata_max_bytes: int = 4096


@slotted.frozen(kw_only=True)
class OffsetToCommit:
    """One partition of an OffsetCommit."""

    topic: str
    topic_id: UUID = UNKNOWN_TOPIC_ID
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class OffsetStore:
    """Committed offsets by group, topic and partition, and those that transactions have pending."""

    def __init__(self, config: OffsetConfig) -> None:
        self._config = config
        self._groups: dict[str, dict[str, dict[int, CommittedOffset]]] = {}
        self.pending = PendingOffsets()

    def of_group(self, group_id: str) -> GroupOffsets:
        return self._groups.get(group_id, {})

    def commit(
        self, group_id: str, offsets: Iterable[OffsetToCommit], retention_ms: int, moment: Moment
    ) -> tuple[dict[tuple[str, int], ErrorCode], list[CoordinatorRecord]]:
        """Return the result for each partition, and the records that commit the good ones."""
        expire_timestamp_ms = None if retention_ms < 0 else moment.time_ms + retention_ms
        results: dict[tuple[str, int], ErrorCode] = {}
        records = []
        for each in offsets:
            partition = (each.topic, each.partition)
            if len(each.metadata) > self._config.metadata_max_bytes:
                results[partition] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            committed = CommittedOffset(
                offset=each.offset,
                topic_id=each.topic_id,
                leader_epoch=each.leader_epoch,
                metadata=each.metadata,
                commit_timestamp_ms=moment.time_ms,
                expire_timestamp_ms=expire_timestamp_ms,
            )
            results[partition] = ErrorCode.NONE
            records.append(offset_record(group_id, *partition, committed))
        return results, records

    def delete(
        self, group: GroupWithOffsets, partitions: Iterable[tuple[str, int]]
    ) -> tuple[dict[tuple[str, int], ErrorCode], list[CoordinatorRecord]]:
        """Return the result for each partition, and the tombstones of those with an offset.

        One that a transaction has pending counts.
        """
        results: dict[tuple[str, int], ErrorCode] = {}
        records = []
        pending = self.pending.of_group(group.group_id)
        for topic, partition in partitions:
            results[topic, partition] = ErrorCode.NONE
            if group.is_subscribed_to(topic):
                results[topic, partition] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            elif (topic, partition) in pending or partition in self.of_group(group.group_id).get(
                topic, ()
            ):
                records.append(offset_tombstone(group.group_id, topic, partition))
        return results, records

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """Return tombstones for all offsets of a group, also for those that are pending."""
        committed = {
            (topic, partition): None
            for topic, partitions in self.of_group(group_id).items()
            for partition in partitions
        }
        partitions = committed | dict.fromkeys(self.pending.of_group(group_id))
        return [offset_tombstone(group_id, *partition) for partition in partitions]

    def tombstones_of_deleted_topics(
        self, topic_id_of: Callable[[str], UUID | None]
    ) -> list[CoordinatorRecord]:
        """Return tombstones for all offsets of topics that exist no longer under their id.

        ``topic_id_of`` returns the id of an existing topic, None for others.
        """

        def is_gone(topic: str, committed: CommittedOffset) -> bool:
            topic_id = topic_id_of(topic)
            return topic_id is None or not committed.belongs_to(topic_id)

        gone = {
            (group_id, topic, partition): None
            for group_id, topics in self._groups.items()
            for topic, partitions in topics.items()
            for partition, committed in partitions.items()
            if is_gone(topic, committed)
        }
        gone |= {
            (each.group_id, each.topic, each.partition): None
            for each in self.pending
            if is_gone(each.topic, each.committed)
        }
        return [offset_tombstone(*each) for each in gone]

    def expired(self, group: GroupWithOffsets, moment: Moment) -> list[CoordinatorRecord]:
        """Return tombstones for a group's offsets that have outlived their retention (KIP-211).

        1. A group that has or had members keeps its offsets while it has members, and counts from
           when the last left.
        2. A group of consumers forgets even then what it no longer subscribes to.
        3. Without any members ever, each offset counts from its commit.
        4. Where a transaction has an offset pending, none expires.
        5. A group that the coordinator assigns forgets what it does not subscribe to.
        """
        if not isinstance(group, ClassicGroup):
            return self._expired_without_subscriber(group, moment)
        if group.is_in(GroupState.EMPTY):
            since_ms = group.state_since_ms  # -1 without any members ever
            return self._expired(
                group.group_id,
                lambda _, offset: self._is_expired(
                    offset, offset.commit_timestamp_ms if since_ms < 0 else since_ms, moment
                ),
            )
        if group.uses_consumer_protocol and group.is_in(GroupState.STABLE):
            return self._expired_without_subscriber(group, moment)
        return []

    def _expired_without_subscriber(
        self, group: GroupWithOffsets, moment: Moment
    ) -> list[CoordinatorRecord]:
        return self._expired(
            group.group_id,
            lambda topic, offset: (
                self._is_expired(offset, offset.commit_timestamp_ms, moment)
                and not group.is_subscribed_to(topic)
            ),
        )

    def _expired(
        self, group_id: str, is_expired: Callable[[str, CommittedOffset], bool]
    ) -> list[CoordinatorRecord]:
        pending = self.pending.of_group(group_id)
        return [
            offset_tombstone(group_id, topic, partition)
            for topic, partitions in self.of_group(group_id).items()
            for partition, committed in partitions.items()
            if (topic, partition) not in pending and is_expired(topic, committed)
        ]

    def _is_expired(self, committed: CommittedOffset, since_ms: int, moment: Moment) -> bool:
        if committed.expire_timestamp_ms is not None:
            return moment.time_ms >= committed.expire_timestamp_ms
        return moment.time_ms - since_ms >= self._config.retention_ms

    # -- replay ----------------------------------------------------------------------------------

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        if self.pending:
            self.pending.supersede(group_id, (topic, partition))
        self._put(group_id, topic, partition, committed)

    def _put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        self._groups.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the pending offsets of a producer, or drop them."""
        for each in self.pending.end(producer_id, is_commit=is_commit):
            self._put(each.group_id, each.topic, each.partition, each.committed)

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        self.pending.remove(group_id, (topic, partition))
        topics = self._groups.get(group_id, {})
        partitions = topics.get(topic, {})
        partitions.pop(partition, None)
        if not partitions:
            topics.pop(topic, None)
        if not topics:
            self._groups.pop(group_id, None)
