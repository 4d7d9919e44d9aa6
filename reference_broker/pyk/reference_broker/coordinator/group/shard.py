"""The groups of one partition of ``__consumer_offsets``, as an event-sourced shard.

Every request method returns a :class:`Decision`, or takes a deferred response to complete later.
:meth:`GroupShard.replay` turns records back into state: becoming the leader of the partition is
replaying its log.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from pyk.reference_broker.coordinator.decision import Decision, TransactionalProducer
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

from .classic_group import NO_GENERATION, ClassicGroup, GroupState
from .group_checks import (
    check_delete,
    check_offset_commit,
    check_offset_delete,
    check_transactional_commit,
)
from .membership import GroupMembership
from .offsets import GroupOffsets, OffsetConfig, OffsetStore, OffsetToCommit
from .rebalance import GroupConfig
from .records import (
    committed_offset,
    group_from_record,
    group_tombstone,
)

OffsetResults = dict[tuple[str, int], ErrorCode]


class GroupShard:
    """Groups and their offsets; pure except for the timers it is given."""

    def __init__(
        self,
        group_config: GroupConfig,
        offset_config: OffsetConfig,
        timers: ShardTimers,
        new_uuid: Callable[[], UUID],
    ) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self._timers = timers
        self._check_interval_ms = offset_config.check_interval_ms
        self.offsets = OffsetStore(offset_config)
        self.membership = GroupMembership(self.groups, group_config, timers, new_uuid)

    # -- offsets ---------------------------------------------------------------------------------

    def commit_offsets(
        self,
        group_id: str,
        member: tuple[str, str | None, int],
        offsets: Iterable[OffsetToCommit],
        *,
        version: int,
        retention_ms: int = -1,
        moment: Moment,
    ) -> tuple[OffsetResults, Decision]:
        """Commit offsets for a member: its id, instance id and generation.

        Without any of them the group has to be empty.
        """
        member_id, instance_id, generation_id = member
        group = self.groups.get(group_id)
        if group is not None:
            check_offset_commit(group, member_id, instance_id, generation_id)
            self.membership.keep_alive(group, member_id, moment)
        elif generation_id > NO_GENERATION:
            # Version 9 brought an error of its own for this (KIP-848).
            is_new_error = version >= 9
            raise ApiError(
                ErrorCode.GROUP_ID_NOT_FOUND if is_new_error else ErrorCode.ILLEGAL_GENERATION
            )
        results, records = self.offsets.commit(group_id, offsets, retention_ms, moment)
        return results, Decision(tuple(records))

    def commit_transactional_offsets(
        self,
        group_id: str,
        member: tuple[str, str | None, int],
        offsets: Iterable[OffsetToCommit],
        producer: TransactionalProducer,
        moment: Moment,
    ) -> tuple[OffsetResults, Decision]:
        """Commit offsets as part of a producer's transaction: they count once that is committed.

        ``member`` is the consumer's id, instance id and generation (KIP-447), or ``"", None, -1``.
        """
        member_id, instance_id, generation_id = member
        group = self.groups.get(group_id)
        if group is not None:
            check_transactional_commit(group, member_id, instance_id, generation_id)
        elif generation_id > NO_GENERATION:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        results, records = self.offsets.commit(group_id, offsets, -1, moment)
        return results, Decision(tuple(records), producer=producer)

    def committed_offsets(self, group_id: str) -> GroupOffsets:
        return self.offsets.of_group(group_id)

    def unstable_partitions(self, group_id: str) -> Collection[tuple[str, int]]:
        """Return the partitions for which open transactions have offsets pending."""
        return self.offsets.pending.of_group(group_id)

    def delete_offsets(
        self, group_id: str, partitions: Iterable[tuple[str, int]]
    ) -> tuple[OffsetResults, Decision]:
        """Delete committed offsets, except of topics that the group is subscribed to."""
        group = self._group(group_id)
        check_offset_delete(group)
        results, records = self.offsets.delete(group, partitions)
        return results, Decision(tuple(records))

    def expire_offsets(self, moment: Moment) -> Decision:
        """Forget offsets past their retention, and empty groups that have no more of them."""
        records: list[CoordinatorRecord] = []
        for group_id, group in self.groups.items():
            expired = self.offsets.expired(group, moment)
            records += expired
            offset_count = sum(map(len, self.offsets.of_group(group_id).values()))
            if (
                group.is_in(GroupState.EMPTY)
                and not group.pending_join
                and not self.offsets.pending.of_group(group_id)
                and len(expired) == offset_count
            ):
                records.append(group_tombstone(group_id))
        return Decision(tuple(records), is_atomic=False)

    def forget_deleted_topics(self, topic_id_of: Callable[[str], UUID | None]) -> Decision:
        """Forget the offsets of topics that exist no longer under their id."""
        tombstones = self.offsets.tombstones_of_deleted_topics(topic_id_of)
        return Decision(tuple(tombstones), is_atomic=False)

    # -- groups ----------------------------------------------------------------------------------

    def leave_group(
        self, group_id: str, leavers: list[tuple[str, str | None]], moment: Moment
    ) -> tuple[list[ErrorCode], Decision]:
        """Let members (id, instance id) leave; return the result of each."""
        group = self.groups.get(group_id)
        if group is None:
            return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leavers), Decision()
        return self.membership.leave(group, leavers, moment)

    def delete_groups(self, group_ids: Iterable[str]) -> tuple[dict[str, ErrorCode], Decision]:
        """Delete empty groups with all their offsets."""
        results: dict[str, ErrorCode] = {}
        records: list[CoordinatorRecord] = []
        for group_id in dict.fromkeys(group_ids):
            try:
                check_delete(self._group(group_id))
            except ApiError as error:
                results[group_id] = error.code
                continue
            results[group_id] = ErrorCode.NONE
            records += self.offsets.tombstones(group_id)
            records.append(group_tombstone(group_id))
        return results, Decision(tuple(records), is_atomic=False)

    def _group(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    # -- replay ----------------------------------------------------------------------------------

    def decode(self, key: bytes | None, value: bytes | None) -> CoordinatorRecord:
        return CoordinatorRecord.decode(key or b"", value)

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply one record of the log."""
        key, value = record.key, record.value
        if isinstance(key, GroupMetadataKey):
            self._replay_group(key.group, value if isinstance(value, GroupMetadataValue) else None)
        elif isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey):
            if isinstance(value, OffsetCommitValue | LegacyOffsetCommitValue):
                # Offsets of a group without members make one: a "simple" group, without a protocol
                # type.
                self.groups.setdefault(key.group, ClassicGroup(group_id=key.group))
                self.offsets.put(key.group, key.topic, key.partition, committed_offset(value))
            else:
                self.offsets.remove(key.group, key.topic, key.partition)

    def replay_pending(self, record: CoordinatorRecord, producer_id: int) -> None:
        """Remember an offset of an open transaction."""
        key, value = record.key, record.value
        if isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey) and isinstance(
            value, OffsetCommitValue | LegacyOffsetCommitValue
        ):
            self.groups.setdefault(key.group, ClassicGroup(group_id=key.group))
            partition = (key.topic, key.partition)
            self.offsets.pending.put(producer_id, key.group, partition, committed_offset(value))
        else:
            self.replay(record)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the pending offsets of a producer, or drop them."""
        self.offsets.end_transaction(producer_id, is_commit=is_commit)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None) -> None:
        replaced = self.groups.pop(group_id, None)
        if replaced is not None:
            self.membership.group_deleted(replaced)
        if value is not None:
            self.groups[group_id] = group_from_record(group_id, value)

    # -- coming and going ------------------------------------------------------------------------

    def loaded(self, moment: Moment) -> list[Decision]:
        """Begin the sessions of all members that were read from the log, and expire offsets."""
        self._schedule_expiry(moment)
        return [self.membership.group_loaded(group, moment) for group in self.groups.values()]

    def unloaded(self) -> None:
        """Send all members elsewhere: this broker has stopped coordinating their groups."""
        self.membership.unload()

    def _schedule_expiry(self, moment: Moment) -> None:
        def expire(moment: Moment) -> Decision:
            self._schedule_expiry(moment)
            return self.expire_offsets(moment)

        self._timers.schedule(("offset expiry",), moment.after(self._check_interval_ms), expire)
