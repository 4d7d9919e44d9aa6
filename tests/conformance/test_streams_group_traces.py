"""Members of a streams group get the answers that Apache Kafka 4.3.1 once gave.

``support.streams_traces`` has drawn the requests at random and written down the answers.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from support import streams_traces
from support.brokers import Kafka

TRACES: list[list[Any]] = json.loads(streams_traces.FILE.read_text("utf-8"))


@pytest.mark.parametrize("number", range(len(TRACES)))
async def test_answers_are_those_of_kafka(kafka: Kafka, number: int) -> None:
    standbys, trace = TRACES[number]

    found = await streams_traces.answers(kafka, standbys, [step for step, _ in trace])

    assert found == [answer for _, answer in trace]
