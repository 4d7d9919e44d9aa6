"""Pause and resume partitions for their handlers, without undoing what the application wants."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.jobs import Jobs, PartitionJobs
from pyk.clients.topic_partition import TopicPartition


class Pauses:
    """The pauses of one ``process()``, on the consumer's event loop. ``lock`` guards ``jobs``."""

    def __init__(
        self, core: ConsumerCore, jobs: Jobs, lock: AbstractContextManager[object]
    ) -> None:
        self._core = core
        self._jobs = jobs
        self._lock = lock
        self._paused: set[PartitionJobs] = set()
        """What is paused here. Jobs in threads may want something else before that is followed."""

    def assigned(self, assignment: Assignment) -> AssignedPartition | None:
        """Return a partition if it is still assigned, without interruption."""
        if self._core.is_closed:
            return None
        partitions, name = self._core.partitions, assignment.topic_partition
        assigned = partitions[name] if name in partitions else None  # noqa: SIM401 (not a dict)
        return assigned if assigned and assigned.buffer.assignment is assignment else None

    def follow(self, partitions: Iterable[PartitionJobs]) -> None:
        """Pause and resume partitions as their jobs want it now."""
        for partition in partitions:
            assigned = self.assigned(partition.assignment)
            if assigned is None:
                continue
            if not partition.is_paused:
                self.end(partition)
            elif partition not in self._paused:
                self._paused.add(partition)
                partition.is_paused_by_application = assigned.buffer.is_paused
                self._core.position_calls.set_paused(partition.topic_partition, True)

    def end(self, partition: PartitionJobs) -> None:
        """Leave a partition as the application wants it."""
        if partition not in self._paused:
            return
        self._paused.discard(partition)
        if not partition.is_paused_by_application:
            self._core.position_calls.set_paused(partition.topic_partition, False)

    def forget_former(self) -> None:
        """End the pauses of jobs whose topic was created again: its new records are for others."""
        for partition in self._jobs:
            assignment, name = partition.assignment, partition.topic_partition
            if assignment.is_lost or name not in self._core.partitions:
                continue
            if self.assigned(assignment) is None:
                self.end(partition)
                with self._lock:
                    self._jobs.forget([partition])
        self._paused = {one for one in self._paused if self._jobs.of(one.assignment) is one}

    def application_pauses(self, name: TopicPartition, is_paused: bool) -> bool:
        """Take note of a call of ``pause`` or ``resume``; return whether it waits for the jobs."""
        for partition in self._paused:
            if partition.topic_partition == name and self.assigned(partition.assignment):
                partition.is_paused_by_application = is_paused
                return True
        return False
