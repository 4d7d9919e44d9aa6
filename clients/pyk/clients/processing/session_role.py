"""What the drivers of ``process()`` need of a session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from pyk.clients.consumer.faces.face import HandlersOfProcess
from pyk.clients.processing.delays import Delays
from pyk.clients.processing.jobs import Job, PartitionJobs
from pyk.clients.processing.recovery import Recovery
from pyk.clients.processing.result_producer import ResultProducer
from pyk.protocol.records import RecordSpan

# Seconds that cancelled handlers have to end, and the last commit of a call that is cancelled.
LAST_SECONDS = 5.0
# Seconds that the last commit of any other call may take: enough for a coordinator that moves, and
# in an outage little enough for a process that has half a minute to end after SIGTERM.
LAST_COMMIT_SECONDS = 10.0


class Session(Protocol):
    """What ties jobs to a consumer, of a group or of a share group.

    Everything is called on the consumer's event loop, except :meth:`add`, and what says that the
    lock is held.
    """

    @property
    def results(self) -> ResultProducer | None:
        """What writes the results of handlers, None if they have none."""
        ...

    @property
    def recovery(self) -> Recovery: ...

    @property
    def releases(self) -> HandlersOfProcess | None:
        """What the consumer tells that partitions go, and its own end; None if it need not."""
        ...

    @property
    def delays(self) -> Delays: ...

    @property
    def last_patience(self) -> float:
        """Seconds that handlers may still take when the call ends."""
        ...

    async def begin(self) -> None:
        """Leave the records of the consumer to handlers from now on."""
        ...

    async def end(self, seconds: float) -> None:
        """Commit or acknowledge what is finished, within so many seconds; give the rest back."""
        ...

    def add(self, spans: Iterable[RecordSpan]) -> list[PartitionJobs]:
        """Add what a poll returned; return the partitions that have enough now."""
        ...

    def goes_on_after(self, error: BaseException) -> bool:
        """Return whether reading goes on after an error of a poll, and log it then."""
        ...

    def follow_pauses(self, partitions: Iterable[PartitionJobs]) -> None:
        """Pause and resume partitions as their jobs want it now."""
        ...

    def record_of(self, job: Job) -> Any:
        """Return what the handler gets for a job."""
        ...

    def next_job(self) -> Job | None:
        """Take what the handler is called with next, None if there is nothing; the lock is held."""
        ...

    def handler_done(self, job: Job) -> bool:
        """Record that the handler is done with a job; return whether its partition has to be
        resumed. The lock is held."""
        ...

    def job_stopped(self) -> None:
        """Note that a job of a partition that closes does not run any more."""
        ...
