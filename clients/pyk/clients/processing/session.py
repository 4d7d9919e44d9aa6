"""Tie handlers to a consumer: what they get, what is paused, committed, and given back.

Everything here is called on the consumer's event loop, except :meth:`HandlerSession.add`, which the
thread or task that polls calls. What both touch is guarded by the lock of the driver.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from pyk.clients.consumer.commits.commits import OTHER_GENERATION
from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.group.actions import ApplicationEvent, Assign, Lose
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.errors import KafkaError
from pyk.clients.processing.batches import records_of
from pyk.clients.processing.calls import note_origin
from pyk.clients.processing.deserializing import deserialized
from pyk.clients.processing.gaps import NoteLimit, decode_finished, encode_finished
from pyk.clients.processing.jobs import Job, Jobs, PartitionJobs
from pyk.clients.processing.options import HandlerOptions
from pyk.clients.processing.pauses import Pauses
from pyk.clients.processing.recovery import Recovery
from pyk.clients.processing.transactions import ResultTransactions, Seams
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.records import RecordIterator, RecordSpan

log = logging.getLogger(__name__)

# The part of its time in a rebalance that a member gives handlers of revoked partitions to finish.
# The group waits for it for max_poll_interval_ms, of which a heartbeat interval may have passed
# before it knows. After that the group goes on without it, and nothing can be committed.
PATIENCE = 0.8
# Seconds between two looks whether a partition that is waited for was lost.
LOOK_INTERVAL = 0.1
# Seconds that cancelled handlers have to end, and the last commit of a call that is cancelled.
LAST_SECONDS = 5.0


class Runner(Protocol):
    """The driver that runs jobs, in tasks or in threads."""

    def wake(self) -> None:
        """Run what is ready now; called on the consumer's event loop."""
        ...

    def cancel(self, jobs: Collection[Job]) -> None:
        """Make jobs stop as soon as possible; they are not finished."""
        ...

    def fail(self, error: BaseException) -> None:
        """End the call with an error."""
        ...


class HandlerSession:
    """The jobs of one ``process()``, from the records of a consumer to its commits.

    ``lock`` guards ``jobs``.
    """

    def __init__(
        self,
        core: ConsumerCore,
        jobs: Jobs,
        runner: Runner,
        lock: AbstractContextManager[object],
        options: HandlerOptions,
    ) -> None:
        self._core = core
        self._jobs = jobs
        self._runner = runner
        self._lock = lock
        self._stopped = asyncio.Event()
        self._batch_size = options.batch_size
        self._notes = NoteLimit()
        self.pauses = Pauses(core, jobs, lock)
        self.results = options.producer
        """What writes the results of handlers, None if they have none."""
        self.transactions = self._make_transactions()
        writes_later = self.transactions is not None
        self.recovery = Recovery(
            core, options.retry, options.dead_letter, writes_later=writes_later
        )
        config = core.config
        self._deserializers = Deserializers(config.key_deserializer, config.value_deserializer)
        longest_ms = config.max_poll_interval_ms - config.heartbeat_interval_ms
        self.patience = PATIENCE * max(longest_ms, 0) / 1000

    def _make_transactions(self) -> ResultTransactions | None:
        if self.results is None or not self.results.is_transactional:
            return None
        seams = Seams(self.pauses, self._notes, self._put_aside, self._runner.fail)
        return ResultTransactions(self._core, self._jobs, self._lock, self.results, seams)

    async def _put_aside(self, job: Job, error: Exception) -> None:
        try:
            await self.recovery.put_aside(job, error)
        except Exception as failure:
            note_origin(failure, job)
            raise

    # -- records -----------------------------------------------------------------------------------

    def add(self, spans: Iterable[RecordSpan]) -> list[PartitionJobs]:
        """Add what a poll returned; return the partitions that have enough now."""
        full = []
        with self._lock:
            for span in spans:
                partition = self._partition_of(span)
                self._jobs.add(partition, RecordIterator((span,)), span)
                if not partition.is_paused and partition.update_pause():
                    full.append(partition)
        return full

    def goes_on_after(self, error: BaseException) -> bool:
        """Return whether reading goes on after an error of a poll, and log it then.

        That is so where it keeps the whole member from reading, for now: polls tell so only from
        time to time. An error of a partition or topic would be raised by each poll.
        """
        if not isinstance(error, KafkaError) or error.topic is not None:
            return False
        if not error.retriable and not isinstance(error, OTHER_GENERATION):
            return False
        log.warning("No records to handle for now, will go on trying: %s", error)
        return True

    def _partition_of(self, span: RecordSpan) -> PartitionJobs:
        assignment = span.origin.owner
        assert isinstance(assignment, Assignment)
        known = self._jobs.of(assignment)
        if known is not None and known.follows(span.first_offset):
            return known
        return self._jobs.begin(assignment, self._done_before(assignment))

    def _done_before(self, assignment: Assignment) -> frozenset[int]:
        """Return what the owner before has finished, as its last commit tells."""
        assigned, group = self.pauses.assigned(assignment), self._core.group
        if assigned is None or group is None:
            return frozenset()
        committed = group.progress.begun_with(assigned)
        if committed is None:
            return frozenset()
        return decode_finished(committed.offset, committed.metadata)

    def follow_pauses(self, partitions: Iterable[PartitionJobs]) -> None:
        """Pause and resume partitions as their jobs want it now."""
        self.pauses.follow(partitions)

    def record_of(self, job: Job) -> Any:
        """Return the record of a job for its handler, or those of its batch, deserialized."""
        if self._batch_size is not None:
            return records_of(job.members, self._deserializers)
        if not self._deserializers:
            return job.record
        return deserialized(job.record, self._deserializers)

    # -- commits -----------------------------------------------------------------------------------

    def restart_at(self, assignment: Assignment) -> OffsetAndMetadata | None:
        """Return the first unfinished offset of a partition, and a note of what is finished
        after it; None if all is finished."""
        with self._lock:
            partition = self._jobs.of(assignment)
            offset, finished = (None, []) if partition is None else partition.restart()
        if offset is None:
            return None
        return OffsetAndMetadata(offset, encode_finished(offset, finished, self._notes.max_bytes))

    def shorten_notes(self) -> bool:
        """Write shorter notes, as a broker has refused one; return False if there are none left."""
        return self._notes.shorten()

    # -- rebalances --------------------------------------------------------------------------------

    async def release(self, event: ApplicationEvent) -> None:
        """Stop the handlers of partitions that go.

        Those of revoked partitions may finish, as long as the group waits for this member; what
        they finish is committed. Those of lost partitions are cancelled.
        """
        if isinstance(event, Assign):
            return
        with self._lock:
            closing = self._jobs.close(event.partitions)
        if not isinstance(event, Lose):
            deadline = self._core.client.clock.now() + self.patience
            await self._finish(closing, event.partitions, deadline)
        self._cancel(closing)

    async def _finish(
        self, closing: list[PartitionJobs], partitions: Collection[TopicPartition], deadline: float
    ) -> None:
        """Wait for the handlers of partitions, and commit what they finish."""
        was_running = any(p.running for p in closing)
        if was_running:
            await self._wait(closing, deadline)
        if self.transactions is not None:
            await self.transactions.flush(partitions, deadline)
        elif was_running and self._core.group is not None:
            await self._core.group.commits.commit_finished(partitions)

    async def _wait(self, closing: list[PartitionJobs], deadline: float) -> None:
        now = self._core.client.clock.now
        while any(p.running and not p.assignment.is_lost for p in closing):
            left = deadline - now()
            if left <= 0 or self._core.is_closed:
                return
            self._stopped.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_INTERVAL)):
                    await self._stopped.wait()

    def _cancel(self, closing: list[PartitionJobs]) -> None:
        with self._lock:
            self._jobs.forget(closing)
            running = [job for partition in closing for job in partition.running]
        if running:
            names = ", ".join(sorted({str(job.partition.topic_partition) for job in running}))
            log.warning("Cancelled %d handlers of %s, which went away", len(running), names)
            self._runner.cancel(running)

    # -- attempts ----------------------------------------------------------------------------------

    def call_again(self, job: Job, seconds: float) -> None:
        """Let a job run again after so many seconds; until then it does not count as running."""
        asyncio.get_running_loop().call_later(seconds, self._resume, job)

    def _resume(self, job: Job) -> None:
        with self._lock:
            self._jobs.resume(job)
        self._runner.wake()

    def job_stopped(self) -> None:
        """Note that a job of a partition that closes does not run any more."""
        self._stopped.set()

    def next_job(self) -> Job | None:
        """Take what the handler is called with next, None if there is nothing; the lock is held."""
        if self._batch_size is None:
            return self._jobs.next()
        return self._jobs.next_batch(self._batch_size)

    def handler_done(self, job: Job) -> bool:
        """Finish a job, or let its results be written first; return whether its partition has to
        be resumed. The lock is held."""
        if self.transactions is None:
            return self._jobs.finish(job)
        self._jobs.leave_lane(job)
        self.transactions.add(job)
        return False

    # -- beginning and end -------------------------------------------------------------------------

    async def begin(self) -> None:
        """Commit from now on what handlers have finished."""
        await self._core.ready()
        self._core.reader.deserialize(False)
        self._core.position_calls.handled = self.pauses
        if self._core.group is not None:
            self._core.group.progress.handled = self
        if self.transactions is not None:
            self.transactions.start()

    @property
    def commits_by_itself(self) -> bool:
        """Whether the consumer commits what is finished; otherwise transactions do."""
        return self.transactions is None

    @property
    def last_patience(self) -> float:
        """Seconds that handlers may still take when the call ends: none if their results cannot be
        written."""
        has_failed = self.transactions is not None and self.transactions.has_failed
        return 0.0 if has_failed else self.patience

    async def consumer_closes(self, deadline: float) -> None:
        """Write what is done before the consumer is closed; handlers are not waited for."""
        with self._lock:
            self._jobs.is_stopping = True
        if self.transactions is not None:
            await self.transactions.close(deadline)
        await self.recovery.close()

    async def end(self, seconds: float) -> None:
        """Commit what is finished, and let the rest be read again from where it begins.

        The commit takes no longer than so many ``seconds``, or than a request may.
        """
        self._core.reader.deserialize(True)
        self._core.position_calls.handled = None
        group = self._core.group
        if group is not None and not self._core.is_closed:
            now, config = self._core.client.clock.now(), self._core.config
            seconds = min(seconds, config.request_timeout_ms / 1000)
            if self.transactions is not None:
                await self.transactions.close(now + seconds)
            await group.commits.commit_finished(None, now + seconds)
        with self._lock:
            partitions = list(self._jobs)
            self._jobs.forget(partitions)
        for partition in partitions:
            self._give_back(partition)
        if self.transactions is not None:
            self.transactions.ask_group_if_in_doubt()
        await self.recovery.close()
        if group is not None:
            group.progress.handled = None

    def _give_back(self, partition: PartitionJobs) -> None:
        assigned = self.pauses.assigned(partition.assignment)
        if assigned is None:
            return
        self.pauses.end(partition)
        unfinished = partition.first_unfinished
        if unfinished is not None:
            self._core.positions.seek(assigned, unfinished, -1)
