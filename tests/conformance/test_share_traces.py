"""Two members of a share group get the answers that Apache Kafka 4.3.1 once gave.

``share_traces.json`` has requests that were drawn at random, and the answers: records are acquired
in both modes, acknowledged in ranges of any kind, in part, twice, and by others than their owner.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.test_share_partitions import Partition, acquired, partition, told

__all__ = ["partition"]

TRACES: list[list[Any]] = json.loads(Path(__file__).with_name("share_traces.json").read_text())


async def answer_to(partition: Partition, step: list[Any]) -> list[Any]:
    """Send the request of a step, and return what is compared of the answer."""
    kind, member, epoch, *more = step
    if kind == "fetch":
        mode, max_records, batch_size = more
        response = await partition.fetch(
            epoch,
            member=member,
            max_wait_ms=0,
            share_acquire_mode=mode,
            max_records=max_records,
            batch_size=batch_size,
        )
        return [list(each) for each in acquired(response)]
    response = await partition.acknowledge(epoch, tuple(more), member=member)  # type: ignore[arg-type]
    ((code, message, _, _),) = told(response)
    return [int(code), message]


@pytest.mark.parametrize("number", range(len(TRACES)))
async def test_answers_are_those_of_kafka(partition: Partition, number: int) -> None:
    await partition.append(5)
    assert await partition.first("a") == [(0, 4, 1)]
    assert await partition.first("b") == []

    answers = []
    for step, _ in TRACES[number]:
        if step[0] == "append":
            await partition.append(step[1])
            answers.append(None)
        else:
            answers.append(await answer_to(partition, step))

    assert answers == [expected for _, expected in TRACES[number]]
