"""The facts of Kafka's protocol as data, and the golden vectors of messages.

They are read from ``../shared/protocol`` where that exists, otherwise from the copies beside this
file, which hold only the messages that pyk has. After a message was added,
``PYTHONPATH=tests python -m golden.protocol_facts`` brings the copies up to date.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from pyk.protocol import known_messages

Facts: TypeAlias = Any  # JSON as in the definitions

FOLDER = Path(__file__).parent
SHARED = FOLDER.parents[2] / "shared" / "protocol"


@cache
def schemas() -> dict[str, Facts]:
    """Return the definitions of messages by name."""
    if SHARED.exists():
        texts = (path.read_text("utf-8") for path in sorted((SHARED / "messages").glob("*.json")))
        return {schema["name"]: schema for schema in map(json.loads, texts)}
    return {schema["name"]: schema for schema in _copy("facts.json.gz")["messages"]}


@cache
def api_keys() -> Facts:
    return _whole("api_keys.json", "apiKeys")


@cache
def error_codes() -> Facts:
    return _whole("errors.json", "errors")


@cache
def large_messages() -> Facts:
    return _whole("vectors/large.json", "large")["vectors"]


@cache
def message_vectors(name: str) -> list[Facts]:
    """Return the golden vectors of one message; [] if only the large messages cover it."""
    if SHARED.exists():
        path = SHARED / "vectors" / "messages" / f"{name}.jsonl"
        lines = path.read_text("utf-8").split("\n") if path.exists() else []
        return [json.loads(line) for line in lines if line]
    return _copied_vectors().get(name, [])


@cache
def _copied_vectors() -> dict[str, list[Facts]]:
    found: dict[str, list[Facts]] = {}
    for vector in _copy("messages.json.gz"):
        found.setdefault(vector["message"], []).append(vector)
    return found


def _whole(path: str, name_in_copy: str) -> Any:
    if SHARED.exists():
        return json.loads((SHARED / path).read_text("utf-8"))
    return _copy("facts.json.gz")[name_in_copy]


@cache
def _copy(name: str) -> Any:
    with gzip.open(FOLDER / name, "rt", encoding="utf-8") as file:
        return json.load(file)


def copied_messages() -> set[str]:
    """Return the names of the messages whose facts are in the copies."""
    return {schema["name"] for schema in _copy("facts.json.gz")["messages"]}


def messages_with_copied_vectors() -> set[str]:
    """Return the names of the messages whose vectors are in the copies."""
    large = _copy("facts.json.gz")["large"]["vectors"]
    return {*_copied_vectors(), *(vector["message"] for vector in large)}


def copy_shared_facts() -> None:
    """Write the copies again from ``../shared/protocol``."""
    names = known_messages()
    facts = {
        "messages": [schemas()[name] for name in names],
        "apiKeys": [{**api, "releases": None} for api in api_keys()],
        "errors": error_codes(),
        "large": {"vectors": [vector for vector in large_messages() if vector["message"] in names]},
    }
    kept = ("message", "version", "json", "hex")
    vectors = [
        {key: vector[key] for key in kept} for name in names for vector in message_vectors(name)
    ]
    for name, content in {"facts.json.gz": facts, "messages.json.gz": vectors}.items():
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        (FOLDER / name).write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    copy_shared_facts()
