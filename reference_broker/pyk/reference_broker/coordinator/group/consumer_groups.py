"""The consumer groups among the groups of one shard: find, make, describe and replay them."""

from __future__ import annotations

import logging

from pyk.protocol.messages.consumer_group_describe import DescribedGroup
from pyk.protocol.messages.consumer_group_records import ConsumerGroupMetadataKey

from .classic_group import GroupState
from .consumer.consumer_group import RECORD_KEYS, ConsumerGroup
from .consumer.description import describe_consumer_group
from .consumer.draft import Draft
from .consumer.group_config import ConsumerGroupConfig
from .conversion import check_upgrade, upgrade_records
from .groups import tombstones_of
from .groups_of_type import GroupsOfType
from .share.share_group import ShareGroup
from .streams.streams_group import StreamsGroup

log = logging.getLogger(__name__)


class ConsumerGroups(GroupsOfType[ConsumerGroup, ConsumerGroupConfig]):
    """Knows which groups are consumer groups; shares its table with the classic ones."""

    type_name = "consumer"
    group_class = ConsumerGroup
    record_keys = RECORD_KEYS
    metadata_key = ConsumerGroupMetadataKey

    def describe(self, group_id: str) -> DescribedGroup:
        """Describe a group; raise :class:`ApiError` if there is none."""
        return describe_consumer_group(
            self.existing(group_id), self.topics, self._config().assignors
        )

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
