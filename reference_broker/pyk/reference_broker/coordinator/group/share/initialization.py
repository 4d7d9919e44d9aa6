"""The partitions whose state a share group needs initialized, and the request for that. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment
from pyk.reference_broker.coordinator.group.consumer.topics import Topics
from pyk.runtime import slotted

from .share_group import ShareGroup
from .state_topics import NamedPartitions, Partitions

BY_CONFIGURATION = -1
"""The start offset that the group's ``share.auto.offset.reset`` decides on."""


@slotted.frozen
class InitializeStates:
    """Partitions whose state is to be initialized, each with its start offset."""

    group_id: str
    state_epoch: int
    start_offsets: Mapping[UUID, Mapping[int, int]]


@slotted.frozen(kw_only=True)
class InitializedStates:
    """The partitions of which that is done, and those of which it has failed."""

    done: Assignment
    failed: Assignment


def lacking(group: ShareGroup, topics: Topics, *, is_late: bool) -> Partitions:
    """Return the partitions of subscribed topics that are not initialized.

    Those that are being initialized are among them only if that takes too long.
    """
    found: dict[UUID, NamedPartitions] = {}
    for name in sorted(group.topic_names):
        for topic_id in topics.ids([name]):
            known = _known(group, topic_id, is_late=is_late)
            partitions = frozenset(range(topics.partition_count(topic_id))) - known
            if partitions:
                found[topic_id] = NamedPartitions(name, partitions)
    return found


def _known(group: ShareGroup, topic_id: UUID, *, is_late: bool) -> frozenset[int]:
    nothing = NamedPartitions("", frozenset())
    known = group.topics.initialized.get(topic_id, nothing).partitions
    if is_late:
        return known
    return known | group.topics.initializing.get(topic_id, nothing).partitions


def request_for(group: ShareGroup, partitions: Partitions) -> InitializeStates:
    """Return the request that leaves the start to the configuration of the group."""
    return InitializeStates(
        group.group_id,
        group.epoch,
        {
            topic_id: dict.fromkeys(sorted(each.partitions), BY_CONFIGURATION)
            for topic_id, each in partitions.items()
        },
    )


def is_assignment_due(group: ShareGroup) -> bool:
    """Return whether partitions have become assignable, or are so no longer, since the last one."""
    assigned: dict[UUID, set[int]] = {}
    for target in group.targets.values():
        for topic_id, numbers in target.items():
            assigned.setdefault(topic_id, set()).update(numbers)
    names = group.topic_names
    return any(
        each.name in names and assigned.get(topic_id, set()) != each.partitions
        for topic_id, each in group.topics.initialized.items()
    )
