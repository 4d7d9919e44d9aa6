"""Send records at a steady rate in one process, and read them in another as they come.

Linger is 0. A value begins with the time at which the producer got its record; both processes read
the same monotonic clock. Every client keeps up with the rate, ``RATE`` a second, so the result is
the latency and the cost of a record, without queues. Waiting for the time of a record has a cost
too: 25 µs for a thread that sleeps, 80 for an event loop. It is measured first, and subtracted from
the result. Each client has the settings of :mod:`benchmarks.latency.settings`.
"""

from __future__ import annotations

import argparse
import asyncio
import struct
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from benchmarks.latency import settings
from benchmarks.latency.samples import Samples
from benchmarks.latency.ticks import ticks

RATE = 1_000
WARM_UP = 200
READY = "READY"
CLOCK = struct.Struct(">q")
PADDING = b"x" * (100 - CLOCK.size)
SETTLING_SECONDS = 0.5
IDLE_TICKS = 500


class Run:
    """One side of one run: the topic, and the samples."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.case: str = options.case
        self.bootstrap: str = options.bootstrap
        self.topic: str = options.topic
        self.records: int = options.records
        self._samples = Samples()
        self._seen = 0

    # -- the side that sends -----------------------------------------------------------------------

    def first_values(self) -> Iterator[bytes]:
        """Return the values to send and to deliver before the measurement.

        A new client gets its producer id first, and holds back records until then: librdkafka for
        about half a second. Later records have no such delay.
        """
        return (_value() for _ in range(WARM_UP))

    def values(self) -> Iterator[bytes]:
        """Yield a value at each tick; sleep in between."""
        with self._samples.pacing(IDLE_TICKS):
            for _ in _paced(IDLE_TICKS):
                pass
        self._samples.start()
        for _ in _paced(self.records):
            yield _value()
        self._samples.report(self.case, self.records)

    async def async_values(self) -> AsyncIterator[bytes]:
        """The same on an event loop."""
        async with aclosing(ticks(1 / RATE)) as every_tick:
            with self._samples.pacing(IDLE_TICKS):
                for _ in range(IDLE_TICKS):
                    await anext(every_tick)
            self._samples.start()
            for _ in range(self.records):
                await anext(every_tick)
                yield _value()
        self._samples.report(self.case, self.records)

    # -- the side that reads -----------------------------------------------------------------------

    def is_ready(self) -> None:
        """Tell the parent process that records sent from now on will be read."""
        print(READY, flush=True)

    def arrived(self, value: Any) -> bool:
        """Note a record; return True for the last one."""
        (sent_at,) = CLOCK.unpack_from(value)
        self._seen += 1
        if self._seen == WARM_UP:
            self._samples.start()
        elif self._seen > WARM_UP:
            self._samples.microseconds.append((time.monotonic_ns() - sent_at) / 1_000)
        if self._seen < WARM_UP + self.records:
            return False
        self._samples.report(self.case, self.records)
        return True


def _paced(count: int) -> Iterator[None]:
    due = time.monotonic()
    for _ in range(count):
        time.sleep(max(0.0, due - time.monotonic()))
        yield
        due += 1 / RATE


def _value() -> bytes:
    return CLOCK.pack(time.monotonic_ns()) + PADDING


# -- producers -------------------------------------------------------------------------------------


def _produce(run: Run, producer: Any) -> None:
    for value in run.first_values():
        producer.send(run.topic, value)
    producer.flush()
    for value in run.values():
        producer.send(run.topic, value)
    producer.flush()


async def _async_produce(run: Run, producer: Any) -> None:
    for value in run.first_values():
        await producer.send(run.topic, value)
    await producer.flush()
    async for value in run.async_values():
        await producer.send(run.topic, value)
    await producer.flush()


def pyk_produce(run: Run) -> None:
    from pyk.clients import Producer

    with Producer[bytes, bytes](run.bootstrap, **settings.PYK_PRODUCER) as producer:
        _produce(run, producer)


async def pyk_async_produce(run: Run) -> None:
    from pyk.clients import AsyncProducer

    async with AsyncProducer[bytes, bytes](run.bootstrap, **settings.PYK_PRODUCER) as producer:
        await _async_produce(run, producer)


async def aiokafka_produce(run: Run) -> None:
    from aiokafka import AIOKafkaProducer

    producer = AIOKafkaProducer(bootstrap_servers=run.bootstrap, **settings.AIOKAFKA_PRODUCER)
    await producer.start()
    try:
        await _async_produce(run, producer)
    finally:
        await producer.stop()


def kafka_python_produce(run: Run) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=run.bootstrap, **settings.KAFKA_PYTHON_PRODUCER)
    _produce(run, producer)
    producer.close()


def confluent_produce(run: Run) -> None:
    from confluent_kafka import Producer

    producer: Any = Producer({"bootstrap.servers": run.bootstrap, **settings.CONFLUENT_PRODUCER})
    for value in run.first_values():
        producer.produce(run.topic, value)
    producer.flush()
    for value in run.values():
        producer.produce(run.topic, value)
        producer.poll(0)
    producer.flush()


# -- consumers -------------------------------------------------------------------------------------


def _consume(run: Run, consumer: Any, partition: Any) -> None:
    consumer.assign([partition])
    consumer.position(partition)
    run.is_ready()
    for record in consumer:
        if run.arrived(record.value):
            break


async def _async_consume(run: Run, consumer: Any, partition: Any) -> None:
    consumer.assign([partition])
    await consumer.position(partition)
    run.is_ready()
    async for record in consumer:
        if run.arrived(record.value):
            break


def pyk_consume(run: Run) -> None:
    from pyk.clients import Consumer, TopicPartition

    with Consumer[bytes, bytes](run.bootstrap, **settings.PYK_CONSUMER) as consumer:
        _consume(run, consumer, TopicPartition(run.topic, 0))


async def pyk_async_consume(run: Run) -> None:
    from pyk.clients import AsyncConsumer, TopicPartition

    async with AsyncConsumer[bytes, bytes](run.bootstrap, **settings.PYK_CONSUMER) as consumer:
        await _async_consume(run, consumer, TopicPartition(run.topic, 0))


async def aiokafka_consume(run: Run) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=run.bootstrap, **settings.AIOKAFKA_CONSUMER)
    await consumer.start()
    try:
        await _async_consume(run, consumer, TopicPartition(run.topic, 0))
    finally:
        await consumer.stop()


def kafka_python_consume(run: Run) -> None:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=run.bootstrap, **settings.KAFKA_PYTHON_CONSUMER)
    _consume(run, consumer, TopicPartition(run.topic, 0))
    consumer.close()


def confluent_consume(run: Run) -> None:
    from confluent_kafka import OFFSET_END, Consumer, TopicPartition

    consumer: Any = Consumer({"bootstrap.servers": run.bootstrap, **settings.CONFLUENT_CONSUMER})
    consumer.assign([TopicPartition(run.topic, 0, OFFSET_END)])
    # Nothing shows when its first fetch is in flight.
    consumer.poll(SETTLING_SECONDS)
    consumer.poll(SETTLING_SECONDS)
    run.is_ready()
    while True:
        message = consumer.poll(10)
        if message is not None and run.arrived(message.value()):
            break
    consumer.close()


CASES = {
    "pyk": (pyk_produce, pyk_consume),
    "pyk async": (pyk_async_produce, pyk_async_consume),
    "aiokafka": (aiokafka_produce, aiokafka_consume),
    "kafka-python": (kafka_python_produce, kafka_python_consume),
    "confluent": (confluent_produce, confluent_consume),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=("produce", "consume"))
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--records", type=int, default=2_000)
    options = parser.parse_args()
    produce, consume = CASES[options.case]
    result = (produce if options.side == "produce" else consume)(Run(options))
    if result is not None:
        asyncio.run(result)


if __name__ == "__main__":
    main()
