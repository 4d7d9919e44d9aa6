"""Let a handler ask about the call that it is in. Pure."""

from __future__ import annotations

from contextvars import ContextVar

from pyk.clients.errors import StateError
from pyk.clients.processing.jobs import Job


class Attempt:
    """One call of a handler. Any thread may ask it."""

    __slots__ = ("_is_overdue", "_job")

    def __init__(self, job: Job) -> None:
        self._job = job
        self._is_overdue = job.is_overdue

    @property
    def number(self) -> int:
        """How often the handler was called since the record was read, this time included."""
        return self._job.attempts

    @property
    def is_cancelled(self) -> bool:
        """Whether the handler should return, because its result will not count.

        That is so once the deadline is over or the group has taken the partition away, and while
        the consumer ends.
        """
        if self._is_overdue is not None and self._is_overdue():
            return True
        partition = self._job.partition
        return partition.is_cancelled or partition.assignment.is_lost


# The job, not its attempt: few handlers ask, and this is set for each record.
RUNNING: ContextVar[Job] = ContextVar("the job whose handler runs here")


def current_attempt() -> Attempt:
    """Return the call of a handler of ``process()`` that this thread or task is in.

    Raises :class:`StateError` anywhere else.
    """
    job = RUNNING.get(None)
    if job is None:
        raise StateError("current_attempt() is for handlers of process(): nothing is handled here")
    return Attempt(job)
