"""Members of consumer groups and of a share group: they join, handle records, and leave.

Each leaves after a while, and another takes its slot. They write notes, not a history.
"""

from __future__ import annotations

import asyncio
import time
from random import Random
from typing import Any

from pyk.clients import AcknowledgeType, RetryPolicy, TopicPartition
from pyk.clients.errors import KafkaError
from pykcheck import Recorder
from support.recorded_groups import TOPICS

from .job import Job
from .notes import MemberNotes, ShareNotes

PROTOCOLS = {"classic": "classic", "modern": "consumer"}
"""The protocol that the members of a group speak, by role, which is the group's name, too."""
SHARE_GROUP = "sharers"
SECONDS_TO_STAY = (10.0, 90.0)
RETRY = RetryPolicy(attempts=10, backoff=0.05)
# Classic members have these as options, the groups of the other protocols as configurations.
CLASSIC = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000}


class HandlerError(Exception):
    """A handler fails as those of applications do."""


def _leave_later(random: Random, is_over: asyncio.Event) -> None:
    asyncio.get_running_loop().call_later(random.uniform(*SECONDS_TO_STAY), is_over.set)


async def handle_in_group(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Handle records as a member of a group, with handlers or in a loop that polls."""
    random = job.random
    notes = MemberNotes(recorder, job.name, job.role)
    protocol = PROTOCOLS[job.role]
    consumer: Any = job.group_consumer(
        group_id=job.role,
        group_protocol=protocol,
        max_poll_records=random.choice((1, 10, 500)),
        **(CLASSIC if protocol == "classic" else {}),
    )
    _leave_later(random, is_over)
    notes.joins()
    async with consumer:
        consumer.subscribe(list(TOPICS), listener=notes)
        if random.random() < 0.5:
            await _process(consumer, _handler(job, notes, random), is_over, **_order(random))
        else:
            while not is_over.is_set():
                await _poll_and_commit(consumer, notes, random)
    notes.left()


def _order(random: Random) -> dict[str, str]:
    return {"ordering": random.choice(("partition", "key", "none"))}


def _handler(job: Job, notes: MemberNotes, random: Random) -> Any:
    """Return a handler that takes its time and sometimes fails: a function or a coroutine's."""

    def finish(record: Any) -> None:
        if random.random() < 0.01:
            raise HandlerError
        notes.handled(record)

    def handle(record: Any) -> None:
        time.sleep(random.uniform(0.0, 0.01))
        finish(record)

    async def handle_in_task(record: Any) -> None:
        await asyncio.sleep(random.uniform(0.0, 0.01))
        finish(record)

    return handle if job.is_blocking else handle_in_task


async def _process(consumer: Any, handler: Any, is_over: asyncio.Event, **options: Any) -> None:
    """Run ``process()`` until the member leaves."""
    running = asyncio.ensure_future(consumer.process(handler, retry=RETRY, **options))
    leaving = asyncio.create_task(is_over.wait())
    await asyncio.wait({running, leaving}, return_when="FIRST_COMPLETED")
    leaving.cancel()
    consumer.wakeup()
    await running


async def _poll_and_commit(consumer: Any, notes: MemberNotes, random: Random) -> None:
    """Handle the records of one poll, and mostly commit."""
    try:
        offsets: dict[TopicPartition, int] = {}
        for record in await consumer.poll(1.0):
            notes.handled(record)
            offsets[TopicPartition(record.topic, record.partition)] = record.offset + 1
        if offsets and random.random() < 0.7:
            await consumer.commit(offsets)
    except KafkaError:
        await asyncio.sleep(0.5)


# -- share groups ----------------------------------------------------------------------------------


def kind_for(value: str) -> AcknowledgeType:
    """Return what becomes of a value wherever its member can choose: few are poison."""
    match int(value.rpartition("-")[2]) % 40:
        case 7:
            return AcknowledgeType.RELEASE
        case 8:
            return AcknowledgeType.REJECT
    return AcknowledgeType.ACCEPT


async def share(job: Job, recorder: Recorder, is_over: asyncio.Event) -> None:
    """Take records of a share group: all accepted, each acknowledged, or with handlers."""
    random = job.random
    notes = ShareNotes(recorder, job.name)
    way = random.choice(("implicit", "explicit", "handlers"))
    consumer: Any = job.share_consumer(
        topics=list(TOPICS),
        group_id=SHARE_GROUP,
        share_acknowledgement_mode="explicit" if way == "explicit" else "implicit",
        max_poll_records=random.choice((1, 20, 500)),
    )
    consumer.set_acknowledgement_commit_callback(notes.acknowledged)
    _leave_later(random, is_over)
    notes.joins()
    async with consumer:
        if way == "handlers":
            await _process_shared(job, consumer, notes, is_over)
        else:
            while not is_over.is_set():
                await _poll_shared(consumer, notes, random, is_explicit=way == "explicit")
    notes.left()


async def _poll_shared(
    consumer: Any, notes: ShareNotes, random: Random, *, is_explicit: bool
) -> None:
    """Acknowledge the records of one poll; the next one sends that, or a commit."""
    try:
        for record in await consumer.poll(1.0):
            kind = kind_for(record.value.decode()) if is_explicit else AcknowledgeType.ACCEPT
            if is_explicit and kind is AcknowledgeType.ACCEPT and random.random() < 0.02:
                kind = AcknowledgeType.RELEASE
            notes.delivered(record, kind)
            if is_explicit:
                consumer.acknowledge(record, kind)
        if random.random() < 0.5:
            await consumer.commit()
    except KafkaError:
        await asyncio.sleep(0.5)


async def _process_shared(
    job: Job, consumer: Any, notes: ShareNotes, is_over: asyncio.Event
) -> None:
    """Handle records side by side: what fails is released."""

    def finish(record: Any) -> None:
        kind = kind_for(record.value.decode())
        if kind is not AcknowledgeType.ACCEPT:
            notes.delivered(record, AcknowledgeType.RELEASE)
            raise HandlerError
        notes.delivered(record, kind)

    async def finish_in_task(record: Any) -> None:
        await asyncio.sleep(0.0)
        finish(record)

    handler = finish if job.is_blocking else finish_in_task
    running = asyncio.ensure_future(consumer.process(handler))
    leaving = asyncio.create_task(is_over.wait())
    await asyncio.wait({running, leaving}, return_when="FIRST_COMPLETED")
    leaving.cancel()
    consumer.wakeup()
    await running


GROUP_ROLES = {"classic": handle_in_group, "modern": handle_in_group, "sharer": share}
