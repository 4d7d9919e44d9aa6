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
            if partition.is_paused:
                partition.is_paused_by_application |= assigned.buffer.is_paused
                self._core.position_calls.set_paused(partition.topic_partition, True)
            else:
                self._resume(partition)

    def end(self, partition: PartitionJobs) -> None:
        """Leave a partition as the application wants it."""
        if partition.is_paused:
            self._resume(partition)

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

    def _resume(self, partition: PartitionJobs) -> None:
        if not partition.is_paused_by_application:
            self._core.position_calls.set_paused(partition.topic_partition, False)
        partition.is_paused_by_application = False  # until the jobs pause it again

    def application_pauses(self, name: TopicPartition, is_paused: bool) -> bool:
        """Take note of a call of ``pause`` or ``resume``; return whether it waits for the jobs."""
        with self._lock:
            for partition in self._jobs:
                if partition.topic_partition == name and partition.is_paused:
                    partition.is_paused_by_application = is_paused
                    return True
        return False
