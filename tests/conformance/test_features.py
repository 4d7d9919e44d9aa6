"""UpdateFeatures answers, and writes into the metadata log, what Apache Kafka 4.3.1 does.

``feature_traces.json`` has updates, for clusters that were formatted for several releases, and the
answers that it once gave.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.feature_steps import carry_out, feature_records
from support.new_brokers import KINDS, new_broker_of
from support.raw_client import RawClient

TRACES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("feature_traces.json").read_text()
)


def levels_at_first(trace: dict[str, Any]) -> dict[str, int]:
    """Return the features that a cluster was formatted for: the first step changes nothing."""
    name, levels = "metadata.version", trace["steps"][0]["answer"][-1]
    return {name: levels[name]} | levels


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace["release"])
@pytest.mark.parametrize("kind", KINDS)
async def test_answers_levels_and_records_are_those_of_kafka(
    kind: str, trace: dict[str, Any], tmp_path: Path
) -> None:
    with new_broker_of(kind, tmp_path, trace["release"], levels_at_first(trace)) as broker:
        async with RawClient(broker.bootstrap) as client:
            answers = [
                [step["updates"], step["version"], *await carry_out(client, step)]
                for step in trace["steps"]
            ]
        records = feature_records(broker.data_folder())

    assert answers == [
        [step["updates"], step["version"], *step["answer"]] for step in trace["steps"]
    ]
    assert records == trace["records"]
