"""Describe calls of handlers that failed. Pure."""

from __future__ import annotations

from pyk.clients.errors import KafkaTimeoutError
from pyk.clients.processing.jobs import Job


def overdue(seconds: float) -> KafkaTimeoutError:
    """Return the error for a handler that took longer than it may."""
    return KafkaTimeoutError(f"the handler took longer than its deadline of {seconds:g} s")


def note_origin(error: BaseException, job: Job) -> None:
    """Note in the error of a handler which record it was about."""
    offsets = f"at offset {job.offset}"
    if job.mates:
        offsets = f"from offset {job.offset} to {job.mates[-1].offset}"
    error.add_note(
        f"while handling the record{'s' if job.mates else ''} of {job.partition.topic_partition} "
        f"{offsets}, attempt {job.attempts}"
    )
