"""Tie handlers to a consumer: what they get, what is paused, committed, and given back.

Everything here is called on the consumer's event loop, except :meth:`HandlerSession.add`, which the
thread or task that polls calls. What both touch is guarded by the lock of the driver.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from pyk.clients.consumer.commits.commits import OTHER_GENERATION
from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.positions.assigned_partition import PositionState
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.errors import KafkaError
from pyk.clients.offsets import OffsetSpec
from pyk.clients.processing.batches import records_of
from pyk.clients.processing.calls import note_origin
from pyk.clients.processing.delays import Delays
from pyk.clients.processing.deserializing import deserialized
from pyk.clients.processing.finished_offsets import FinishedOffsets
from pyk.clients.processing.handler_watch import HandlerWatch
from pyk.clients.processing.jobs import Job, Jobs, PartitionJobs
from pyk.clients.processing.options import HandlerOptions
from pyk.clients.processing.pauses import Pauses
from pyk.clients.processing.recovery import Recovery
from pyk.clients.processing.releases import Releases
from pyk.clients.processing.runner import Runner
from pyk.clients.processing.transactions import ResultTransactions, Seams
from pyk.protocol.records import RecordIterator, RecordSpan

log = logging.getLogger(__name__)


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
        self._lock = lock
        self._batch_size = options.batch_size
        self.results = options.producer
        self.pauses = Pauses(core, jobs, lock)
        is_transactional = self.results is not None and self.results.is_transactional
        self._offsets = FinishedOffsets(
            core, jobs, lock, self.pauses, commits_by_itself=not is_transactional
        )
        self.transactions = self._make_transactions(runner)
        self.recovery = Recovery(
            core,
            options.retry,
            options.dead_letter,
            is_ending=lambda: jobs.is_stopping,
            writes_later=is_transactional,
        )
        self.delays = Delays(jobs, runner, lock)
        self.releases = Releases(
            core, jobs, runner, lock, recovery=self.recovery, transactions=self.transactions
        )
        config = core.config
        limit = options.longest_call(config.max_poll_interval_ms)
        self._watch = HandlerWatch(core, jobs, lock, limit, self.pauses.forget_former)
        self._deserializers = Deserializers(config.key_deserializer, config.value_deserializer)

    def _make_transactions(self, runner: Runner) -> ResultTransactions | None:
        if self.results is None or not self.results.is_transactional:
            return None
        seams = Seams(self.pauses, self._offsets.notes, self._put_aside, runner.fail)
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
        if known is not None:
            if not known.follows(span.first_offset):
                self._jobs.cut_back(known, span.first_offset)
            return known
        return self._jobs.begin(assignment, self._offsets.done_before(assignment))

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

    # -- attempts ----------------------------------------------------------------------------------

    def job_stopped(self) -> None:
        """Note that a job of a partition that closes does not run any more."""
        self.releases.job_stopped()

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
        await self.recovery.check_topics()
        if self._core.is_closed:  # meanwhile; the next poll tells
            return
        self._core.reader.deserialize(False)
        self._core.position_calls.handled = self.pauses
        if self._core.group is not None:
            self._core.group.progress.handled = self._offsets
        if self.transactions is not None:
            self.transactions.start()
        self._watch.start()

    @property
    def last_patience(self) -> float:
        """Seconds that handlers may still take when the call ends: none if their results cannot be
        written."""
        has_failed = self.transactions is not None and self.transactions.has_failed
        return 0.0 if has_failed else self.releases.patience

    async def end(self, seconds: float) -> None:
        """Commit what is finished, and let the rest be read again from where it begins.

        The commit takes no longer than so many ``seconds``, or than a request may.
        """
        self.delays.close()
        self._watch.stop()
        self._core.reader.deserialize(True)
        self._core.position_calls.handled = None
        try:
            await self._commit_last(seconds)
        finally:  # also if the call is cancelled meanwhile
            self._give_back_all()
            await self.recovery.close()

    async def _commit_last(self, seconds: float) -> None:
        group = self._core.group
        if group is None or self._core.is_closed:
            return
        now, config = self._core.client.clock.now(), self._core.config
        seconds = min(seconds, config.request_timeout_ms / 1000)
        if self.transactions is not None:
            await self.transactions.close(now + seconds)
        await group.commits.commit_finished(None, now + seconds)

    def _give_back_all(self) -> None:
        with self._lock:
            partitions = list(self._jobs)
            self._jobs.forget(partitions)
        for partition in partitions:
            self._give_back(partition)
        if self.transactions is not None:
            self.transactions.ask_group_if_in_doubt()
        if self._core.group is not None:
            self._core.group.progress.handled = None

    def _give_back(self, partition: PartitionJobs) -> None:
        assigned = self.pauses.assigned(partition.assignment)
        if assigned is None:
            return
        self.pauses.end(partition)
        if assigned.state is PositionState.RESET and assigned.end is OffsetSpec.EARLIEST:
            return  # all records that are not finished come again
        unfinished, position = partition.first_unfinished, assigned.buffer.position
        # Not forward: where the log was truncated, or the application seeked, other records follow.
        if unfinished is not None and not 0 <= position < unfinished:
            self._core.positions.seek(assigned, unfinished, -1)
