"""The assignor of streams groups: members keep their tasks, and have equally many. Pure.

1. An active task stays with the member that has it, while that is not beyond its share.
2. Otherwise a member with a standby of it takes over.
3. Otherwise it goes to the process with the least load, there to the member with the fewest tasks.

Standby tasks follow in the same way: to the member that was active, to those that had the standby,
to the process with the least load; never to a process that has the task. What finds no process is
left out. As in Kafka 4.3, there are no warmup tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush

from pyk.runtime import slotted

from .configured_topology import ConfiguredTopology
from .tasks import TaskId, Tasks

Rank = tuple[float, int, int]


@slotted.frozen(kw_only=True)
class TaskMember:
    """A member as the assignor sees it."""

    process_id: str
    current: Tasks = slotted.field(factory=Tasks)
    """Its last target."""


def assign_sticky(
    members: Mapping[str, TaskMember], topology: ConfiguredTopology, standby_replicas: int
) -> dict[str, Tasks]:
    """Return the tasks of each member."""
    assignment = _Assignment(members)
    active = topology.tasks()
    stateful = topology.tasks(only_stateful=True)
    assignment.active_share = _Share(len(active), len(members))
    assignment.total_share = _Share(len(active) + len(stateful) * standby_replicas, len(members))
    assignment.assign_active(active)
    if standby_replicas:
        assignment.assign_standby(stateful, standby_replicas)
    return assignment.result()


class _Share:
    """How many tasks each member has at most, while some have not reached that yet."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.size = self._rounded_up()

    def grown_to(self, count: int) -> None:
        """Note that a member has as many tasks by now; a full one leaves the rest to others."""
        if count == self.size:
            self._members -= 1
            self._tasks -= count
            self.size = self._rounded_up()

    def _rounded_up(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0


class _Process:
    """The members of one process, and what they are assigned."""

    def __init__(self, position: int) -> None:
        self._position = position
        self.counts: dict[str, int] = {}
        """How many tasks each member has."""
        self.tasks: set[TaskId] = set()

    @property
    def load(self) -> float:
        return sum(self.counts.values()) / len(self.counts)

    @property
    def rank(self) -> Rank:
        """The order in which processes are given tasks; among equals, where it adds least load."""
        return self.load, -len(self.counts), self._position

    def least_loaded_member(self) -> str:
        return min(self.counts, key=lambda member_id: self.counts[member_id])


class _Assignment:
    """The assignment while it is being made."""

    active_share: _Share
    total_share: _Share

    def __init__(self, members: Mapping[str, TaskMember]) -> None:
        self._processes: dict[str, _Process] = {}
        self._process_of: dict[str, _Process] = {}
        self._was_active: dict[TaskId, str] = {}
        self._were_standby: dict[TaskId, list[str]] = {}
        self._active: dict[str, set[TaskId]] = {}
        self._standby: dict[str, set[TaskId]] = {}
        for member_id, member in sorted(members.items()):
            self._add_member(member_id, member)

    def _add_member(self, member_id: str, member: TaskMember) -> None:
        process = self._processes.setdefault(member.process_id, _Process(len(self._processes)))
        process.counts[member_id] = 0
        self._process_of[member_id] = process
        self._active[member_id], self._standby[member_id] = set(), set()
        for task in member.current.active:
            self._was_active[task] = member_id
        for task in member.current.standby:
            self._were_standby.setdefault(task, []).append(member_id)

    def result(self) -> dict[str, Tasks]:
        return {
            member_id: Tasks(active=frozenset(active), standby=frozenset(self._standby[member_id]))
            for member_id, active in self._active.items()
        }

    # -- active tasks ----------------------------------------------------------------------------

    def assign_active(self, tasks: Iterable[TaskId]) -> None:
        # The first partitions of all subtopologies come first, for tasks of the same partition are
        # kept together; what is new is handed out by subtopology.
        left = sorted(tasks, key=lambda task: (task.partition, task.subtopology_id))
        left = self._keep_active(left, self._was_active.get)
        left = self._keep_active(
            left, lambda task: self._least_loaded(self._were_standby.get(task, []))
        )
        queue = self._by_load()
        for task in sorted(left):
            process = heappop(queue)[-1]
            self._give_active(process.least_loaded_member(), task)
            heappush(queue, (process.rank, process))

    def _keep_active(
        self, tasks: Iterable[TaskId], candidate: Callable[[TaskId], str | None]
    ) -> list[TaskId]:
        """Give tasks to members that know them; return those that are left."""
        left = []
        for task in tasks:
            member_id = candidate(task)
            if member_id is not None and self._count(member_id) < self.active_share.size:
                self._give_active(member_id, task)
            else:
                left.append(task)
        return left

    def _give_active(self, member_id: str, task: TaskId) -> None:
        self._active[member_id].add(task)
        self.active_share.grown_to(self._note(member_id, task))

    # -- standby tasks ---------------------------------------------------------------------------

    def assign_standby(self, tasks: Iterable[TaskId], replicas: int) -> None:
        left: list[tuple[TaskId, int]] = []
        by_partition = sorted(tasks, key=lambda task: (task.partition, task.subtopology_id))
        for task in reversed(by_partition):
            missing = replicas
            while missing and (member_id := self._knows(task)) is not None:
                self._give_standby(member_id, task)
                missing -= 1
            if missing:
                left.append((task, missing))
        queue = self._by_load()
        for task, missing in sorted(left, reverse=True):
            for _ in range(missing):
                self._give_to_least_loaded(queue, task)

    def _knows(self, task: TaskId) -> str | None:
        """Return a member that has had the task and may have a standby of it."""
        was_active = self._was_active.get(task)
        for member_id in (was_active, self._least_loaded(self._were_standby.get(task, []), task)):
            if (
                member_id is not None
                and task not in self._process_of[member_id].tasks
                and self._count(member_id) < self.total_share.size
            ):
                return member_id
        return None

    def _give_to_least_loaded(self, queue: list[tuple[Rank, _Process]], task: TaskId) -> None:
        """Give a standby to the process with the least load, of those without the task."""
        passed = []
        while queue and task in queue[0][-1].tasks:
            passed.append(heappop(queue))
        if queue:
            process = heappop(queue)[-1]
            self._give_standby(process.least_loaded_member(), task)
            passed.append((process.rank, process))
        for each in passed:
            heappush(queue, each)

    def _give_standby(self, member_id: str, task: TaskId) -> None:
        self._standby[member_id].add(task)
        self._note(member_id, task)

    # -- both ------------------------------------------------------------------------------------

    def _note(self, member_id: str, task: TaskId) -> int:
        """Count a task of a member; return how many it has."""
        process = self._process_of[member_id]
        process.tasks.add(task)
        process.counts[member_id] += 1
        count = process.counts[member_id]
        self.total_share.grown_to(count)
        return count

    def _count(self, member_id: str) -> int:
        return self._process_of[member_id].counts[member_id]

    def _by_load(self) -> list[tuple[Rank, _Process]]:
        queue = [(process.rank, process) for process in self._processes.values()]
        heapify(queue)
        return queue

    def _least_loaded(self, member_ids: list[str], task: TaskId | None = None) -> str | None:
        """Return the member with the least load; another than the first must have less in all.

        If ``task`` is given, members whose process has it are left out; if that is the first, there
        is none, as in Kafka.
        """
        if not member_ids or task in self._process_of[member_ids[0]].tasks:
            return None
        best, *others = member_ids
        load = self._process_of[best].load
        for member_id in others:
            process = self._process_of[member_id]
            if (
                process.load < load
                and task not in process.tasks
                and self._count(member_id) < self._count(best)
            ):
                best, load = member_id, process.load
        return best
