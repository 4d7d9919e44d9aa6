"""Brokers that nothing was asked of yet, for scenarios that change what cannot be changed back."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pyk.reference_broker import Cluster


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
