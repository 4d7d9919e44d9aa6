"""Golden vectors of record batches and their primitives, written by Apache Kafka's clients."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def record_vectors() -> list[dict[str, Any]]:
    """Return all vectors of records, in order."""
    with gzip.open(_FOLDER / "records.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def primitives(kind: str) -> list[dict[str, Any]]:
    """Return the vectors of one kind of primitive: varint, varlong, murmur2 …"""
    with gzip.open(_FOLDER / "primitives.json.gz", "rt", encoding="utf-8") as file:
        vectors: list[dict[str, Any]] = json.load(file)[kind]
    return vectors


def name_of(vector: dict[str, Any]) -> str:
    return f"{vector['name']}-magic{vector['magic']}-{vector['codec']}"
