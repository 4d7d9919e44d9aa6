"""The consumer groups among the groups of one shard: find, make, describe and replay them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_describe import DescribedGroup
from pyk.protocol.messages.consumer_group_records import ConsumerGroupMetadataKey
from pyk.reference_broker.controller.image import GROUP_RESOURCE, MetadataImage
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError

from .classic_group import GroupState
from .consumer.consumer_group import RECORD_KEYS, ConsumerGroup
from .consumer.description import describe_consumer_group
from .consumer.draft import Draft
from .consumer.group_config import ConsumerGroupConfig
from .consumer.topics import Topics
from .conversion import check_upgrade, upgrade_records
from .groups import Group, consumer_group, tombstones_of
from .share.share_group import ShareGroup
from .streams.streams_group import StreamsGroup

log = logging.getLogger(__name__)


class ConsumerGroups:
    """Knows which groups are consumer groups; shares its table with the classic ones."""

    def __init__(
        self,
        groups: dict[str, Group],
        config: Callable[[], ConsumerGroupConfig],
        image: MetadataImage,
    ) -> None:
        self._groups = groups
        self._config = config
        self._image = image
        self.topics = Topics(image)

    def describe(self, group_id: str) -> DescribedGroup:
        """Describe a group; raise :class:`ApiError` if there is none."""
        return describe_consumer_group(
            self.existing(group_id), self.topics, self._config().assignors
        )

    def config_of(self, group_id: str) -> ConsumerGroupConfig:
        """Return what a group obeys: what is set for itself, otherwise what the broker has."""
        return self._config().of_group(self._image.config(GROUP_RESOURCE, group_id))

    def existing(self, group_id: str) -> ConsumerGroup:
        """Return a group; raise :class:`ApiError` if there is none."""
        return consumer_group(self._groups, group_id)

    def joined(self, group_id: str) -> ConsumerGroup:
        """Return the group of a member; raise :class:`ApiError` if there is none."""
        if group_id not in self._groups:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
        return self.existing(group_id)

    def __iter__(self) -> Iterator[ConsumerGroup]:
        return (group for group in self._groups.values() if isinstance(group, ConsumerGroup))

    def draft_for_joining(self, group_id: str) -> Draft:
        """Return the group that a member joins: a new one, or what becomes of a classic one."""
        found = self._groups.get(group_id)
        if isinstance(found, ConsumerGroup):
            return Draft(found)
        group = ConsumerGroup(group_id=group_id)
        if found is None:
            return Draft(group)
        if isinstance(found, ShareGroup | StreamsGroup):
            return Draft(self.existing(group_id))  # raises
        draft = Draft(group, *tombstones_of(found))
        if not found.is_in(GroupState.EMPTY):
            check_upgrade(found, self.config_of(group_id))
            draft.add(*upgrade_records(found, self.topics))
            log.info("Classic group %r becomes a consumer group", group_id)
        return draft

    # -- replay ----------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply one record about a consumer group; the first one makes it."""
        key: Any = record.key
        if type(key) not in RECORD_KEYS:
            return  # which only older brokers write
        group = self._groups.get(key.group_id)
        if record.value is None:
            if isinstance(group, ConsumerGroup):
                self._replay_tombstone(group, record)
            return
        if not isinstance(group, ConsumerGroup):
            # What it replaces is at most a group that offsets without members have made.
            group = self._groups[key.group_id] = ConsumerGroup(group_id=key.group_id)
        group.replay(record)

    def _replay_tombstone(self, group: ConsumerGroup, record: CoordinatorRecord) -> None:
        if isinstance(record.key, ConsumerGroupMetadataKey):
            del self._groups[group.group_id]
        else:
            group.replay(record)
