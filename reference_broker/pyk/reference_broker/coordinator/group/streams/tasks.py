"""Sets of tasks, by the role in which a member runs them. Pure.

A task is one partition of a subtopology: a part of the topology with all that it reads there. Its
active task processes records. Standby tasks keep copies of its stores up to date, to take over at
once; warmup tasks restore them, to become active.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple, Protocol

from pyk.runtime import slotted


class TaskId(NamedTuple):
    """The name of a task; tasks are ordered by it."""

    subtopology_id: str
    partition: int


TaskIds = frozenset[TaskId]
NO_TASKS: TaskIds = frozenset()


class PartitionsOfSubtopology(Protocol):
    """Tasks of one subtopology, as requests and records have them."""

    subtopology_id: str
    partitions: list[int]


def task_ids(listed: Iterable[PartitionsOfSubtopology]) -> TaskIds:
    """Return the tasks that a request or a record lists."""
    return frozenset(
        TaskId(each.subtopology_id, partition) for each in listed for partition in each.partitions
    )


def by_subtopology(tasks: Iterable[TaskId]) -> list[tuple[str, list[int]]]:
    """Return the partitions of each subtopology, all in order."""
    return [
        (subtopology_id, [task.partition for task in group])
        for subtopology_id, group in groupby(sorted(tasks), key=lambda task: task.subtopology_id)
    ]


@slotted.frozen(kw_only=True)
class Tasks:
    """Tasks in each role: what a member should have, or says that it has."""

    active: TaskIds = NO_TASKS
    standby: TaskIds = NO_TASKS
    warmup: TaskIds = NO_TASKS

    def has_any_of(self, held: HeldTasks) -> bool:
        """Return whether one of the held tasks is here, in the same role."""
        return not (
            self.active.isdisjoint(held.active)
            and self.standby.isdisjoint(held.standby)
            and self.warmup.isdisjoint(held.warmup)
        )

    def is_part_of(self, held: HeldTasks) -> bool:
        """Return whether all of these are held, in the same role."""
        return (
            self.active <= held.active.keys()
            and self.standby <= held.standby
            and self.warmup <= held.warmup
        )


@slotted.frozen(kw_only=True)
class HeldTasks:
    """The tasks that a member has been given, or has been told to give up."""

    active: Mapping[TaskId, int] = slotted.field(factory=dict)
    """With the member epoch at which each was given, which commits are checked against."""
    standby: TaskIds = NO_TASKS
    warmup: TaskIds = NO_TASKS

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)
