"""Transactions of applications, recorded for ``pykcheck``: append, transform, prepare and complete.

Each function is one transaction. Those whose names end in ``in_block`` do what the guide says, and
no more: a ``transaction()`` block, and the next one after an error. The others call begin, commit
and abort, and repeat a call whose outcome is unknown.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from random import Random
from typing import Any

from pyk.clients import AsyncProducer, PreparedTransaction, TopicPartition
from pyk.clients.errors import KafkaError
from pykcheck import Recorder
from support.recorded_clients import RecordedConsumer, RecordedProducer, recording

STAGES = 3
TOPICS = tuple(f"stage{number}" for number in range(STAGES + 1))
PARTITIONS = [TopicPartition(topic, number) for topic in TOPICS for number in range(2)]
TRANSACTION_TIMEOUT = 10.0
"""Seconds."""
SECONDS_AFTER_ERROR = 0.5


class NotWantedError(Exception):
    """The application gives a transaction up."""


class TransactionalProducer:
    """A recorded producer with transactions. Nothing may be done with it once ``is_over``."""

    def __init__(
        self,
        recorder: Recorder,
        process: str,
        producer: AsyncProducer[bytes, bytes],
        transactional_id: str,
        numbers: Iterator[int] | None = None,
        *,
        timeout: float = TRANSACTION_TIMEOUT,
    ) -> None:
        """``numbers`` are those of its transactions: producers of one process share them.

        ``timeout`` is the one of its transactions, in seconds.
        """
        self.sends = RecordedProducer(recorder, process, producer)
        self.producer = producer
        self.process = process
        self.is_over = False
        self.transactional_id = transactional_id
        self._recorder = recorder
        self._timeout = timeout
        self._numbers = count() if numbers is None else numbers

    def next_transaction(self) -> str:
        """Return the name of the next transaction."""
        return f"{self.process}.{next(self._numbers)}"

    async def start(self) -> bool:
        """Take over the transactional id; return whether that succeeded."""
        try:
            with self.recording_init():
                await self.producer.start()
        except KafkaError:
            self.is_over = True
        return not self.is_over

    def recording_init(self) -> AbstractContextManager[None]:
        """Record that the block takes over the transactional id."""
        return recording(
            self._recorder, self.process, "init", transactional_id=self.transactional_id
        )

    async def begin(self, transaction: str) -> bool:
        try:
            with self._recording_begin(transaction):
                await self.producer.begin_transaction()
        except KafkaError:
            return False
        return True

    async def commit(self, transaction: str) -> bool:
        """Commit; abort if it has to be. Return whether it was committed."""
        while True:
            try:
                with recording(self._recorder, self.process, "commit", transaction=transaction):
                    await self.producer.commit_transaction()
                return True
            except KafkaError as error:
                if error.txn_requires_abort:
                    await self.abort(transaction)
                    return False
                if error.fatal or not error.retriable:
                    self.is_over = True
                    return False

    async def abort(self, transaction: str) -> None:
        while not self.is_over:
            try:
                with recording(self._recorder, self.process, "abort", transaction=transaction):
                    await self.producer.abort_transaction()
                return
            except KafkaError as error:
                self.is_over = error.fatal or not error.retriable

    async def prepare(self, transaction: str) -> PreparedTransaction | None:
        """Write all records; return what completes the transaction, None after an abort."""
        while not self.is_over:
            try:
                return await self.producer.prepare_transaction()
            except KafkaError as error:
                if error.txn_requires_abort:
                    await self.abort(transaction)
                    return None
                self.is_over = error.fatal or not error.retriable
        return None

    @contextlib.asynccontextmanager
    async def block(
        self, transaction: str, consumer: RecordedConsumer | None = None
    ) -> AsyncIterator[Any]:
        """Record a ``transaction()`` block, after whose abort the consumer reads again."""
        block = self.producer.transaction(*([] if consumer is None else [consumer.consumer]))
        with self._recording_begin(transaction):
            entered = await block.__aenter__()
        try:
            yield entered
        except BaseException as error:
            # The block does not say whether its abort succeeded.
            number = self._recorder.invoke(self.process, "abort", transaction=transaction)
            await self._leave(block, consumer, error)
            self._recorder.complete(number, "unknown")
            raise
        with recording(self._recorder, self.process, "commit", transaction=transaction):
            await self._leave(block, consumer)

    async def crash(self) -> None:
        self._recorder.invoke(self.process, "crash")
        self.is_over = True
        await self.producer._core.client.close(0)

    async def close(self) -> None:
        with contextlib.suppress(KafkaError):
            await self.producer.close(0)

    @contextlib.contextmanager
    def _recording_begin(self, transaction: str) -> Any:
        fields = {"transactional_id": self.transactional_id, "timeout": self._timeout}
        try:
            with recording(
                self._recorder, self.process, "begin", transaction=transaction, **fields
            ):
                yield
        except KafkaError as error:
            # Where the call goes on, another one would wait for it.
            self.is_over = error.fatal or not error.retriable
            raise

    async def _leave(
        self,
        block: Any,
        consumer: RecordedConsumer | None,
        error: BaseException | None = None,
    ) -> None:
        is_committed = False
        try:
            await block.__aexit__(None if error is None else type(error), error, None)
            is_committed = error is None
        except KafkaError as failure:
            self.is_over = failure.fatal
            raise
        finally:
            if consumer is not None and not is_committed:
                consumer.on_partitions_assigned(list(consumer.consumer.assignment()))


# -- consume, transform, produce -------------------------------------------------------------------


async def transform_some(
    producer: TransactionalProducer, consumer: RecordedConsumer, target: str, random: Random
) -> bool:
    """Transform what one poll brings, in a transaction; return whether it was committed."""
    transaction = producer.next_transaction()
    consumer.consumed.clear()
    try:
        records = await consumer.poll(1.0, transaction=transaction)
    except KafkaError:
        await asyncio.sleep(SECONDS_AFTER_ERROR)
        return False
    if not records or not await producer.begin(transaction):
        await consumer.go_back(records)
        return False
    await _send_transformed(producer, records, target, transaction, random)
    if random.random() < 0.05:
        await producer.abort(transaction)
    elif await _send_offsets(producer, consumer, transaction):
        if await producer.commit(transaction):
            return True
    else:
        await producer.abort(transaction)
    await consumer.go_back(records)
    return False


async def transform_in_block(
    producer: TransactionalProducer, consumer: RecordedConsumer, target: str, random: Random
) -> bool:
    """Do what :func:`transform_some` does with a block, and leave all the rest to it."""
    transaction = producer.next_transaction()
    consumer.consumed.clear()
    try:
        async with producer.block(transaction, consumer) as block:
            records = await consumer.poll(1.0, transaction=transaction)
            await _send_transformed(producer, records, target, transaction, random)
            if random.random() < 0.05:
                raise NotWantedError
            offsets = dict(consumer.consumed)
            if offsets:
                with consumer.recording_commit(offsets, transaction=transaction):
                    await block.send_offsets(consumer.consumer)
    except NotWantedError:
        return False
    except KafkaError:
        await asyncio.sleep(SECONDS_AFTER_ERROR)
        return False
    return bool(records)


async def _send_transformed(
    producer: TransactionalProducer,
    records: list[tuple[TopicPartition, int, str]],
    target: str,
    transaction: str,
    random: Random,
) -> None:
    for number, (partition, offset, value) in enumerate(records):
        await producer.sends.send(
            TopicPartition(target, random.randrange(2)),
            f"{value.partition('>')[0]}>{transaction}.{number}",
            transaction=transaction,
            source=f"{partition.topic}-{partition.partition}@{offset}",
        )


async def _send_offsets(
    producer: TransactionalProducer, consumer: RecordedConsumer, transaction: str
) -> bool:
    offsets = dict(consumer.consumed)
    try:
        with consumer.recording_commit(offsets, transaction=transaction):
            await producer.producer.send_offsets_to_transaction(
                offsets, consumer.consumer.group_metadata()
            )
    except KafkaError as error:
        producer.is_over = error.fatal
        return False
    return True


# -- append to the first topic ---------------------------------------------------------------------


async def append_some(
    producer: TransactionalProducer, reader: RecordedConsumer, random: Random
) -> None:
    """Send to the first topic and poll all topics in one transaction, in a random order."""
    transaction = producer.next_transaction()
    if not await producer.begin(transaction):
        return
    await _append_and_read(producer, reader, transaction, random)
    if random.random() < 0.2:
        await producer.abort(transaction)
    else:
        await producer.commit(transaction)


async def append_in_block(
    producer: TransactionalProducer, reader: RecordedConsumer, random: Random
) -> None:
    """Do what :func:`append_some` does with a block."""
    transaction = producer.next_transaction()
    with contextlib.suppress(KafkaError, NotWantedError):
        async with producer.block(transaction):
            await _append_and_read(producer, reader, transaction, random)
            if random.random() < 0.2:
                raise NotWantedError


async def _append_and_read(
    producer: TransactionalProducer, reader: RecordedConsumer, transaction: str, random: Random
) -> None:
    for number in range(random.randint(1, 4)):
        if random.random() < 0.3:
            with contextlib.suppress(KafkaError):
                await reader.poll(0.1, transaction=transaction)
        else:
            await append_one(producer, transaction, number, random)


async def append_one(
    producer: TransactionalProducer, transaction: str, number: int, random: Random
) -> None:
    """Send one record to the first topic."""
    partition = TopicPartition(TOPICS[0], random.randrange(2))
    await producer.sends.send(partition, f"{transaction}.{number}", transaction=transaction)


# -- what came of it -------------------------------------------------------------------------------


def visible_values(
    events: Iterable[dict[str, Any]], isolation: str = "read_committed"
) -> dict[str, list[str]]:
    """Return the values that the auditor of an isolation level read, by topic."""
    values: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    auditor = f"auditor of {isolation}"
    polls = set()
    for event in events:
        if event.get("process") == auditor:
            polls.add(event["op"])
        if event["op"] in polls:
            for partition, _, value in event.get("records", ()):
                values[partition.rpartition("-")[0]].append(value)
    return values


def origins(values: Iterable[str]) -> list[str]:
    """Return the values of the first topic that others were made from, sorted."""
    return sorted(value.partition(">")[0] for value in values)


def not_processed_once(events: Iterable[dict[str, Any]]) -> Counter[str]:
    """Return how many records each stage has not processed exactly once, for those with any."""
    values = visible_values(events)
    counts: Counter[str] = Counter()
    for source, target in itertools.pairwise(TOPICS):
        read, written = Counter(origins(values[source])), Counter(origins(values[target]))
        counts[f"{source} to {target}"] = ((read - written) + (written - read)).total()
    return +counts
