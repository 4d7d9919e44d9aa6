"""The end of a run: wait until the clients have done all there is to do, and read everything."""

from __future__ import annotations

import asyncio
import time

from pyk.clients import AsyncConsumer, TopicPartition
from pykcheck import Recorder
from support.recorded_clients import RecordedConsumer
from support.recorded_groups import GROUP, PARTITIONS
from support.recorded_transactions import PARTITIONS as CHAIN_PARTITIONS

SECONDS_TO_CATCH_UP = 400
SECONDS_WITHOUT_PROGRESS = 40
"""More than a request between brokers waits for its response (30 s) holds back transactions."""


def _consumer(
    recorder: Recorder,
    bootstrap: str,
    name: str,
    group: str | None = None,
    isolation: str = "read_uncommitted",
) -> RecordedConsumer:
    consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
        bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        isolation_level=isolation,
        enable_auto_commit=False,
    )
    return RecordedConsumer(recorder, name, consumer, isolation=isolation, group=group)


async def catch_up(recorder: Recorder, bootstrap: str) -> None:
    """Wait until the group has committed all that there is, and the stages write nothing more."""
    observer = _consumer(recorder, bootstrap, "observer", GROUP)
    stable_reader = _consumer(recorder, bootstrap, "reader", None, "read_committed")
    deadline = time.monotonic() + SECONDS_TO_CATCH_UP
    seen: dict[TopicPartition, int] = {}
    async with observer.consumer, stable_reader.consumer:
        while time.monotonic() < deadline:
            committed = await observer.read_offsets(PARTITIONS)
            ends = await observer.consumer.end_offsets(PARTITIONS)
            has_read = all(committed.get(each, 0) == end for each, end in ends.items())
            written = await observer.consumer.end_offsets(CHAIN_PARTITIONS)
            stable = await stable_reader.consumer.end_offsets(CHAIN_PARTITIONS)
            if has_read and written == stable == seen:
                return
            seen = written
            await asyncio.sleep(SECONDS_WITHOUT_PROGRESS)
    raise AssertionError(f"not caught up: {committed} of {ends}, stable {stable} of {written}")


async def read_everything(recorder: Recorder, bootstrap: str) -> None:
    """Read all partitions from their beginning to their end, in both isolation levels."""
    for isolation, partitions in (
        ("read_uncommitted", [*PARTITIONS, *CHAIN_PARTITIONS]),
        ("read_committed", CHAIN_PARTITIONS),
    ):
        auditor = _consumer(recorder, bootstrap, f"auditor of {isolation}", None, isolation)
        async with auditor.consumer:
            await auditor.read_to_the_end(partitions)
