"""The producer of the application that writes what handlers return."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from pyk.clients.config import ConsumerConfig
from pyk.clients.errors import KafkaError, RecordTooLargeError, SerializationError, StateError
from pyk.clients.offsets import ConsumerGroupMetadata, TransactionOutcome
from pyk.clients.processing.jobs import Job
from pyk.clients.processing.results import ProducerRecord
from pyk.clients.producer import AsyncProducer, Producer
from pyk.clients.producer.arguments import as_headers
from pyk.clients.producer.batching.delivery import Delivery
from pyk.clients.producer.faces.record import WaitingRecord
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode

Sent = list[tuple[Job, Delivery]]
# Brokers refuse the record, or whoever writes it.
REFUSALS = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)
ProducerKind = type[Producer[Any, Any]] | type[AsyncProducer[Any, Any]]


class UnwritableError(Exception):
    """A record that a handler has returned cannot be written, because of ``error``."""

    def __init__(self, job: Job, error: Exception) -> None:
        super().__init__(error)
        self.job = job
        self.error = error


class ResultProducer:
    """Awaits the calls of a producer, also of one that blocks: those run in a thread of its own.

    The offsets and the end of a transaction take at most half of the time after which brokers
    abort it: so this producer aborts it first, which costs it nothing.
    """

    def __init__(self, producer: Producer[Any, Any] | AsyncProducer[Any, Any]) -> None:
        self._producer = producer
        self._pool: ThreadPoolExecutor | None = None
        config = producer._core.config
        self.is_transactional = config.transactional_id is not None
        self._seconds = config.transaction_timeout_ms / 2000

    def close(self) -> None:
        """End the thread, as soon as its call has ended. The producer stays open."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    # -- records -----------------------------------------------------------------------------------

    async def write(self, job: Job) -> None:
        """Write the records of a job, outside of a transaction."""
        deliveries = [await send() for _, send in self._sends([job])]
        for delivery in deliveries:
            await delivery

    def write_blocking(self, job: Job) -> None:
        """Write the records of a job with a blocking producer, in the thread that calls."""
        deliveries = [send() for _, send in self._sends([job])]
        for delivery in deliveries:
            delivery.result()

    async def send(self, jobs: Iterable[Job]) -> Sent:
        """Make the records of jobs part of the transaction.

        Raises :class:`UnwritableError` for one that never can be.
        """
        if isinstance(self._producer, Producer):
            sent: Sent = await self._call(self._send_blocking, jobs)
            return sent
        sent = []
        for job, send in self._sends(jobs):
            try:
                sent.append((job, await send()))
            except Exception as error:
                if _may_be_sent_again(error):
                    raise
                raise UnwritableError(job, error) from None
        return sent

    def _send_blocking(self, jobs: Iterable[Job]) -> Sent:
        sent = []
        for job, send in self._sends(jobs):
            try:
                sent.append((job, send()))
            except Exception as error:
                if _may_be_sent_again(error):
                    raise
                raise UnwritableError(job, error) from None
        return sent

    def _sends(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Callable[[], Any]]]:
        for job in jobs:
            send = self._send_bytes if job.is_moved else self._send
            for record in job.results:
                yield job, partial(send, record)

    def _send(self, record: ProducerRecord) -> Any:
        return self._producer.send(
            record.topic,
            record.value,
            record.key,
            partition=record.partition,
            headers=record.headers,
            timestamp_ms=record.timestamp_ms,
        )

    def _send_bytes(self, record: ProducerRecord) -> Any:
        """Send a record as it was read, past the serializers."""
        core = self._producer._core
        return self._producer._send_slowly(
            WaitingRecord(
                record.topic,
                record.value,
                record.key,
                None,
                as_headers(record.headers),
                core.client.clock.time_ms(),
                core.accumulator.admission.term,
            )
        )

    # -- transactions ------------------------------------------------------------------------------

    @property
    def outcome(self) -> TransactionOutcome | None:
        """What became of the last transaction, None if that is not known yet."""
        return self._producer._core.transactions.end.outcome

    async def begin(self) -> None:
        """Begin a transaction."""
        await self._call(self._producer.begin_transaction)

    async def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
    ) -> None:
        """Make offsets of a group part of the transaction."""
        await self._call(
            self._producer.send_offsets_to_transaction, offsets, group, timeout=self._seconds
        )

    async def commit(self) -> None:
        """Commit the transaction; made again it waits on."""
        await self._call(self._producer.commit_transaction, timeout=self._seconds)

    async def abort(self, timeout: float | None = None) -> None:
        """Abort the transaction; made again it waits on."""
        await self._call(self._producer.abort_transaction, timeout=timeout)

    async def _call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if isinstance(self._producer, AsyncProducer):
            return await function(*arguments, **options)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="pyk-results")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, partial(function, *arguments, **options))


def _may_be_sent_again(error: Exception) -> bool:
    """Return whether an error of ``send`` says nothing about the record."""
    return isinstance(error, KafkaError) and not is_about_record(error)


def is_about_record(error: KafkaError) -> bool:
    """Return whether brokers, or the producer, refuse this record, and will do so again."""
    return isinstance(error, RecordTooLargeError | SerializationError) or error.code in REFUSALS


def result_producer(
    producer: Any, kind: ProducerKind, config: ConsumerConfig
) -> ResultProducer | None:
    """Return the producer of ``process()`` for its results, None without one.

    With a ``transactional_id`` its transactions commit the offsets: raises :class:`StateError` for
    a consumer with which that would not be exactly once.
    """
    if producer is None:
        return None
    if not isinstance(producer, kind):
        article = "an" if kind is AsyncProducer else "a"
        given = type(producer).__name__
        raise TypeError(f"producer must be {article} {kind.__name__}, not {given}")
    found = ResultProducer(producer)
    if found.is_transactional:
        _check_exactly_once(config)
    return found


def _check_exactly_once(config: ConsumerConfig) -> None:
    if config.enable_auto_commit:
        raise StateError(
            "the consumer would commit offsets outside of the transactions of process(): create "
            "it with enable_auto_commit=False"
        )
    if not config.reads_committed:
        raise StateError(
            "the consumer would read offsets that a transaction still changes, and records that "
            "may be aborted: create it with isolation_level='read_committed'"
        )
