"""Produce records with one client, and print its cost.

Every client has the same settings: linger 5 ms, batches of 512 KiB, acks=all with idempotence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

from benchmarks.clients.meter import Meter, arguments, values
from benchmarks.clients.tls import confluent_tls, pyk_tls

LINGER_MS = 5
BATCH_BYTES = 512 * 1024
MEMORY_BYTES = 64 * 1024 * 1024
WARM_UP = 1_000


class Run:
    """One run of one case: the records, the topic, and the meter."""

    def __init__(self, options: Any) -> None:
        self.case: str = options.case
        self.bootstrap: str = options.bootstrap
        self.topic: str = options.topic
        self.records: int = options.records
        self.compression: str = options.compression
        self.cafile: str | None = options.cafile
        self._values = values(options.value_bytes)
        self._meter = Meter()

    def warm_up(self) -> Iterator[bytes]:
        return islice(cycle(self._values), WARM_UP)

    def measured(self) -> Iterator[bytes]:
        self._meter.start()
        return islice(cycle(self._values), self.records)

    def done(self) -> None:
        self._meter.report(self.case, self.records)


def pyk_config(run: Run) -> dict[str, Any]:
    return {
        "linger_ms": LINGER_MS,
        "batch_size": BATCH_BYTES,
        "buffer_memory": MEMORY_BYTES,
        "compression_type": run.compression,
        **pyk_tls(run.cafile),
    }


def _send(run: Run, producer: Any) -> None:
    """Send all records with ``send(topic, value)`` and flush."""
    send, topic = producer.send, run.topic
    for value in run.warm_up():
        send(topic, value)
    producer.flush()
    for value in run.measured():
        send(topic, value)
    producer.flush()
    run.done()


def pyk_send(run: Run) -> None:
    from pyk.clients import Producer

    with Producer(run.bootstrap, **pyk_config(run)) as producer:
        _send(run, producer)


def pyk_send_in_transaction(run: Run) -> None:
    from pyk.clients import Producer

    with (
        Producer(run.bootstrap, transactional_id=run.topic, **pyk_config(run)) as producer,
        producer.transaction(),
    ):
        _send(run, producer)


def pyk_send_callback(run: Run) -> None:
    from pyk.clients import Producer

    delivered = 0

    def count(delivery: object) -> None:
        nonlocal delivered
        delivered += 1

    with Producer(run.bootstrap, **pyk_config(run)) as producer:
        send, topic = producer.send, run.topic
        for value in run.warm_up():
            send(topic, value).add_done_callback(count)
        producer.flush()
        for value in run.measured():
            send(topic, value).add_done_callback(count)
        producer.flush()
        run.done()
    assert delivered == run.records + WARM_UP


def pyk_send_batch(run: Run) -> None:
    from pyk.clients import Producer

    with Producer(run.bootstrap, **pyk_config(run)) as producer:
        producer.send_batch(run.topic, list(run.warm_up()))
        producer.flush()
        source = run.measured()
        while batch := list(islice(source, 1_000)):
            producer.send_batch(run.topic, batch)
        producer.flush()
        run.done()


async def pyk_async_send(run: Run) -> None:
    from pyk.clients import AsyncProducer

    async with AsyncProducer(run.bootstrap, **pyk_config(run)) as producer:
        send, topic = producer.send, run.topic
        for value in run.warm_up():
            await send(topic, value)
        await producer.flush()
        for value in run.measured():
            await send(topic, value)
        await producer.flush()
        run.done()


def _confluent_producer(run: Run) -> Any:
    from confluent_kafka import Producer

    return Producer(
        {
            "bootstrap.servers": run.bootstrap,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH_BYTES,
            "batch.num.messages": 100_000,
            "queue.buffering.max.kbytes": MEMORY_BYTES // 1024,
            "queue.buffering.max.messages": 1_000_000,
            "compression.type": run.compression,
            "enable.idempotence": True,
            **confluent_tls(run.cafile),
        }
    )


def _confluent(run: Run, **options: Any) -> None:
    producer = _confluent_producer(run)
    produce, poll, topic = producer.produce, producer.poll, run.topic
    for value in run.warm_up():
        produce(topic, value, **options)
    producer.flush()
    for number, value in enumerate(run.measured()):
        while True:
            try:
                produce(topic, value, **options)
                break
            except BufferError:
                poll(0.01)
        if number % 1_000 == 0:
            poll(0)
    producer.flush()
    run.done()


def confluent_produce(run: Run) -> None:
    _confluent(run)


def confluent_produce_callback(run: Run) -> None:
    delivered = 0

    def count(error: object, message: object) -> None:
        nonlocal delivered
        delivered += 1

    _confluent(run, on_delivery=count)
    assert delivered == run.records + WARM_UP


async def aiokafka_send(run: Run) -> None:
    from aiokafka import AIOKafkaProducer

    producer = AIOKafkaProducer(
        bootstrap_servers=run.bootstrap,
        linger_ms=LINGER_MS,
        max_batch_size=BATCH_BYTES,
        compression_type=None if run.compression == "none" else run.compression,
        enable_idempotence=True,
    )
    await producer.start()
    try:
        send, topic = producer.send, run.topic
        for value in run.warm_up():
            await send(topic, value)
        await producer.flush()
        for value in run.measured():
            await send(topic, value)
        await producer.flush()
        run.done()
    finally:
        await producer.stop()


def kafka_python_send(run: Run) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=run.bootstrap,
        linger_ms=LINGER_MS,
        batch_size=BATCH_BYTES,
        compression_type=None if run.compression == "none" else run.compression,
        enable_idempotence=True,
        acks="all",
    )
    _send(run, producer)
    producer.close()


CASES = {
    "pyk send": pyk_send,
    "pyk send in a transaction": pyk_send_in_transaction,
    "pyk send+callback": pyk_send_callback,
    "pyk send_batch": pyk_send_batch,
    "pyk await send": pyk_async_send,
    "confluent produce": confluent_produce,
    "confluent produce+callback": confluent_produce_callback,
    "aiokafka await send": aiokafka_send,
    "kafka-python send": kafka_python_send,
}


def main() -> None:
    options = arguments(__doc__ or "", list(CASES))
    case = CASES[options.case]
    result = case(Run(options))
    if result is not None:
        asyncio.run(result)


if __name__ == "__main__":
    main()
