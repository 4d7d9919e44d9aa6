"""What clients do, by role, until they are told to end."""

from __future__ import annotations

import asyncio
import os
import signal
from itertools import count
from random import Random

from pyk.clients import AsyncProducer
from pykcheck import Recorder
from support.recorded_clients import RecordedProducer
from support.recorded_decisions import Decision, Decisions, carry_out, prepare_some
from support.recorded_groups import GROUP, TOPICS, read_and_commit, send_values
from support.recorded_transactions import PARTITIONS as CHAIN_PARTITIONS
from support.recorded_transactions import TOPICS as STAGES
from support.recorded_transactions import (
    TransactionalProducer,
    append_in_block,
    append_some,
    transform_in_block,
    transform_some,
)

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
    random = job.random
    decisions = Decisions(job.decisions)
    async with job.producer() as completer:
        while left := decisions.get(job.slot):  # by the process before this one
            await carry_out(recorder, job.name, completer, decisions, left)
    numbers = count()
    while not is_over.is_set():
        producer = job.transactional_producer(recorder, numbers)
        if await producer.start():
            await _prepare_until_replaced(job, recorder, producer, decisions, random, is_over)
        await producer.close()


async def _prepare_until_replaced(
    job: Job,
    recorder: Recorder,
    producer: TransactionalProducer,
    decisions: Decisions,
    random: Random,
    is_over: asyncio.Event,
) -> None:
    while not is_over.is_set() and not producer.is_over:
        for_others = random.random() < 0.4
        decision = await prepare_some(producer, decisions, random, for_others=for_others)
        if decision is None:
            continue
        if random.random() < 0.1:
            recorder.invoke(job.name, "crash")
            os.kill(os.getpid(), signal.SIGKILL)
        if for_others:
            while decisions.get(job.slot) == decision:
                await asyncio.sleep(0.2)
            return  # with transactions of version 1, only a new epoch keeps others out
        await _complete(job, recorder, producer.producer, decisions, decision)
        await asyncio.sleep(random.uniform(0.0, 0.5))


async def complete(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Complete what other processes have prepared."""
    decisions = Decisions(job.decisions)
    async with job.producer() as producer:
        while not is_over.is_set():
            for decision in decisions.for_others():
                await carry_out(recorder, job.name, producer, decisions, decision)
            await asyncio.sleep(0.2)


async def _complete(
    job: Job,
    recorder: Recorder,
    producer: AsyncProducer[bytes, bytes],
    decisions: Decisions,
    decision: Decision,
) -> None:
    while not await carry_out(recorder, job.name, producer, decisions, decision):
        pass


ROLES = {
    "producer": produce,
    "member": read,
    "writer": append,
    "stage": transform,
    "preparer": prepare,
    "completer": complete,
}
