"""The streams groups among the groups of one shard: find, make, describe and replay them."""

from __future__ import annotations

import logging

from pyk.protocol.messages.streams_group_describe import DescribedGroup
from pyk.protocol.messages.streams_group_records import StreamsGroupMetadataKey

from .classic_group import ClassicGroup, GroupState
from .group_draft import GroupDraft
from .groups import tombstones_of
from .groups_of_type import GroupsOfType
from .streams.description import describe_streams_group
from .streams.group_config import StreamsGroupConfig
from .streams.streams_group import RECORD_KEYS, StreamsGroup

log = logging.getLogger(__name__)


class StreamsGroups(GroupsOfType[StreamsGroup, StreamsGroupConfig]):
    """Knows which groups are streams groups; shares its table with the others."""

    type_name = "streams"
    group_class = StreamsGroup
    record_keys = RECORD_KEYS
    metadata_key = StreamsGroupMetadataKey

    def describe(self, group_id: str) -> DescribedGroup:
        """Describe a group; raise :class:`ApiError` if there is none."""
        return describe_streams_group(self.existing(group_id))

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
