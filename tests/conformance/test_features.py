"""UpdateFeatures answers, and writes into the metadata log, what Apache Kafka 4.3.1 does.

``feature_traces.json`` has updates and the answers that it once gave.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafka
from support.feature_steps import carry_out, feature_records
from support.raw_client import RawClient

TRACES: dict[str, Any] = json.loads(Path(__file__).with_name("feature_traces.json").read_text())


class NewBroker(Protocol):
    """A broker that nothing was asked of yet."""

    bootstrap: str

    def data_folder(self) -> Path:
        """Return its data directory."""


class NewReferenceBroker:
    """pyk's own broker, on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cluster = Cluster(data_dir=folder)

    def __enter__(self) -> NewReferenceBroker:
        self._cluster.__enter__()
        self.bootstrap = self._cluster.bootstrap
        return self

    def __exit__(self, *exc: object) -> None:
        self._cluster.__exit__(None, None, None)

    def data_folder(self) -> Path:
        (folder,) = {file.parent.parent for file in self._folder.rglob("00000000000000000000.log")
                     if file.parent.name == "__cluster_metadata-0"}  # fmt: skip
        return folder


@pytest.fixture(params=["reference", pytest.param("apache", marks=pytest.mark.conformance)])
def new_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewBroker]:
    if request.param == "reference":
        with NewReferenceBroker(tmp_path) as reference:
            yield reference
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafka() as real:
        yield real


async def test_answers_levels_and_records_are_those_of_kafka(new_broker: NewBroker) -> None:
    async with RawClient(new_broker.bootstrap) as client:
        answers = [
            [step["updates"], step["version"], *await carry_out(client, step)]
            for step in TRACES["steps"]
        ]

    expected = [[step["updates"], step["version"], *step["answer"]] for step in TRACES["steps"]]
    assert answers == expected
    assert feature_records(new_broker.data_folder()) == TRACES["records"]
