"""The share groups among the groups of one shard: find, make, describe and replay them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_describe import DescribedGroup
from pyk.protocol.messages.share_group_records import ShareGroupMetadataKey
from pyk.reference_broker.controller.image import GROUP_RESOURCE, MetadataImage
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError

from .consumer.topics import Topics
from .groups import Group, share_group
from .share.description import describe_share_group
from .share.group_config import ShareGroupConfig
from .share.initialization import InitializedStates
from .share.records import state_topics_record
from .share.share_group import RECORD_KEYS, ShareGroup
from .share.state_topics import Partitions, StateTopics


class ShareGroups:
    """Knows which groups are share groups; shares its table with the others."""

    def __init__(
        self,
        groups: dict[str, Group],
        config: Callable[[], ShareGroupConfig],
        image: MetadataImage,
    ) -> None:
        self._groups = groups
        self._config = config
        self._image = image
        self.topics = Topics(image)

    def describe(self, group_id: str) -> DescribedGroup:
        """Describe a group; raise :class:`ApiError` if there is none."""
        return describe_share_group(self.existing(group_id), self.topics, self._config().assignor)

    def config_of(self, group_id: str) -> ShareGroupConfig:
        """Return what a group obeys: what is set for itself, otherwise what the broker has."""
        return self._config().of_group(self._image.config(GROUP_RESOURCE, group_id))

    def existing(self, group_id: str) -> ShareGroup:
        """Return a group; raise :class:`ApiError` if there is none."""
        return share_group(self._groups, group_id)

    def joined(self, group_id: str, *, may_be_new: bool = False) -> ShareGroup:
        """Return the group of a member, a new one if there may be; raise :class:`ApiError`."""
        if group_id in self._groups:
            return self.existing(group_id)
        if may_be_new:
            return ShareGroup(group_id=group_id)
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {group_id} not found.")

    def __iter__(self) -> Iterator[ShareGroup]:
        return (group for group in self._groups.values() if isinstance(group, ShareGroup))

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

    # -- replay ----------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord) -> bool:
        """Apply one record about a share group, the first makes it; return whether it is one."""
        key: Any = record.key
        if type(key) not in RECORD_KEYS:
            return False
        group = self._groups.get(key.group_id)
        if not isinstance(group, ShareGroup):
            if record.value is None:
                return True
            group = self._groups[key.group_id] = ShareGroup(group_id=key.group_id)
        if isinstance(key, ShareGroupMetadataKey) and record.value is None:
            del self._groups[group.group_id]
        else:
            group.replay(record)
        return True


def _changed(group: ShareGroup, topics: StateTopics) -> Decision:
    if topics == group.topics:
        return NOTHING
    return Decision((state_topics_record(group.group_id, topics),))
