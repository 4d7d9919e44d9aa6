"""UpdateFeatures answers, and writes into the metadata log, what Apache Kafka 4.3.1 does.

``feature_traces.json`` has updates and the answers that it once gave.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.feature_steps import carry_out, feature_records
from support.new_brokers import NewBroker
from support.raw_client import RawClient

TRACES: dict[str, Any] = json.loads(Path(__file__).with_name("feature_traces.json").read_text())


async def test_answers_levels_and_records_are_those_of_kafka(new_broker: NewBroker) -> None:
    async with RawClient(new_broker.bootstrap) as client:
        answers = [
            [step["updates"], step["version"], *await carry_out(client, step)]
            for step in TRACES["steps"]
        ]

    expected = [[step["updates"], step["version"], *step["answer"]] for step in TRACES["steps"]]
    assert answers == expected
    assert feature_records(new_broker.data_folder()) == TRACES["records"]
