"""When calls of handlers are overdue, and how those that failed are described. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pyk.clients.errors import KafkaTimeoutError, StateError
from pyk.clients.processing.jobs import Job


def overdue(seconds: float) -> KafkaTimeoutError:
    """Return the error for a handler that took longer than it may."""
    return KafkaTimeoutError(f"the handler took longer than its deadline of {seconds:g} s")


def overdue_after(seconds: float | None, now: Callable[[], float]) -> Callable[[], bool] | None:
    """Return what tells whether a call that begins now is overdue, None if it has no deadline."""
    if seconds is None:
        return None
    deadline = now() + seconds
    return lambda: now() > deadline


def check_deadline(job: Job, seconds: float | None) -> None:
    """Raise if a handler has returned because it was told that its deadline is over."""
    is_overdue = job.was_told_to_stop and job.is_overdue is not None and job.is_overdue()
    if seconds is not None and is_overdue:
        raise overdue(seconds)


def is_of_no_account(error: BaseException, job: Job) -> bool:
    """Return whether a handler has failed for a record that is not its consumer's any more."""
    return isinstance(error, Exception) and job.partition.is_cancelled


def cancelled_elsewhere() -> StateError:
    """Return the error for a handler that was cancelled, though ``process()`` did not do that.

    A :class:`CancelledError` would only end the worker, and nobody would hear of the record.
    """
    return StateError(
        "the handler was cancelled, but not by process(): it cancelled its own task, or awaited "
        "something that was cancelled elsewhere"
    )


def note_origin(error: BaseException, job: Job) -> None:
    """Note in the error of a handler which record it was about."""
    error.add_note(f"while handling {described(job)}")


def described(job: Job) -> str:
    """Name the record of a job, or those of its batch."""
    offsets = f"at offset {job.offset}"
    if job.mates:
        offsets = f"from offset {job.offset} to {job.mates[-1].offset}"
    return (
        f"the record{'s' if job.mates else ''} of {job.partition.topic_partition} {offsets}, "
        f"attempt {job.attempts}"
    )
