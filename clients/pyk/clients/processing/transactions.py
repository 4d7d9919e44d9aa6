"""Write what handlers return, and the offsets of their records, in transactions: exactly once.

A handler returns the records to write, and nothing is sent before it has returned. So one that
fails, or is cancelled, leaves nothing behind, and no transaction is open while handlers run::

    handler returns ──► done ──► a transaction of all that are done: records, offsets, commit
                         ▲                              │                           │
                         └── aborted: written again ────┘                       finished

* The lane of a job goes on when its handler has returned. Its offset is finished when the
  transaction is committed; until then a crash, or the loss of its partition, undoes both.
* After an abort the same results are written again; no handler is called again.
* What the group took away is left out: its new owner handles it again. The coordinator of the group
  refuses the offsets of a member that was replaced (KIP-447), which aborts the transaction.
* A commit whose outcome is unknown is asked for until it is known. Where the call ends before,
  the group is asked where to read on (:class:`DoubtfulPositions`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pyk.clients.consumer.commits.commits import not_a_member
from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.faces.transaction_calls import has_no_topic
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.errors import (
    CommitFailedError,
    KafkaError,
    KafkaTimeoutError,
    StateError,
    TransactionAbortableError,
    TransactionAbortedError,
)
from pyk.clients.offsets import ConsumedOffsets, TransactionOutcome
from pyk.clients.processing.finished_offsets import read_epoch
from pyk.clients.processing.gaps import NoteLimit, encode_all
from pyk.clients.processing.jobs import Job, Jobs, PartitionJobs
from pyk.clients.processing.pauses import Pauses
from pyk.clients.processing.result_producer import (
    ResultProducer,
    Sent,
    UnwritableError,
    is_about_record,
)
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.clients.wording import counted
from pyk.protocol.errors import ErrorCode
from pyk.runtime import slotted

log = logging.getLogger(__name__)

# Seconds that results wait for others, so that a transaction has more than one of them; as long as
# Kafka Streams waits.
GATHER_SECONDS = 0.1
# So many do not wait: a partition is paused when twice as many of its records are not finished.
ENOUGH = 250
# Seconds between two looks whether a partition whose results are waited for was lost.
LOOK_INTERVAL = 0.1
# Seconds for the abort of a transaction when the call is cancelled.
ABORT_SECONDS = 5.0
# What an abort does not cure.
_FINAL = frozenset(
    {
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)


@slotted.frozen
class Seams:
    """What the session lends to transactions."""

    pauses: Pauses
    notes: NoteLimit
    put_aside: Callable[[Job, Exception], Any]
    """Does what follows if the results of a job cannot be written; awaited."""
    fail: Callable[[BaseException], None]
    """Ends the call with an error."""


class ResultTransactions:
    """The transactions of one ``process()``. ``lock`` guards ``jobs``."""

    def __init__(
        self,
        core: ConsumerCore,
        jobs: Jobs,
        lock: AbstractContextManager[object],
        producer: ResultProducer,
        seams: Seams,
    ) -> None:
        self._core = core
        self._jobs = jobs
        self._lock = lock
        self._producer = producer
        self._seams = seams
        self._done: deque[Job] = deque()
        self._batch: Sequence[Job] = ()
        self._waiting: Sequence[Job] = ()
        """Those for which the note of the last commit had no room, or whose position is unknown."""
        self._awaits_positions = False
        self._doubtful: ConsumedOffsets | None = None
        """The offsets of a transaction of which nobody knows whether it was committed."""
        self._is_called = False
        self._wakeup = asyncio.Event()
        self._hurry = asyncio.Event()
        self._written = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def has_failed(self) -> bool:
        """Whether nothing more is written, because of an error that ends the call."""
        return self._task is not None and self._task.done()

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._run(), name="write results")

    def add(self, job: Job) -> None:
        """Write the results of a job, whose handler has returned; any thread may call it."""
        self._done.append(job)
        if not self._is_called or len(self._done) == ENOUGH:
            self._is_called = True
            self._core.call_soon(self._call)

    def _call(self) -> None:
        self._wakeup.set()
        if len(self._done) >= ENOUGH:
            self._hurry.set()

    async def flush(self, partitions: Collection[TopicPartition] | None, deadline: float) -> None:
        """Wait until the results of partitions (default: all) are committed, or do not count any
        more; not longer than until the deadline."""
        now = self._core.client.clock.now
        while self._has(partitions) and (left := deadline - now()) > 0:
            if self._core.is_closed or self._task is None or self.has_failed:
                return
            self._call()
            self._hurry.set()
            self._written.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_INTERVAL)):
                    await self._written.wait()

    async def close(self, deadline: float) -> None:
        """Commit what is done; at the deadline abort what is not committed yet."""
        try:
            await self.flush(None, deadline)
        finally:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=2 * ABORT_SECONDS)
            self._producer.close()

    def ask_group_if_in_doubt(self) -> None:
        """Read on where the group says, if it is unknown whether a transaction was committed."""
        if self._doubtful is None or self._core.is_closed:
            return
        calls = self._core.transaction_calls
        calls.doubt(calls.begin(), [self._doubtful]).settle(TransactionOutcome.UNKNOWN)

    def _has(self, partitions: Collection[TopicPartition] | None) -> bool:
        return any(
            (partitions is None or job.partition.topic_partition in partitions)
            and self._holds(job)
            and not self._has_no_topic(job)
            for job in (*self._batch, *self._waiting, *list(self._done))
        )

    def _holds(self, job: Job) -> bool:
        """Return whether the record of a job is still for this member to handle."""
        assignment = job.partition.assignment
        if self._jobs.of(assignment) is not job.partition:
            return False
        return self._seams.pauses.assigned(assignment) is not None

    def _has_no_topic(self, job: Job) -> bool:
        """Return whether the topic of a job was deleted, as far as metadata tell."""
        assigned = self._seams.pauses.assigned(job.partition.assignment)
        return assigned is not None and has_no_topic(assigned, self._core.client.metadata)

    def _has_position(self, job: Job) -> bool:
        assigned = self._seams.pauses.assigned(job.partition.assignment)
        if assigned is None or self._has_no_topic(job):
            return False
        return assigned.buffer.position >= 0

    # -- one transaction after the other -----------------------------------------------------------

    async def _run(self) -> None:
        try:
            while True:
                await self._wakeup.wait()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(GATHER_SECONDS):
                        await self._hurry.wait()
                # Cleared first: what is added from here on calls again.
                self._is_called = False
                self._wakeup.clear()
                self._hurry.clear()
                self._batch = [self._done.popleft() for _ in range(len(self._done))]
                await self._write()
                if self._awaits_positions:
                    asyncio.get_running_loop().call_later(LOOK_INTERVAL, self._call)
        except Exception as error:
            self._seams.fail(error)

    async def _write(self) -> None:
        """Write the batch until that succeeds, or nothing of it is left."""
        client, failures = self._core.client, 0
        while batch := self._select():
            try:
                consumed = await self._transaction(batch)
            except UnwritableError as unwritable:
                await self._seams.put_aside(unwritable.job, unwritable.error)
            except KafkaError as error:
                if self._doubtful is None and self._is_shortened_after(error):
                    continue
                if self._doubtful is not None or not may_pass(error):
                    raise
                failures += 1
                log.warning("Writing %s again: %s", counted(len(batch), "result"), error)
                delay = client.retry_backoff.delay(failures, client.random.random())
                await asyncio.sleep(delay)
            else:
                self._committed(batch, consumed)
                break
        self._batch = ()
        self._written.set()

    def _select(self) -> Sequence[Job]:
        """Return what the next transaction writes; what it has no room for waits for the one after.

        All that is finished has to be named in the note of the commit: what is left out there would
        be handled, and written, again. So what does not fit waits until gaps before it are closed.
        While the position of a partition is looked up, nobody knows what to commit: its log may
        have been truncated, or the application wants to read it again.
        """
        held = [job for job in (*self._waiting, *self._batch) if self._holds(job)]
        known = [job for job in held if self._has_position(job)]
        self._awaits_positions = len(known) < len(held)
        chosen: set[Job] = set()
        for partition in {job.partition for job in known}:
            jobs = sorted((j for j in known if j.partition is partition), key=lambda j: j.offset)
            count = len(jobs)
            while count and not self._fits(partition, jobs[:count]):
                count //= 2
            chosen.update(jobs[:count])
        self._batch = [job for job in held if job in chosen]
        self._waiting = [job for job in held if job not in chosen]
        return self._batch

    def _is_shortened_after(self, error: KafkaError) -> bool:
        is_refused = _code_of_cause(error) == ErrorCode.OFFSET_METADATA_TOO_LARGE
        return is_refused and self._seams.notes.shorten()

    def _fits(self, partition: PartitionJobs, jobs: Sequence[Job]) -> bool:
        with self._lock:
            offset, ahead = partition.restart(_members(jobs))
        limit = self._seams.notes.max_bytes
        return offset is None or encode_all(offset, ahead, limit) is not None

    async def _transaction(self, batch: Sequence[Job]) -> ConsumedOffsets:
        await self._producer.begin()
        sent: Sent = []
        try:
            sent = await self._producer.send(batch)
            consumed = self._consumed(batch)
            await self._send_offsets(batch, consumed)
            self._doubtful = consumed
            await self._commit()
        except (KafkaError, UnwritableError):
            await self._abort()
            if (unwritable := _unwritable(sent)) is not None:
                raise unwritable from None  # put_aside raises that of the record
            raise
        except BaseException:
            await self._abort(ABORT_SECONDS)
            raise
        self._doubtful = None
        return consumed

    async def _send_offsets(self, batch: Sequence[Job], consumed: ConsumedOffsets) -> None:
        """Make offsets part of the transaction; raise as soon as one must not be committed.

        A coordinator is asked again while a topic does not exist, and would store the offsets in
        another topic of that name.
        """
        offsets, group = consumed.offsets, consumed.group_metadata
        sending = asyncio.ensure_future(self._producer.send_offsets(offsets, group))
        try:
            while not sending.done():
                await asyncio.wait({sending}, timeout=LOOK_INTERVAL)
                self._check(batch)
            await sending
        finally:
            sending.cancel()

    async def _commit(self) -> None:
        while True:
            try:
                await self._producer.commit()
            except KafkaTimeoutError as late:
                try:
                    await self._producer.abort()
                except StateError:  # the coordinator was told to commit, and may have done it
                    log.warning("Waiting on for the commit of results: %s", late)
                    continue
                except KafkaTimeoutError:
                    pass
                raise
            return

    async def _abort(self, timeout: float | None = None) -> None:
        """Abort the open transaction; with a timeout only as long as that."""
        while True:
            try:
                await self._producer.abort(timeout)
            except KafkaTimeoutError as late:
                if timeout is None:
                    log.warning("Waiting on for the abort of results: %s", late)
                    continue
            except KafkaError as error:
                log.info("The transaction of results was not aborted by this producer: %s", error)
            if self._producer.outcome is TransactionOutcome.ABORTED:
                self._doubtful = None
            return

    # -- offsets -----------------------------------------------------------------------------------

    def _consumed(self, batch: Sequence[Job]) -> ConsumedOffsets:
        """Return what a transaction of these jobs commits, all of it of one moment.

        Raises :class:`CommitFailedError` if the group took one of their partitions away, or its
        position became unknown.
        """
        group = self._core.group
        assert group is not None
        self._check(batch)
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        versions: dict[TopicPartition, int] = {}
        written = _members(batch)
        for partition in {job.partition for job in batch}:
            assigned = self._seams.pauses.assigned(partition.assignment)
            assert assigned is not None
            name = partition.topic_partition
            offsets[name] = self._restart(partition, assigned, written)
            versions[name] = assigned.version
        return ConsumedOffsets(group.metadata, offsets, versions)

    def _check(self, batch: Sequence[Job]) -> None:
        """Raise :class:`CommitFailedError` if the offset of a job must not be committed now."""
        group = self._core.group
        for job in batch:
            may_commit = group is not None and group.may_commit
            if not (self._holds(job) and self._has_position(job) and may_commit):
                raise not_a_member(job.partition.topic_partition)

    def _restart(
        self, partition: PartitionJobs, assigned: AssignedPartition, written: Collection[Job]
    ) -> OffsetAndMetadata:
        """Return where a partition is read on once these jobs are finished, too."""
        # Asked before the jobs: what is handed out meanwhile is unfinished there.
        finished, _ = self._core.buffer.finished(assigned.buffer)
        with self._lock:
            offset, ahead = partition.restart(written)
            after = partition.next_offset
        position, epoch = assigned.buffer.position, read_epoch(assigned)
        # What is not before the position was truncated, or is read again after a seek.
        if position < (after if offset is None else offset):
            return OffsetAndMetadata(position, leader_epoch=epoch)
        if offset is None:
            return OffsetAndMetadata(max(after, finished), leader_epoch=epoch)
        ahead = [one for one in ahead if one < position]
        note = encode_all(offset, ahead, self._seams.notes.max_bytes)
        if note is None:  # a seek meanwhile; it is selected again
            raise not_a_member(partition.topic_partition)
        return OffsetAndMetadata(offset, note, epoch)

    def _committed(self, batch: Sequence[Job], consumed: ConsumedOffsets) -> None:
        group = self._core.group
        assert group is not None
        held = [job for job in batch if self._holds(job)]
        with self._lock:
            for job in held:
                job.partition.finish(job)
            resumed = [p for p in {job.partition for job in held} if p.should_resume()]
        kept = {job.partition.topic_partition for job in held}
        versions = {p: version for p, version in consumed.versions.items() if p in kept}
        group.commits.stored_by_transaction(consumed.offsets, versions)
        self._seams.pauses.follow(resumed)


def may_pass(error: KafkaError) -> bool:
    """Return whether a transaction that failed so may succeed if it is written again.

    After an abort the producer gets another epoch, or learns that it was fenced.
    """
    if error.fatal or isinstance(error, StateError):
        return False
    if isinstance(error, TransactionAbortableError | TransactionAbortedError):
        is_ended = isinstance(error.__cause__, StateError)
        return not is_ended and _code_of_cause(error) not in _FINAL
    if isinstance(error, KafkaTimeoutError) and error.topic is not None:
        # The producer has waited for max_block_ms until a topic of the results exists.
        return _code_of_cause(error) != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return error.retriable or isinstance(error, CommitFailedError)


def _code_of_cause(error: KafkaError) -> int | None:
    cause = error.__cause__
    return cause.code if isinstance(cause, KafkaError) else None


def _members(jobs: Iterable[Job]) -> frozenset[Job]:
    return frozenset(member for job in jobs for member in job.members)


def _unwritable(sent: Sent) -> UnwritableError | None:
    """Return the error of the first job with a record that brokers will never take."""
    for job, delivery in sent:
        error = delivery.exception() if delivery.done() else None
        if error is not None and is_about_record(error):
            return UnwritableError(job, error)
    return None
