"""The share groups among the groups of one shard: find, make, describe and replay them."""

from __future__ import annotations

from pyk.protocol.messages.share_group_describe import DescribedGroup
from pyk.protocol.messages.share_group_records import ShareGroupMetadataKey
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.records import CoordinatorRecord

from .groups_of_type import GroupsOfType
from .share.description import describe_share_group
from .share.group_config import ShareGroupConfig
from .share.initialization import InitializedStates
from .share.records import state_topics_record
from .share.share_group import RECORD_KEYS, ShareGroup
from .share.state_topics import Partitions, StateTopics


class ShareGroups(GroupsOfType[ShareGroup, ShareGroupConfig]):
    """Knows which groups are share groups; shares its table with the others."""

    type_name = "share"
    group_class = ShareGroup
    record_keys = RECORD_KEYS
    metadata_key = ShareGroupMetadataKey

    def describe(self, group_id: str) -> DescribedGroup:
        """Describe a group; raise :class:`ApiError` if there is none."""
        return describe_share_group(self.existing(group_id), self.topics, self._config().assignor)

    def joined(self, group_id: str, *, may_be_new: bool = False) -> ShareGroup:
        """Return the group of a member, a new one if there may be; raise :class:`ApiError`."""
        if may_be_new and group_id not in self._groups:
            return ShareGroup(group_id=group_id)
        return super().joined(group_id)

    def partitions_with_state(self, group_id: str) -> Partitions:
        """Return the partitions with a state, none if there is no share group."""
        group = self._groups.get(group_id)
        return group.topics.initialized if isinstance(group, ShareGroup) else {}

    def initialized(self, group_id: str, found: InitializedStates) -> Decision:
        """Decide what follows when share coordinators have answered."""
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return NOTHING  # it was deleted meanwhile
        return _changed(group, group.topics.end_initializing(found.done, found.failed))

    def forget_deleted_topics(self) -> list[CoordinatorRecord]:
        """Return the records by which groups forget topics that exist no longer."""
        records: list[CoordinatorRecord] = []
        for group in self:
            gone = {each for each in group.topics.topic_ids if self.topics.name(each) is None}
            records += _changed(group, group.topics.without(gone)).records  # type: ignore[arg-type]
        return records


def _changed(group: ShareGroup, topics: StateTopics) -> Decision:
    if topics == group.topics:
        return NOTHING
    return Decision((state_topics_record(group.group_id, topics),))
