"""Produce records one at a time, each after the acknowledgement of the one before (acks=all).

With ``--busy`` a second Python thread computes all the time, as the work of an application does.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.latency import settings
from benchmarks.latency.samples import Samples

VALUE = b"x" * 100
WARM_UP = 100


class Run:
    """One run of one case: the topic, and the samples."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.case: str = options.case
        self.bootstrap: str = options.bootstrap
        self.topic: str = options.topic
        self.is_busy: bool = options.busy
        self._records: int = options.records
        self._samples = Samples()

    @contextmanager
    def measured(self) -> Iterator[range]:
        """Yield the numbers of the records to send, and report when they are sent."""
        with busy_thread() if self.is_busy else not_busy():
            self._samples.start()
            yield range(self._records)
            self._samples.report(self.case, self._records)

    def took(self, since: float) -> None:
        self._samples.microseconds.append((time.perf_counter() - since) * 1e6)


@contextmanager
def not_busy() -> Iterator[None]:
    yield


@contextmanager
def busy_thread() -> Iterator[None]:
    """Let a second thread compute all the time."""
    must_run = True

    def compute() -> None:
        number = 0
        while must_run:
            number = (number * 7919 + 1) % 10_007

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        yield
    finally:
        must_run = False
        thread.join()


def pyk_send_and_wait(run: Run) -> None:
    from pyk.clients import Producer

    with Producer[bytes, bytes](run.bootstrap, **settings.PYK_PRODUCER) as producer:
        for _ in range(WARM_UP):
            producer.send_and_wait(run.topic, VALUE)
        with run.measured() as numbers:
            for _ in numbers:
                began = time.perf_counter()
                producer.send_and_wait(run.topic, VALUE)
                run.took(began)


async def _async_send_and_wait(run: Run, producer: Any) -> None:
    for _ in range(WARM_UP):
        await producer.send_and_wait(run.topic, VALUE)
    with run.measured() as numbers:
        for _ in numbers:
            began = time.perf_counter()
            await producer.send_and_wait(run.topic, VALUE)
            run.took(began)


async def pyk_async_send_and_wait(run: Run) -> None:
    from pyk.clients import AsyncProducer

    async with AsyncProducer[bytes, bytes](run.bootstrap, **settings.PYK_PRODUCER) as producer:
        await _async_send_and_wait(run, producer)


def confluent_produce_flush(run: Run) -> None:
    from confluent_kafka import Producer

    producer: Any = Producer({"bootstrap.servers": run.bootstrap, **settings.CONFLUENT_PRODUCER})
    for _ in range(WARM_UP):
        producer.produce(run.topic, VALUE)
        producer.flush()
    with run.measured() as numbers:
        for _ in numbers:
            began = time.perf_counter()
            producer.produce(run.topic, VALUE)
            producer.flush()
            run.took(began)


async def aiokafka_send_and_wait(run: Run) -> None:
    from aiokafka import AIOKafkaProducer

    producer = AIOKafkaProducer(bootstrap_servers=run.bootstrap, **settings.AIOKAFKA_PRODUCER)
    await producer.start()
    try:
        await _async_send_and_wait(run, producer)
    finally:
        await producer.stop()


def kafka_python_send_and_get(run: Run) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=run.bootstrap, **settings.KAFKA_PYTHON_PRODUCER)
    for _ in range(WARM_UP):
        producer.send(run.topic, VALUE).get()
    with run.measured() as numbers:
        for _ in numbers:
            began = time.perf_counter()
            producer.send(run.topic, VALUE).get()
            run.took(began)
    producer.close()


CASES = {
    "pyk": pyk_send_and_wait,
    "pyk async": pyk_async_send_and_wait,
    "aiokafka": aiokafka_send_and_wait,
    "kafka-python": kafka_python_send_and_get,
    "confluent": confluent_produce_flush,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    result = CASES[options.case](Run(options))
    if result is not None:
        asyncio.run(result)


if __name__ == "__main__":
    main()
