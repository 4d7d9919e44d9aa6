"""Requests about the offsets of share groups, and their deletion: what a group allows. Pure.

The offsets themselves are kept by share coordinators. So each request has two decisions: before
they are asked the group notes what is about to happen, and afterwards that it has happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment
from pyk.reference_broker.coordinator.group.share_groups import ShareGroups
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .initialization import InitializeStates
from .records import share_group_tombstones, state_topics_record
from .share_group import ShareGroup
from .state_topics import NamedPartitions, StateTopics

NO_OFFSETS = "There is no offset information to delete."


@slotted.frozen(kw_only=True)
class TopicsToDelete:
    """The partitions whose state is to be deleted, and why other topics are refused."""

    partitions: Assignment
    refused: Mapping[str, ApiError]


class ShareOffsets:
    """Alters and deletes offsets of the share groups of one shard."""

    def __init__(self, groups: ShareGroups) -> None:
        self._groups = groups
        self._topics = groups.topics

    def alter(
        self, group_id: str, offsets: Mapping[str, Mapping[int, int]], moment: Moment
    ) -> tuple[InitializeStates, Decision]:
        """Begin to set start offsets, by topic and partition; raise :class:`ApiError`.

        Topics and partitions that do not exist are left out. An unknown group is made.
        """
        group = self._groups.joined(group_id, may_be_new=True)
        _check_empty(group)
        start_offsets: dict[UUID, dict[int, int]] = {}
        begun: dict[UUID, NamedPartitions] = {}
        for name, by_partition in offsets.items():
            for topic_id in self._topics.ids([name]):
                known = {n: at for n, at in by_partition.items() if n in self._all_of(topic_id)}
                start_offsets[topic_id] = known
                begun[topic_id] = NamedPartitions(name, frozenset(known))
        asked = InitializeStates(group_id, group.epoch, start_offsets)
        if not begun:
            return asked, NOTHING
        # A member that joins now would have the same partitions initialized without these offsets.
        self._groups.begin_initializing(group_id, moment)
        return asked, _decision(group, group.topics.initialize(begun))

    def begin_deleting(
        self, group_id: str, names: Iterable[str]
    ) -> tuple[TopicsToDelete, Decision]:
        """Begin to delete the offsets of some topics; raise :class:`ApiError`."""
        group = self._groups.existing(group_id)
        _check_empty(group)
        partitions: dict[UUID, frozenset[int]] = {}
        deleting: dict[UUID, str] = {}
        refused: dict[str, ApiError] = {}
        for name in names:
            topic_id = next(iter(self._topics.ids([name])), None)
            if topic_id is None:
                refused[name] = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif topic_id in group.topics.initialized:
                partitions[topic_id] = group.topics.initialized[topic_id].partitions
                deleting[topic_id] = name
            elif topic_id in group.topics.deleting:  # a deletion that was not completed
                partitions[topic_id] = self._all_of(topic_id)
            else:
                refused[name] = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_OFFSETS)
        found = TopicsToDelete(partitions=partitions, refused=refused)
        if not deleting:
            return found, NOTHING
        return found, _decision(group, group.topics.begin_deleting(deleting))

    def deleted(self, group_id: str, topic_ids: Iterable[UUID]) -> tuple[None, Decision]:
        """Note that share coordinators have deleted all state in some topics."""
        group = self._groups.existing(group_id)
        deleting = {
            topic_id: name
            for topic_id, name in group.topics.deleting.items()
            if topic_id not in set(topic_ids)
        }
        return None, _decision(group, slotted.evolve(group.topics, deleting=deleting))

    def begin_deleting_group(self, group_id: str) -> tuple[Assignment, Decision]:
        """Begin to delete a group; return the partitions whose state goes first."""
        group = self._groups.existing(group_id)
        _check_empty(group)
        known = group.topics.known
        partitions: dict[UUID, frozenset[int]] = {
            topic_id: each.partitions for topic_id, each in known.items()
        }
        deleting = {topic_id: each.name for topic_id, each in known.items()}
        for topic_id, name in group.topics.deleting.items():
            if self._topics.name(topic_id) is not None:  # a deletion that was not completed
                partitions[topic_id] = self._all_of(topic_id)
                deleting[topic_id] = name
        if not partitions:
            return {}, NOTHING
        return partitions, _decision(group, StateTopics(deleting=deleting))

    def delete_group(self, group_id: str) -> tuple[ErrorCode, Decision]:
        """Delete a group whose state is gone; raise :class:`ApiError` if somebody has joined."""
        group = self._groups.existing(group_id)
        _check_empty(group)
        return ErrorCode.NONE, Decision(tuple(share_group_tombstones(group_id)))

    def _all_of(self, topic_id: UUID) -> frozenset[int]:
        return frozenset(range(self._topics.partition_count(topic_id)))


def _check_empty(group: ShareGroup) -> None:
    if not group.is_empty:
        raise ApiError(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")


def _decision(group: ShareGroup, topics: StateTopics) -> Decision:
    record: CoordinatorRecord = state_topics_record(group.group_id, topics)
    return Decision((record,))
