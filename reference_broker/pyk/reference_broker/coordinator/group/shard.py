"""The groups of one partition of ``__consumer_offsets``, as an event-sourced shard.

Every request method returns a :class:`Decision`, or takes a deferred response to complete later.
:meth:`GroupShard.replay` turns records back into state: becoming the leader of the partition is
replaying its log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

from .classic_group import ClassicGroup
from .classic_protocol import ClassicProtocol
from .consumer.group_config import ConsumerGroupConfig
from .consumer.membership import ConsumerMembership
from .consumer_groups import ConsumerGroups
from .group_checks import check_delete
from .groups import Group, classic_group, existing_group, tombstones_of
from .membership import GroupMembership
from .offset_requests import OffsetRequests
from .offsets import OffsetConfig, OffsetStore
from .rebalance import GroupConfig
from .records import (
    committed_offset,
    group_from_record,
)
from .share.group_config import ShareGroupConfig
from .share.membership import ShareMembership
from .share.offsets import ShareOffsets
from .share_groups import ShareGroups
from .streams.group_config import StreamsGroupConfig
from .streams.membership import StreamsMembership
from .streams_groups import StreamsGroups


class GroupShard:
    """Groups of all types, and their offsets; pure except for the timers it is given."""

    def __init__(
        self,
        group_config: GroupConfig,
        offset_config: OffsetConfig,
        timers: ShardTimers,
        new_uuid: Callable[[], UUID],
        *,
        consumer_config: Callable[[], ConsumerGroupConfig],
        share_config: Callable[[], ShareGroupConfig] = ShareGroupConfig,
        streams_config: Callable[[], StreamsGroupConfig] = StreamsGroupConfig,
        image: MetadataImage,
    ) -> None:
        self.groups: dict[str, Group] = {}
        self.consumer_groups = ConsumerGroups(self.groups, consumer_config, image)
        self.membership = GroupMembership(self.groups, group_config, timers, new_uuid)
        self.consumers = ConsumerMembership(
            self.groups, self.consumer_groups, self.membership, timers, new_uuid
        )
        self.classic_protocol = ClassicProtocol(
            self.groups, self.membership, self.consumers.classic_requests, self.consumers
        )
        self.share_groups = ShareGroups(self.groups, share_config, image)
        self.shares = ShareMembership(self.share_groups, timers)
        self.share_offsets = ShareOffsets(self.share_groups)
        self.streams_groups = StreamsGroups(self.groups, streams_config, image)
        self.streams = StreamsMembership(self.streams_groups, timers)
        self._timers = timers
        self._check_interval_ms = offset_config.check_interval_ms
        self.offsets = OffsetStore(offset_config)
        self.offset_requests = OffsetRequests(self.groups, self.offsets, self.membership)

    # -- requests --------------------------------------------------------------------------------

    def delete_groups(self, group_ids: Iterable[str]) -> tuple[dict[str, ErrorCode], Decision]:
        """Delete empty groups with all their offsets."""
        results: dict[str, ErrorCode] = {}
        records: list[CoordinatorRecord] = []
        for group_id in dict.fromkeys(group_ids):
            try:
                group = existing_group(self.groups, group_id)
                check_delete(group)
            except ApiError as error:
                results[group_id] = error.code
                continue
            results[group_id] = ErrorCode.NONE
            records += self.offsets.tombstones(group_id)
            records += tombstones_of(group)
            self.streams.group_deleted(group_id)
        return results, Decision(tuple(records), is_atomic=False)

    def forget_deleted_topics(self, topic_id_of: Callable[[str], UUID | None]) -> Decision:
        """Forget the offsets of topics that exist no longer under their id."""
        records = self.offsets.tombstones_of_deleted_topics(topic_id_of)
        records += self.share_groups.forget_deleted_topics()
        return Decision(tuple(records), is_atomic=False)

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
        elif not (self.share_groups.replay(record) or self.streams_groups.replay(record)):
            self.consumer_groups.replay(record)

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
        replaced = classic_group(self.groups, group_id)
        if replaced is not None:
            del self.groups[group_id]
            self.membership.group_deleted(replaced)
        if value is not None:
            self.groups[group_id] = group_from_record(group_id, value)

    # -- coming and going ------------------------------------------------------------------------

    def loaded(self, moment: Moment) -> list[Decision]:
        """Begin the sessions of all members that were read from the log, and expire offsets."""
        self._schedule_expiry(moment)
        self.consumers.loaded(moment)
        self.shares.loaded(moment)
        self.streams.loaded(moment)
        return [
            self.membership.group_loaded(group, moment)
            for group in self.groups.values()
            if isinstance(group, ClassicGroup)
        ]

    def unloaded(self) -> None:
        """Send all members elsewhere: this broker has stopped coordinating their groups."""
        self.membership.unload()

    def _schedule_expiry(self, moment: Moment) -> None:
        def expire(moment: Moment) -> Decision:
            self._schedule_expiry(moment)
            return self.offset_requests.expire(moment)

        self._timers.schedule(("offset expiry",), moment.after(self._check_interval_ms), expire)
