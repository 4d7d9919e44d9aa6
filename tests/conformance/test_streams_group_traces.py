"""Members of a streams group get the answers that Apache Kafka 4.3.1 once gave.

``support.streams_traces`` has drawn the requests at random and written down the answers.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from support import streams_traces
from support.brokers import Kafka, ReferenceBroker

# Where several members could get a task, Apache Kafka's answers differ between runs; by its source
# it goes by the hashes of ids, which are random here.
PLAYS = 10
TRACES: list[list[Any]] = json.loads(streams_traces.FILE.read_text("utf-8"))


@pytest.mark.parametrize("number", range(len(TRACES)))
async def test_answers_are_those_of_kafka(kafka: Kafka, number: int) -> None:
    standbys, trace = TRACES[number]
    steps, expected = [step for step, _ in trace], [answer for _, answer in trace]

    for _ in range(1 if isinstance(kafka, ReferenceBroker) else PLAYS):
        found = await streams_traces.answers(kafka, standbys, steps)
        if found == expected:
            break

    assert found == expected
