"""Consume a filled topic with one client, and print its cost.

All partitions are assigned and read from the beginning; the value of every record is read. The
clock starts after the first record. confluent-kafka gets ``fetch.queue.backoff.ms=5``, without
which it sleeps for a second each time its queue is full; its checksum test is off, its default.
"""

from __future__ import annotations

import asyncio
from typing import Any

from benchmarks.clients import share
from benchmarks.clients.meter import Meter, arguments
from benchmarks.clients.tls import confluent_tls, pyk_tls

PARTITIONS = 6
BATCH = 1_000
LARGE_BATCH = 50_000


class Run:
    """One run of one case: the topic, the number of records, and the meter."""

    def __init__(self, options: Any) -> None:
        self.case: str = options.case
        self.bootstrap: str = options.bootstrap
        self.topic: str = options.topic
        self.records: int = options.records
        self.cafile: str | None = options.cafile
        self._meter = Meter()
        self._first = 0

    def first(self, records: int = 1) -> int:
        """Start the clock after the first record or batch; return how many have been read."""
        self._meter.start()
        self._first = records
        return records

    def done(self, records: int) -> None:
        assert records >= self.records, f"{records} of {self.records} records arrived"
        self._meter.report(self.case, records - self._first)


def pyk_partitions(run: Run) -> list[Any]:
    from pyk.clients import TopicPartition

    return [TopicPartition(run.topic, partition) for partition in range(PARTITIONS)]


def pyk_config(run: Run) -> dict[str, Any]:
    return {"auto_offset_reset": "earliest", **pyk_tls(run.cafile)}


def _iterate(run: Run, consumer: Any) -> None:
    """Read all records by iteration, with any client whose records have a ``value``."""
    read, total = 0, run.records
    for record in consumer:
        record.value
        if not read:
            run.first()
        read += 1
        if read == total:
            break
    run.done(read)


async def _async_iterate(run: Run, consumer: Any) -> None:
    """Read all records by iteration, with any asyncio client."""
    read, total = 0, run.records
    async for record in consumer:
        record.value
        if not read:
            run.first()
        read += 1
        if read == total:
            break
    run.done(read)


def _pyk_poll(run: Run, max_records: int) -> None:
    from pyk.clients import Consumer

    with Consumer(run.bootstrap, **pyk_config(run)) as consumer:
        consumer.assign(pyk_partitions(run))
        while not (batch := consumer.poll(10, 1)):
            pass
        read, total = run.first(len(batch)), run.records
        while read < total:
            for record in consumer.poll(10, max_records):
                record.value
                read += 1
        run.done(read)


def pyk_poll(run: Run) -> None:
    _pyk_poll(run, 500)


def pyk_batches(run: Run) -> None:
    _pyk_poll(run, BATCH)


def pyk_iterate(run: Run) -> None:
    from pyk.clients import Consumer

    with Consumer(run.bootstrap, **pyk_config(run)) as consumer:
        consumer.assign(pyk_partitions(run))
        _iterate(run, consumer)


def pyk_columns(run: Run) -> None:
    from pyk.clients import Consumer

    columns = ["offset", "value"]
    with Consumer(run.bootstrap, **pyk_config(run)) as consumer:
        consumer.assign(pyk_partitions(run))
        while not (batch := consumer.poll(10, 1)):
            pass
        batch.to_arrow(columns=columns)  # loads pyarrow, which is not a cost per record
        read, total = run.first(len(batch)), run.records
        while read < total:
            read += consumer.poll(10, LARGE_BATCH).to_arrow(columns=columns).num_rows
        run.done(read)


async def pyk_async_for(run: Run) -> None:
    from pyk.clients import AsyncConsumer

    async with AsyncConsumer(run.bootstrap, **pyk_config(run)) as consumer:
        await consumer.assign(pyk_partitions(run))
        await _async_iterate(run, consumer)


def _confluent_consumer(run: Run) -> Any:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": run.bootstrap,
            "group.id": "benchmark",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 5,
            "queued.min.messages": 1_000_000,
            **confluent_tls(run.cafile),
        }
    )
    partitions = range(PARTITIONS)
    consumer.assign([TopicPartition(run.topic, p, OFFSET_BEGINNING) for p in partitions])
    return consumer


def confluent_poll(run: Run) -> None:
    consumer = _confluent_consumer(run)
    poll, read, total = consumer.poll, 0, run.records
    while read < total:
        message = poll(10)
        message.value()
        if not read:
            run.first()
        read += 1
    run.done(read)
    consumer.close()


def confluent_consume(run: Run) -> None:
    consumer = _confluent_consumer(run)
    while not (messages := consumer.consume(1, 10)):
        pass
    read, total = run.first(len(messages)), run.records
    while read < total:
        # It waits for as many records as it is asked for: ask for no more than are left.
        messages = consumer.consume(min(BATCH, total - read), 10)
        for message in messages:
            message.value()
        read += len(messages)
    run.done(read)
    consumer.close()


async def _aiokafka_consumer(run: Run) -> Any:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=run.bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([TopicPartition(run.topic, p) for p in range(PARTITIONS)])
    await consumer.seek_to_beginning()
    return consumer


async def aiokafka_async_for(run: Run) -> None:
    consumer = await _aiokafka_consumer(run)
    await _async_iterate(run, consumer)
    await consumer.stop()


async def aiokafka_getmany(run: Run) -> None:
    consumer = await _aiokafka_consumer(run)
    await consumer.getone()
    read, total = run.first(), run.records
    while read < total:
        for records in (await consumer.getmany(timeout_ms=10_000, max_records=5_000)).values():
            for record in records:
                record.value
            read += len(records)
    run.done(read)
    await consumer.stop()


def kafka_python_iterate(run: Run) -> None:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=run.bootstrap, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(run.topic, p) for p in range(PARTITIONS)])
    consumer.seek_to_beginning()
    _iterate(run, consumer)
    consumer.close()


CASES = {
    "pyk poll": pyk_poll,
    "pyk iterate": pyk_iterate,
    "pyk batches": pyk_batches,
    "pyk columns": pyk_columns,
    "pyk async for": pyk_async_for,
    "confluent poll": confluent_poll,
    "confluent consume": confluent_consume,
    "aiokafka async for": aiokafka_async_for,
    "aiokafka getmany": aiokafka_getmany,
    "kafka-python iterate": kafka_python_iterate,
    **share.CASES,
}


def main() -> None:
    options = arguments(__doc__ or "", list(CASES))
    result = CASES[options.case](Run(options))
    if result is not None:
        asyncio.run(result)


if __name__ == "__main__":
    main()
