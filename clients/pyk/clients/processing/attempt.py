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

        That is so once the deadline is over, the group has taken the partition away, or the lock of
        a share group is over, and while the consumer ends.
        """
        partition = self._job.partition
        is_overdue = self._is_overdue is not None and self._is_overdue()
        if not (is_overdue or partition.is_cancelled or partition.assignment.is_lost):
            return False
        self._job.was_told_to_stop = True
        return True


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
