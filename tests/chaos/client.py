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
from support.recorded_clients import RecordedConsumer, RecordedProducer
from support.recorded_groups import GROUP, TOPICS, read_and_commit, send_values

OPERATIONS_PER_CLIENT = 10_000_000
"""How far apart the numbers of operations of two clients begin."""


@attrs.frozen
class Job:
    """What a client does: its role, its name, where the cluster is, and where its history goes."""

    role: str
    name: str
    bootstrap: str
    file: str
    number: int = attrs.field(converter=int)

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
    random = Random(job.number)
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
    random = Random(job.number)
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


ROLES = {"producer": produce, "member": read}


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
