"""What clients do, by role, until they are told to end."""

from __future__ import annotations

import asyncio
import os
import signal
from itertools import count

from pykcheck import Recorder
from support.recorded_clients import RecordedProducer
from support.recorded_decisions import carry_out, prepare_until_over
from support.recorded_groups import GROUP, TOPICS, read_and_commit, send_values
from support.recorded_transactions import PARTITIONS as CHAIN_PARTITIONS
from support.recorded_transactions import (
    SECONDS_AFTER_ERROR,
    append_in_block,
    append_some,
    transform_in_block,
    transform_some,
)
from support.recorded_transactions import TOPICS as STAGES
from support.recorded_two_phases import keep_until_over

from .group_roles import GROUP_ROLES
from .job import Job


async def produce(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Send values outside of transactions."""
    random = job.random
    producer = job.producer(linger_ms=random.choice((0, 20)))
    async with producer:
        recorded = RecordedProducer(recorder, job.name, producer)
        for number in count():
            if is_over.is_set():
                return
            await send_values(recorded, random, [number], longest_pause=0.1)


async def read(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Read and commit what producers send, as a member of a group."""
    random = job.random
    member = job.consumer(
        recorder,
        isolation="read_uncommitted",
        group=GROUP,
        max_poll_records=random.choice((1, 10, 500)),
    )
    async with member.consumer:
        member.subscribe(TOPICS)
        while not is_over.is_set():
            await read_and_commit(member, random)


async def append(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Append to the first stage, and read all stages, in transactions."""
    random = job.random
    write = random.choice((append_some, append_in_block))
    producer = job.transactional_producer(recorder)
    reader = job.consumer(recorder, isolation="read_committed", group=None, max_poll_records=20)
    async with reader.consumer:
        reader.assign(CHAIN_PARTITIONS)
        if await producer.start():
            while not is_over.is_set() and not producer.is_over:
                await write(producer, reader, random)
                await asyncio.sleep(random.uniform(0.0, 0.2))
        await producer.close()


async def transform(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Transform the records of one stage, in transactions."""
    random = job.random
    work = random.choice((transform_some, transform_in_block))
    stage = int(job.slot[len("stage")])
    producer = job.transactional_producer(recorder)
    consumer = job.consumer(
        recorder, isolation="read_committed", group=f"group{stage}", max_poll_records=20
    )
    async with consumer.consumer:
        if await producer.start():
            consumer.subscribe([STAGES[stage]])
            while not is_over.is_set() and not producer.is_over:
                await work(producer, consumer, STAGES[stage + 1], random)
        await producer.close()


async def prepare(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Prepare transactions; complete some, leave some to others, and die of some."""
    random, numbers = job.random, count()
    decisions = job.decisions
    async with job.producer() as completer:
        while left := decisions.get(job.slot):  # by the process before this one
            await carry_out(recorder, job.name, completer, decisions, left)
    while not is_over.is_set():
        producer = job.transactional_producer(recorder, numbers)
        if not await producer.start():
            await asyncio.sleep(SECONDS_AFTER_ERROR)
        elif not await prepare_until_over(
            recorder, producer, decisions, random, lambda: not is_over.is_set()
        ):
            recorder.invoke(job.name, "crash")
            os.kill(os.getpid(), signal.SIGKILL)
        await producer.close()


async def keep(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Prepare transactions, complete what the process before has prepared, and die of some."""
    numbers = count()

    async def die(_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    await keep_until_over(
        recorder,
        lambda: job.transactional_producer(recorder, numbers, is_two_phase=True),
        job.decisions,
        job.random,
        lambda: not is_over.is_set(),
        die,
    )


async def complete(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Complete what other processes have prepared."""
    decisions = job.decisions
    async with job.producer() as producer:
        while not is_over.is_set():
            for decision in decisions.for_others():
                await carry_out(recorder, job.name, producer, decisions, decision)
            await asyncio.sleep(0.2)


ROLES = {
    "producer": produce,
    "member": read,
    "writer": append,
    "stage": transform,
    "preparer": prepare,
    "keeper": keep,
    "completer": complete,
    **GROUP_ROLES,
}
