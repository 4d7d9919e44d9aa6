"""The streams groups among the groups of one shard: find, make, describe and replay them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.streams_group_describe import DescribedGroup
from pyk.protocol.messages.streams_group_records import StreamsGroupMetadataKey
from pyk.reference_broker.controller.image import GROUP_RESOURCE, MetadataImage
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError

from .classic_group import ClassicGroup, GroupState
from .consumer.topics import Topics
from .group_draft import GroupDraft
from .groups import Group, streams_group, tombstones_of
from .streams.description import describe_streams_group
from .streams.group_config import StreamsGroupConfig
from .streams.streams_group import RECORD_KEYS, StreamsGroup

log = logging.getLogger(__name__)


class StreamsGroups:
    """Knows which groups are streams groups; shares its table with the others."""

    def __init__(
        self,
        groups: dict[str, Group],
        config: Callable[[], StreamsGroupConfig],
        image: MetadataImage,
    ) -> None:
        self._groups = groups
        self._config = config
        self._image = image
        self.topics = Topics(image)

    def describe(self, group_id: str) -> DescribedGroup:
        """Describe a group; raise :class:`ApiError` if there is none."""
        return describe_streams_group(self.existing(group_id))

    def config_of(self, group_id: str) -> StreamsGroupConfig:
        """Return what a group obeys: what is set for itself, otherwise what the broker has."""
        return self._config().of_group(self._image.config(GROUP_RESOURCE, group_id))

    def existing(self, group_id: str) -> StreamsGroup:
        """Return a group; raise :class:`ApiError` if there is none."""
        return streams_group(self._groups, group_id)

    def joined(self, group_id: str) -> StreamsGroup:
        """Return the group of a member; raise :class:`ApiError` if there is none."""
        if group_id not in self._groups:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {group_id} not found.")
        return self.existing(group_id)

    def draft_for_joining(self, group_id: str) -> GroupDraft[StreamsGroup]:
        """Return the group that a member joins, a new one in place of an empty classic one."""
        found = self._groups.get(group_id)
        if found is None:
            return GroupDraft(StreamsGroup(group_id=group_id))
        if isinstance(found, ClassicGroup) and found.is_in(GroupState.EMPTY):
            log.info("Classic group %r becomes a streams group", group_id)
            return GroupDraft(StreamsGroup(group_id=group_id), *tombstones_of(found))
        return GroupDraft(self.existing(group_id))

    def __contains__(self, group_id: str) -> bool:
        return isinstance(self._groups.get(group_id), StreamsGroup)

    def __iter__(self) -> Iterator[StreamsGroup]:
        return (group for group in self._groups.values() if isinstance(group, StreamsGroup))

    # -- replay ----------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord) -> bool:
        """Apply one record about a streams group, the first makes it; return whether it is one."""
        key: Any = record.key
        if type(key) not in RECORD_KEYS:
            return False
        group = self._groups.get(key.group_id)
        if not isinstance(group, StreamsGroup):
            if record.value is None:
                return True
            group = self._groups[key.group_id] = StreamsGroup(group_id=key.group_id)
        if isinstance(key, StreamsGroupMetadataKey) and record.value is None:
            del self._groups[group.group_id]
        else:
            group.replay(record)
        return True
