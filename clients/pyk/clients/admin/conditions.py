"""What the admin client can wait for. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from pyk.clients.admin.arguments import checked_name, checked_number
from pyk.clients.admin.groups import ConsumerGroupDescription, PartitionLag
from pyk.clients.admin.topic_descriptions import TopicDescription
from pyk.clients.topic_partition import TopicPartition, checked_partition
from pyk.clients.wording import counted
from pyk.runtime import slotted

Seen = TypeVar("Seen")


class Subject(enum.Enum):
    """What a condition looks at."""

    TOPIC = "topic"
    GROUP = "group"
    LOG_END = "log end"
    LAG = "lag"


@slotted.frozen
class Condition(Generic[Seen]):
    """Something that comes true, and how to see whether it has; made by :class:`Until`."""

    text: str
    """The condition as errors name it."""
    subject: Subject
    key: Any
    """The topic, the group id or the partition to look at."""
    holds: Callable[[Any], bool] = slotted.field(repr=False)
    """Return whether it is true, of what was seen; None stands for what does not exist."""

    def __str__(self) -> str:
        return self.text


class Until:
    """The conditions that ``wait_until`` waits for."""

    @staticmethod
    def topic_exists(name: str) -> Condition[TopicDescription]:
        """Return the condition that a topic exists."""
        name = checked_name(name, "a topic")
        return Condition(f"topic {name!r} exists", Subject.TOPIC, name, _exists)

    @staticmethod
    def topic_is_deleted(name: str) -> Condition[None]:
        """Return the condition that a topic does not exist."""
        name = checked_name(name, "a topic")
        return Condition(f"topic {name!r} is deleted", Subject.TOPIC, name, _is_missing)

    @staticmethod
    def topic_has_leaders(name: str, partitions: int = 1) -> Condition[TopicDescription]:
        """Return the condition that a topic has at least so many partitions, all with leaders."""
        name, count = checked_name(name, "a topic"), checked_number(partitions, "partitions")
        text = f"topic {name!r} has leaders of {counted(count, 'partition')} or more"
        return Condition(
            text,
            Subject.TOPIC,
            name,
            lambda seen: (
                seen is not None
                and len(seen.partitions) >= count
                and all(one.leader_id is not None for one in seen.partitions)
            ),
        )

    @staticmethod
    def group_is_empty(group_id: str) -> Condition[ConsumerGroupDescription | None]:
        """Return the condition that a group has no members, or does not exist."""
        group_id = checked_name(group_id, "a group id")
        text = f"group {group_id!r} is empty"
        return Condition(text, Subject.GROUP, group_id, lambda seen: not seen or not seen.members)

    @staticmethod
    def group_is_stable(group_id: str, members: int = 1) -> Condition[ConsumerGroupDescription]:
        """Return the condition that a group has at least so many members and does not rebalance."""
        group_id = checked_name(group_id, "a group id")
        count = checked_number(members, "members")
        text = f"group {group_id!r} is stable with {counted(count, 'member')} or more"
        return Condition(
            text,
            Subject.GROUP,
            group_id,
            lambda seen: seen is not None and seen.state == "Stable" and len(seen.members) >= count,
        )

    @staticmethod
    def offset_is_reached(partition: TopicPartition, offset: int) -> Condition[int]:
        """Return the condition that the log end of a partition is this offset or a higher one."""
        partition, wanted = checked_partition(partition), checked_number(offset, "an offset")
        text = f"the log end of {partition} is {wanted} or more"
        return Condition(
            text, Subject.LOG_END, partition, lambda seen: seen is not None and seen >= wanted
        )

    @staticmethod
    def lag_is(group_id: str, at_most: int = 0) -> Condition[Mapping[TopicPartition, PartitionLag]]:
        """Return the condition that a group has committed offsets and its lag is not higher."""
        group_id = checked_name(group_id, "a group id")
        limit = checked_number(at_most, "at_most")
        text = f"the lag of group {group_id!r} is {limit} or less"
        return Condition(
            text,
            Subject.LAG,
            group_id,
            lambda seen: bool(seen) and sum(one.lag or 0 for one in seen.values()) <= limit,
        )


def _exists(seen: object) -> bool:
    return seen is not None


def _is_missing(seen: object) -> bool:
    return seen is None


def checked_condition(given: Any) -> Condition[Any]:
    """Return a condition."""
    if isinstance(given, Condition):
        return given
    raise TypeError(
        f"a condition must be made by Until, as Until.topic_exists(name), not {given!r}"
    )


def last_seen(subject: Subject, seen: Any) -> str:
    """Return what was seen of the subject of a condition, as errors tell it."""
    if seen is None:
        return "it does not exist"
    if subject is Subject.TOPIC:
        without = [one.partition for one in seen.partitions if one.leader_id is None]
        lacking = f", of which {without} have no leader" if without else ""
        return f"{counted(len(seen.partitions), 'partition')}{lacking}"
    if subject is Subject.GROUP:
        return f"state {seen.state} with {counted(len(seen.members), 'member')}"
    if subject is Subject.LAG:
        if not seen:
            return "it has committed nothing"
        return f"a lag of {sum(one.lag or 0 for one in seen.values())}"
    return f"{seen}"
