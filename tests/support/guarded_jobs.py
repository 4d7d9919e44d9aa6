"""The jobs of ``process()``, which may be asked under their lock only."""

from __future__ import annotations

from collections.abc import Iterator

from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.jobs import Jobs, Ordering, PartitionJobs


class JobLock:
    """A lock that tells whether it is held."""

    is_held = False

    def __enter__(self) -> None:
        self.is_held = True

    def __exit__(self, *_: object) -> None:
        self.is_held = False


class GuardedJobs(Jobs):
    """Jobs without an order, for one thread; ``lock`` has to be held."""

    def __init__(self) -> None:
        super().__init__(Ordering.NONE, 16)
        self.lock = JobLock()

    def __iter__(self) -> Iterator[PartitionJobs]:
        assert self.lock.is_held
        return super().__iter__()

    def of(self, assignment: Assignment) -> PartitionJobs | None:
        assert self.lock.is_held
        return super().of(assignment)
