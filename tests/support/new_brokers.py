"""Brokers that nothing was asked of yet, for scenarios that change what cannot be changed back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from pyk.protocol.messages.metadata_records import FeatureLevelRecord
from pyk.reference_broker import Cluster
from pyk.reference_broker.bootstrap_file import BOOTSTRAP_FILE
from pyk.reference_broker.controller.snapshot_format import encode_snapshot
from support import apache_kafka
from support.apache_kafka import ApacheKafka

KINDS = ["reference", pytest.param("apache", marks=pytest.mark.conformance)]


class NewBroker(Protocol):
    """A broker that nothing was asked of yet."""

    bootstrap: str

    def data_folder(self) -> Path:
        """Return its data directory."""


class NewReferenceBroker:
    """pyk's own broker, on disk."""

    def __init__(self, folder: Path, levels: Mapping[str, int]) -> None:
        self._folder = folder / "node0"
        if levels:
            self._format(levels)
        self._cluster = Cluster(data_dir=folder)

    def _format(self, levels: Mapping[str, int]) -> None:
        records = [
            FeatureLevelRecord(name=name, feature_level=each) for name, each in levels.items()
        ]
        self._folder.mkdir()
        (self._folder / BOOTSTRAP_FILE).write_bytes(encode_snapshot(records, 0, 0, 0))

    def __enter__(self) -> NewReferenceBroker:
        self._cluster.__enter__()
        self.bootstrap = self._cluster.bootstrap
        return self

    def __exit__(self, *exc: object) -> None:
        self._cluster.__exit__(None, None, None)

    def data_folder(self) -> Path:
        return self._folder


@contextmanager
def new_broker_of(
    kind: str, folder: Path, release: str | None = None, levels: Mapping[str, int] | None = None
) -> Iterator[NewBroker]:
    """Start a broker of one of :data:`KINDS`.

    ``release`` is the one whose features it is formatted for, by default its own; ``levels`` are
    these features.
    """
    if kind == "reference":
        with NewReferenceBroker(folder, levels or {}) as reference:
            yield reference
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    kafka = ApacheKafka()
    try:
        kafka.format(*(() if release is None else ("--release-version", release)))
        kafka.start()
        yield kafka
    finally:
        kafka.__exit__()
