"""The groups of one type among the groups of a shard: find and replay them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Generic, Protocol, Self, TypeVar

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.image import GROUP_RESOURCE, MetadataImage
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError

from .consumer.consumer_group import ConsumerGroup
from .consumer.topics import Topics
from .groups import Group, existing_group
from .share.share_group import ShareGroup
from .streams.streams_group import StreamsGroup


class ConfigOfType(Protocol):
    """What the groups of a type obey."""

    def of_group(self, own: Mapping[str, str]) -> Self:
        """Return the configuration of a group with values of its own."""
        ...


G = TypeVar("G", bound=ConsumerGroup | ShareGroup | StreamsGroup)
C = TypeVar("C", bound=ConfigOfType)


class GroupsOfType(Generic[G, C]):
    """Knows which groups are of its type; shares its table with the other types."""

    type_name: str
    group_class: type[G]
    record_keys: Collection[type]
    metadata_key: type
    """The key of the record without which there is no group."""

    def __init__(
        self, groups: dict[str, Group], config: Callable[[], C], image: MetadataImage
    ) -> None:
        self._groups = groups
        self._config = config
        self._image = image
        self.topics = Topics(image)

    def config_of(self, group_id: str) -> C:
        """Return what a group obeys: what is set for itself, otherwise what the broker has."""
        return self._config().of_group(self._image.config(GROUP_RESOURCE, group_id))

    def existing(self, group_id: str) -> G:
        """Return a group; raise :class:`ApiError` if there is none, or one of another type."""
        group = existing_group(self._groups, group_id)
        if not isinstance(group, self.group_class):
            raise ApiError(
                ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a {self.type_name} group."
            )
        return group

    def joined(self, group_id: str) -> G:
        """Return the group of a member; raise :class:`ApiError` if there is none."""
        if group_id not in self._groups:
            raise ApiError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"{self.type_name.capitalize()} group {group_id} not found.",
            )
        return self.existing(group_id)

    def __iter__(self) -> Iterator[G]:
        return (group for group in self._groups.values() if isinstance(group, self.group_class))

    def replay(self, record: CoordinatorRecord) -> bool:
        """Apply one record about a group, the first makes it; return whether it is of this type.

        What the first one replaces is at most a group that offsets without members have made.
        """
        key: Any = record.key
        if type(key) not in self.record_keys:
            return False
        group = self._groups.get(key.group_id)
        if not isinstance(group, self.group_class):
            if record.value is None:
                return True
            group = self._groups[key.group_id] = self.group_class(group_id=key.group_id)
        if isinstance(key, self.metadata_key) and record.value is None:
            del self._groups[group.group_id]
        else:
            group.replay(record)
        return True
