"""Write transactions one after the other: begin, send ``--batch`` records, commit.

A sample is the time from the call of begin to the return of commit, when all records are written
and the coordinator has decided. What a client leaves for later (the markers of the transaction
before, at its next begin) is part of the next sample.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.latency import settings
from benchmarks.latency.samples import Samples

VALUE = b"x" * 100
WARM_UP = 50
TIMEOUT_SECONDS = 30.0


class Run:
    """One run of one case: the topic, the records of a transaction, and the samples."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.case: str = options.case
        self.bootstrap: str = options.bootstrap
        self.topic: str = options.topic
        self.batch = range(options.batch)
        self._transactions: int = options.records
        self._samples = Samples()

    @contextmanager
    def measured(self) -> Iterator[range]:
        """Yield the numbers of the transactions, and report when they are committed."""
        self._samples.start()
        yield range(self._transactions)
        self._samples.report(self.case, self._transactions)

    def took(self, since: float) -> None:
        self._samples.microseconds.append((time.perf_counter() - since) * 1e6)


def pyk_transaction(run: Run) -> None:
    from pyk.clients import Producer

    with Producer[bytes, bytes](
        run.bootstrap, transactional_id=run.topic, **settings.PYK_PRODUCER
    ) as producer:

        def transaction() -> None:
            producer.begin_transaction()
            for _ in run.batch:
                producer.send(run.topic, VALUE)
            producer.commit_transaction()

        _measure(run, transaction)


async def pyk_async_transaction(run: Run) -> None:
    from pyk.clients import AsyncProducer

    async with AsyncProducer[bytes, bytes](
        run.bootstrap, transactional_id=run.topic, **settings.PYK_PRODUCER
    ) as producer:
        await _async_measure(run, producer)


def confluent_transaction(run: Run) -> None:
    from confluent_kafka import Producer

    config = {**settings.CONFLUENT_PRODUCER, "transactional.id": run.topic}
    producer: Any = Producer({"bootstrap.servers": run.bootstrap, **config})
    producer.init_transactions(TIMEOUT_SECONDS)

    def transaction() -> None:
        producer.begin_transaction()
        for _ in run.batch:
            producer.produce(run.topic, VALUE)
        producer.commit_transaction(TIMEOUT_SECONDS)

    _measure(run, transaction)


async def aiokafka_transaction(run: Run) -> None:
    from aiokafka import AIOKafkaProducer

    producer = AIOKafkaProducer(
        bootstrap_servers=run.bootstrap, transactional_id=run.topic, **settings.AIOKAFKA_PRODUCER
    )
    await producer.start()
    try:
        await _async_measure(run, producer)
    finally:
        await producer.stop()


def _measure(run: Run, transaction: Any) -> None:
    for _ in range(WARM_UP):
        transaction()
    with run.measured() as numbers:
        for _ in numbers:
            began = time.perf_counter()
            transaction()
            run.took(began)


async def _async_measure(run: Run, producer: Any) -> None:
    async def transaction() -> None:
        await producer.begin_transaction()
        for _ in run.batch:
            await producer.send(run.topic, VALUE)
        await producer.commit_transaction()

    for _ in range(WARM_UP):
        await transaction()
    with run.measured() as numbers:
        for _ in numbers:
            began = time.perf_counter()
            await transaction()
            run.took(began)


CASES = {
    "pyk": pyk_transaction,
    "pyk async": pyk_async_transaction,
    "aiokafka": aiokafka_transaction,
    "confluent": confluent_transaction,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--records", type=int, default=300, help="how many transactions")
    parser.add_argument("--batch", type=int, default=1, help="records of a transaction")
    options = parser.parse_args()
    result = CASES[options.case](Run(options))
    if result is not None:
        asyncio.run(result)


if __name__ == "__main__":
    main()
