"""Which processes have which tasks. Pure.

A process is an instance of the application; its members are the threads. An active task has one
process. A process has a task in one role only, for its stores are on the disk of the process.
"""

from __future__ import annotations

from pyk.runtime import slotted

from .tasks import HeldTasks, TaskId, TaskIds

_Processes = dict[TaskId, frozenset[str]]
_NOBODY: frozenset[str] = frozenset()


@slotted.define(kw_only=True, eq=False)
class TaskOwners:
    """The processes of tasks that members have, or have not yet given up."""

    active: dict[TaskId, str] = slotted.field(factory=dict)
    standby: _Processes = slotted.field(factory=dict)
    warmup: _Processes = slotted.field(factory=dict)

    def copy(self) -> TaskOwners:
        """Return owners that change independently."""
        return TaskOwners(
            active=dict(self.active), standby=dict(self.standby), warmup=dict(self.warmup)
        )

    def can_be_active(self, task: TaskId, process_id: str) -> bool:
        """Return whether nobody has the task active, and the process has it in no other role."""
        return task not in self.active and not self._has_replica(task, process_id)

    def can_be_replica(self, task: TaskId, process_id: str) -> bool:
        """Return whether the process does not have the task in any role."""
        return self.active.get(task) != process_id and not self._has_replica(task, process_id)

    def _has_replica(self, task: TaskId, process_id: str) -> bool:
        return process_id in self.standby.get(task, _NOBODY) or process_id in self.warmup.get(
            task, _NOBODY
        )

    def add(self, tasks: HeldTasks, process_id: str) -> None:
        """Note that a process has these tasks."""
        self.active.update(dict.fromkeys(tasks.active, process_id))
        _add(self.standby, tasks.standby, process_id)
        _add(self.warmup, tasks.warmup, process_id)

    def remove(self, tasks: HeldTasks, process_id: str) -> None:
        """Note that a process no longer has these tasks."""
        for task in tasks.active:
            if self.active.get(task) == process_id:
                del self.active[task]
        _remove(self.standby, tasks.standby, process_id)
        _remove(self.warmup, tasks.warmup, process_id)


def _add(processes: _Processes, tasks: TaskIds, process_id: str) -> None:
    for task in tasks:
        processes[task] = processes.get(task, _NOBODY) | {process_id}


def _remove(processes: _Processes, tasks: TaskIds, process_id: str) -> None:
    for task in tasks:
        left = processes.pop(task, _NOBODY) - {process_id}
        if left:
            processes[task] = left
