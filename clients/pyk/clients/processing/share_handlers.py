"""Tie handlers to a share consumer: each record is acknowledged by itself, and renewed meanwhile.

There is no order and no commit of offsets, so this replaces :class:`HandlerSession` as a whole; the
runners are the same. Called on the consumer's event loop, except ``add`` and ``handler_done``,
which the thread or task that polls, or that handles, calls. ``lock`` guards the jobs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.errors import KafkaError, UnsupportedVersionError
from pyk.clients.processing.delays import Delays
from pyk.clients.processing.deserializing import deserialized
from pyk.clients.processing.handler_watch import HandlerWatch
from pyk.clients.processing.jobs import Job, Jobs, PartitionJobs
from pyk.clients.processing.options import HandlerOptions
from pyk.clients.processing.recovery import Recovery
from pyk.clients.processing.runner import Runner
from pyk.clients.producer import AsyncProducer, Producer
from pyk.clients.share.acknowledge_type import AcknowledgeType
from pyk.clients.share.acknowledgements import GAP, Acknowledgements
from pyk.clients.share.acquired_records import AcquiredRecords, Part
from pyk.clients.share.commit_ticket import CommitTicket, Outcome, PendingAcknowledgements
from pyk.clients.share.foreign_calls import refuse, refuse_given
from pyk.clients.share.share_core import ShareCore
from pyk.protocol.records import RecordIterator, RecordSpan

if TYPE_CHECKING:
    from pyk.clients.share.async_share_consumer import AsyncShareConsumer
    from pyk.clients.share.share_consumer import ShareConsumer

log = logging.getLogger(__name__)

ACCEPT, RELEASE, REJECT, RENEW = map(int, AcknowledgeType)
# Locks are renewed so many times in the time that one lasts.
RENEWALS_PER_LOCK = 3
# Seconds between two looks for locks while it is not known how long they last.
FIRST_LOOK = 1.0
# The part of max_poll_interval_ms that handlers have to finish when the call ends.
PATIENCE = 0.8
# How long a leader may wait for records while handlers run, in ms: what they acknowledge waits
# behind that fetch.
LONGEST_WAIT_MS = 100


async def share_in_tasks(
    consumer: AsyncShareConsumer[Any, Any], handler: Callable[[Any], object], **options: Any
) -> None:
    """Do what :meth:`AsyncShareConsumer.process` says."""
    from pyk.clients.processing.async_driver import TaskRunner

    checked = _checked(handler, AsyncProducer, consumer._core.config, options)
    await TaskRunner(consumer, checked, ShareHandlerSession).run()


def share_in_threads(
    consumer: ShareConsumer[Any, Any], handler: Callable[[Any], object], **options: Any
) -> None:
    """Do what :meth:`ShareConsumer.process` says."""
    from pyk.clients.processing.thread_driver import ThreadRunner

    checked = _checked(handler, Producer, consumer._core.config, options)
    ThreadRunner(consumer, checked, ShareHandlerSession).run()


def _checked(
    handler: Callable[[Any], object], kind: Any, config: Any, options: dict[str, Any]
) -> HandlerOptions:
    if options["ordering"] != "none":
        refuse("process()", "ordering")
    refuse_given("process()", producer=options["producer"])
    options = {**options, "dead_letter": options["dead_letter"] or release_it}
    return HandlerOptions.checked(handler, kind=kind, config=config, **options)


def release_it(record: Any, error: Exception) -> None:
    """Stand for the dead letters where there are none: the record is delivered again."""


class ShareRecovery(Recovery):
    """Remembers how records that could not be handled are acknowledged."""

    def __init__(self, core: ShareCore, options: HandlerOptions, jobs: Jobs) -> None:
        is_ending = lambda: jobs.is_stopping  # noqa: E731
        super().__init__(core, options.retry, options.dead_letter, is_ending=is_ending)
        self.kinds: dict[Job, int] = {}
        self._kind = RELEASE if options.dead_letter is release_it else REJECT

    async def put_aside(self, job: Job, error: Exception) -> None:
        """Move a record to the dead letters, where it is rejected, or release it."""
        await super().put_aside(job, error)
        self.kinds[job] = self._kind

    def _where_put_aside(self, job: Job) -> str:
        if self._kind == REJECT:
            return super()._where_put_aside(job)
        return (
            f"released after delivery {job.record.delivery_count}, for another one unless the "
            "group allows no more"
        )


class ShareHandlerSession:
    """The jobs of one ``process()`` of a share consumer."""

    results = releases = None

    def __init__(
        self,
        core: ShareCore,
        jobs: Jobs,
        runner: Runner,
        lock: AbstractContextManager[object],
        options: HandlerOptions,
    ) -> None:
        self.recovery = ShareRecovery(core, options, jobs)
        self._core = core
        self._jobs = jobs
        self.delays = Delays(jobs, runner, lock)
        self._lock = lock
        self._limit = 2 * options.concurrency
        self._unfinished = 0
        self._sends_soon = False
        self._renewing: asyncio.Task[None] | None = None
        self._without_renewal: set[int] = set()
        """The nodes that do not know renewal."""
        config = core.config
        self._deserializers = Deserializers(config.key_deserializer, config.value_deserializer)
        limit = options.longest_call(config.max_poll_interval_ms)
        self._watch = HandlerWatch(core, jobs, lock, limit)
        self.last_patience = PATIENCE * config.max_poll_interval_ms / 1000

    # -- records -----------------------------------------------------------------------------------

    def add(self, spans: Iterable[RecordSpan]) -> list[PartitionJobs]:
        """Add what a poll returned."""
        parts = self._core.reader.take_handed()
        with self._lock:
            for part in parts:
                self._add_part(part)
            self._core.fetcher.is_paused = self._unfinished >= self._limit
        self._send_soon()
        return []

    def _add_part(self, part: Part) -> None:
        acquired: Any = part.acquired
        partition = self._jobs.of(acquired) or self._jobs.begin(acquired)
        self._jobs.add(partition, RecordIterator((part.span,)))
        self._unfinished += part.span.count
        following = part.first
        for record in RecordIterator((part.span,)):
            if record.offset > following:
                self._acknowledge(part.acquired, following, record.offset - 1, GAP)
            following = record.offset + 1
        if following <= part.last:
            self._acknowledge(part.acquired, following, part.last, GAP)

    def goes_on_after(self, error: BaseException) -> bool:
        """Return whether reading goes on after an error of a poll, and log it then."""
        if not isinstance(error, KafkaError) or error.topic is not None or not error.retriable:
            return False
        log.warning("No records to handle for now, will go on trying: %s", error)
        return True

    def follow_pauses(self, partitions: Iterable[PartitionJobs]) -> None:
        """Do nothing: the fetches of all partitions are paused together."""

    def record_of(self, job: Job) -> Any:
        """Return the record of a job for its handler, deserialized."""
        return deserialized(job.record, self._deserializers) if self._deserializers else job.record

    # -- acknowledgements --------------------------------------------------------------------------

    def next_job(self) -> Job | None:
        """Take what the handler is called with next, None if there is nothing; the lock is held."""
        return self._jobs.next()

    def handler_done(self, job: Job) -> bool:
        """Acknowledge the record of a job, which is finished."""
        kind = self.recovery.kinds.pop(job, RELEASE if job.was_told_to_stop else ACCEPT)
        if job.partition.is_cancelled:  # process() has ended, and has given the record back
            return False
        acquired: Any = job.partition.assignment
        self._acknowledge(acquired, job.offset, job.offset, kind)
        self._jobs.finish(job)
        self._unfinished -= 1
        if job.partition.first_unfinished is None:
            self._jobs.forget([job.partition])
        if self._core.fetcher.is_paused and self._unfinished <= self._limit // 2:
            self._core.fetcher.is_paused = False
        if not self._sends_soon:
            self._sends_soon = True
            self._core.call_soon(self._send)
        return False

    def _acknowledge(self, acquired: AcquiredRecords, first: int, last: int, kind: int) -> None:
        self._core.buffer.outbox.append((acquired, first, last, kind))

    def _send_soon(self) -> None:
        if self._core.buffer.outbox and not self._sends_soon:
            self._sends_soon = True
            self._core.call_soon(self._send)

    def _send(self) -> None:
        self._sends_soon = False
        if not self._core.is_closed:
            self._core.commit_soon()

    def job_stopped(self) -> None:
        """Do nothing: no rebalance waits for a job."""

    # -- renewal -----------------------------------------------------------------------------------

    async def _renew(self) -> None:
        """Renew the locks of all records that are not handled yet, where brokers can."""
        while True:
            timeout_ms = self._core.lock_timeout_ms()
            seconds = FIRST_LOOK if timeout_ms is None else timeout_ms / 1000 / RENEWALS_PER_LOCK
            await asyncio.sleep(seconds)
            if timeout_ms is not None:
                self._renew_unfinished(2 * seconds)

    def _renew_unfinished(self, seconds: float) -> None:
        """Renew the locks that would be over after so many seconds."""
        ticket, now = CommitTicket(self._renewed, is_awaited=True), self._core.client.clock.now()
        for acquired, offsets in self._unfinished_offsets().items():
            if acquired.locked_until <= now:
                acquired.is_lost = True  # handlers may ask
            if acquired.is_lost or acquired.is_not_renewed or acquired.locked_until > now + seconds:
                continue
            locks = Acknowledgements((offset, offset, RENEW) for offset in offsets)
            self._core.fetcher.send(ticket, acquired, locks)

    def _unfinished_offsets(self) -> dict[AcquiredRecords, list[int]]:
        with self._lock:
            found: dict[Any, list[int]] = {p.assignment: p.unfinished() for p in self._jobs}
        return {acquired: offsets for acquired, offsets in found.items() if offsets}

    def _renewed(
        self, ticket: CommitTicket, pending: PendingAcknowledgements, outcome: Outcome
    ) -> None:
        acquired = pending.acquired
        if outcome.error is None:
            seconds = (self._core.lock_timeout_ms() or 0) / 1000
            acquired.locked_until = pending.sent_at + seconds
            self._without_renewal.discard(acquired.node_id)
            return
        # Without a response they may be renewed once more; until they are over they are held.
        acquired.is_not_renewed = outcome.error.definite
        if acquired.node_id not in self._without_renewal:
            log.warning("Cannot renew the locks of %s: %s", acquired.topic_partition, outcome.error)
        if isinstance(outcome.error, UnsupportedVersionError):
            self._without_renewal.add(acquired.node_id)

    # -- beginning and end -------------------------------------------------------------------------

    async def begin(self) -> None:
        """Leave all records to the handlers from now on."""
        await self._core.ready()
        await self.recovery.check_topics()
        if self._core.is_closed:  # meanwhile; the next poll tells
            return
        fetcher, reader = self._core.fetcher, self._core.reader
        reader.come_back()
        reader.deserialize(False)
        reader.leaves_to_handlers = True
        fetcher.most_records = min(self._core.config.max_poll_records, self._limit)
        fetcher.longest_wait_ms = LONGEST_WAIT_MS
        self._watch.start()
        self._renewing = self._core.client.supervisor.spawn("renew locks of records", self._renew())

    async def end(self, seconds: float) -> None:
        """Release what is not finished, and send what is acknowledged within so many seconds."""
        self.delays.close()
        self._watch.stop()
        fetcher, reader = self._core.fetcher, self._core.reader
        if self._renewing is not None:
            self._renewing.cancel()
        with self._lock:
            partitions = list(self._jobs)
            for partition in partitions:
                acquired: Any = partition.assignment
                for offset in partition.unfinished():
                    self._acknowledge(acquired, offset, offset, RELEASE)
            self._jobs.forget(partitions)
        reader.leaves_to_handlers = fetcher.is_paused = False
        reader.deserialize(True)
        fetcher.most_records = self._core.config.max_poll_records
        fetcher.longest_wait_ms = self._core.config.fetch_max_wait_ms
        try:
            if not self._core.is_closed:
                await self._commit_last(self._core.client.clock.now() + seconds)
        finally:  # also if the call is cancelled meanwhile
            await self.recovery.close()

    async def _commit_last(self, deadline: float) -> None:
        try:
            await self._core.commits.commit(deadline)
        except KafkaError as error:
            log.warning("Some records that were handled are delivered again: %s", error)
        await self._core.fetcher.settled(deadline)
