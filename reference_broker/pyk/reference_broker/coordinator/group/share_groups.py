"""The share groups among the groups of one shard: find, make, describe and replay them."""

from __future__ import annotations

from collections.abc import Callable

from pyk.protocol.messages.share_group_describe import DescribedGroup
from pyk.protocol.messages.share_group_records import ShareGroupMetadataKey
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.runtime.timers import Moment

from .groups import Group
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

    def __init__(
        self,
        groups: dict[str, Group],
        config: Callable[[], ShareGroupConfig],
        image: MetadataImage,
    ) -> None:
        super().__init__(groups, config, image)
        self._initialize_again_ms: dict[str, int] = {}
        """When the partitions that a group has still being initialized are tried again."""

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

    def begin_initializing(self, group_id: str, moment: Moment) -> None:
        """Note that share coordinators are asked for states, which may take a while."""
        interval_ms = self.config_of(group_id).initialize_retry_interval_ms
        self._initialize_again_ms[group_id] = moment.time_ms + interval_ms

    def is_initializing_late(self, group_id: str, moment: Moment) -> bool:
        """Return whether partitions that are still being initialized are to be tried again."""
        return moment.time_ms >= self._initialize_again_ms.get(group_id, 0)

    def initialized(self, group_id: str, found: InitializedStates) -> Decision:
        """Decide what follows when share coordinators have answered."""
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return NOTHING  # it was deleted meanwhile
        topics = group.topics.end_initializing(found.done, found.failed)
        if not topics.initializing:
            self._initialize_again_ms.pop(group_id, None)
        return _changed(group, topics)

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
