"""One client in a process of its own, which may be killed: ``python -m chaos.client …``.

The arguments are those of :class:`Job`. SIGTERM ends it cleanly.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from itertools import count
from pathlib import Path
from random import Random

import attrs

from pyk.clients import AsyncConsumer, AsyncProducer
from pykcheck import Recorder
from support.recorded_chains import PARTITIONS as CHAIN_PARTITIONS
from support.recorded_chains import TOPICS as STAGES
from support.recorded_chains import (
    TRANSACTION_TIMEOUT,
    TransactionalProducer,
    append_some,
    transform_some,
)
from support.recorded_clients import RecordedConsumer, RecordedProducer
from support.recorded_groups import GROUP, TOPICS, read_and_commit, send_values

OPERATIONS_PER_CLIENT = 10_000_000
"""How far apart the numbers of operations of two clients begin."""


@attrs.frozen
class Job:
    """What a client does: its role, its name, where the cluster is, and where its history goes.

    A ``slot`` has one client at a time, and one transactional id: ``stage1-0`` is the first of the
    clients that transform what is in the topic ``stage1``.
    """

    role: str
    slot: str
    name: str
    bootstrap: str
    file: str
    number: int = attrs.field(converter=int)
    seed: int = attrs.field(converter=int)

    @property
    def random(self) -> Random:
        return Random(f"{self.seed} {self.number}")

    @property
    def command(self) -> list[str]:
        arguments = [str(value) for value in attrs.astuple(self)]
        return [sys.executable, "-m", "chaos.client", *arguments]


async def run(job: Job, recorder: Recorder) -> None:
    """Work until SIGTERM."""
    is_over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, is_over.set)
    await ROLES[job.role](job, recorder, is_over)


async def produce(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    random = job.random
    producer: AsyncProducer[bytes, bytes] = AsyncProducer(
        job.bootstrap, client_id=job.name, linger_ms=random.choice((0, 20))
    )
    async with producer:
        recorded = RecordedProducer(recorder, job.name, producer)
        for number in count():
            if is_over.is_set():
                return
            await send_values(recorded, random, [number], longest_pause=0.1)


async def read(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    random = job.random
    consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
        job.bootstrap,
        client_id=job.name,
        group_id=GROUP,
        auto_offset_reset="earliest",
        isolation_level="read_uncommitted",
        enable_auto_commit=False,
        session_timeout_ms=6_000,
        heartbeat_interval_ms=1_000,
        max_poll_records=random.choice((1, 10, 500)),
    )
    async with consumer:
        member = RecordedConsumer(
            recorder, job.name, consumer, isolation="read_uncommitted", group=GROUP
        )
        member.subscribe(TOPICS)
        while not is_over.is_set():
            await read_and_commit(member, random)


def transactional_producer(
    job: Job, recorder: Recorder, transactional_id: str
) -> TransactionalProducer:
    producer: AsyncProducer[bytes, bytes] = AsyncProducer(
        job.bootstrap,
        client_id=job.name,
        transactional_id=transactional_id,
        transaction_timeout_ms=round(TRANSACTION_TIMEOUT * 1000),
    )
    return TransactionalProducer(recorder, job.name, producer, transactional_id)


def committed_reader(job: Job, recorder: Recorder, group: str | None) -> RecordedConsumer:
    consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
        job.bootstrap,
        client_id=job.name,
        group_id=group,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_auto_commit=False,
        session_timeout_ms=6_000,
        heartbeat_interval_ms=1_000,
        max_poll_records=20,
    )
    return RecordedConsumer(recorder, job.name, consumer, isolation="read_committed", group=group)


async def append(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Append to the first stage, and read all stages, in transactions."""
    random = job.random
    producer = transactional_producer(job, recorder, job.slot)
    reader = committed_reader(job, recorder, None)
    async with reader.consumer:
        reader.assign(CHAIN_PARTITIONS)
        if await producer.start():
            while not is_over.is_set() and not producer.is_over:
                await append_some(producer, reader, random)
                await asyncio.sleep(random.uniform(0.0, 0.2))
        await producer.close()


async def transform(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Transform the records of one stage, in transactions."""
    random = job.random
    stage = int(job.slot[len("stage")])
    producer = transactional_producer(job, recorder, job.slot)
    consumer = committed_reader(job, recorder, f"group{stage}")
    async with consumer.consumer:
        if await producer.start():
            consumer.subscribe([STAGES[stage]])
            while not is_over.is_set() and not producer.is_over:
                await transform_some(producer, consumer, STAGES[stage + 1], random)
        await producer.close()


ROLES = {"producer": produce, "member": read, "writer": append, "stage": transform}


def main(arguments: list[str]) -> None:
    job = Job(*arguments)
    with Path(job.file).open("a", encoding="utf-8") as file:
        # Of all processes of a machine, the monotonic clocks are one.
        recorder = Recorder(
            time.monotonic, file=file, first_operation=job.number * OPERATIONS_PER_CLIENT
        )
        asyncio.run(run(job, recorder))


if __name__ == "__main__":
    main(sys.argv[1:])
