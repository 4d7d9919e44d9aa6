"""Wait for records: until they are safe, or until they are those that a test expects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pyk.protocol.records import ConsumerRecord
from pyk.runtime.checked_arguments import checked_number

from .expectations import Expectation
from .partition import Partition
from .topic_contents import read_records

SECONDS_BETWEEN_LOOKS = 0.01


async def until_safe(partition: Partition, is_running: Callable[[], bool]) -> None:
    """Return when consumers may read all of a partition; raise if the broker fails before."""
    end_offset = partition.log_end_offset
    while partition.high_watermark < end_offset:
        if partition.failure is not None:
            raise partition.failure
        if not is_running():
            raise RuntimeError(f"the node ended before {partition.topic_partition} was safe")
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)


async def until_met(
    expectation: Expectation,
    partitions_now: Callable[[], Sequence[Partition]],
    timeout: float,
    *,
    exactly: bool,
) -> list[ConsumerRecord]:
    """Return the expected records once a topic has them; raise ``AssertionError`` if too late.

    The broker may end and start again meanwhile.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + checked_number(timeout, "timeout")
    seen: object = None
    while True:
        partitions = partitions_now()
        extent = [(each, each.log_start_offset, each.last_stable_offset) for each in partitions]
        if extent != seen:  # mostly nothing has changed
            seen = extent
            records = [each for part in partitions for each in read_records(part, committed=True)]
            comparison = expectation.compare(records, is_ordered=len(partitions) <= 1)
            if comparison.is_met(exactly=exactly):
                return comparison.matched
        if loop.time() >= deadline:
            raise AssertionError(
                expectation.failure(
                    comparison,
                    records,
                    exactly=exactly,
                    is_ordered=len(partitions) <= 1,
                    seconds=timeout,
                    exists=bool(partitions),
                )
            )
        await asyncio.sleep(min(SECONDS_BETWEEN_LOOKS, max(0, deadline - loop.time())))
