"""Values for messages in JSON form, made from Kafka's definitions: any at all, or all at once."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from golden.protocol_facts import Facts
from support.table_codec import (
    NUMBERS,
    UNKNOWN_TAGS,
    contains,
    default_of,
    fields_at,
    is_struct,
    json_name,
)

TEXT = st.text(max_size=6) | st.sampled_from(["x" * 126, "x" * 127, "x" * 128, "ü" * 300])
DATA = st.binary(max_size=6) | st.sampled_from([bytes(127), bytes(128), bytes(20_000)])
UNKNOWN = st.dictionaries(st.integers(200, 2**32 - 1), st.binary(max_size=200), max_size=2)


def message_values(schema: Facts, version: int) -> st.SearchStrategy[Any]:
    """Return a strategy for all that a message can be at one version."""
    return _struct(schema, schema["fields"], version)


def _struct(schema: Facts, fields: list[Facts], version: int) -> st.SearchStrategy[Any]:
    here = [field for field in fields if contains(field["versions"], version)]
    known = st.fixed_dictionaries(
        {json_name(field): _field(schema, field, version) for field in here}
    )
    if not contains(schema["flexibleVersions"], version):
        return known
    return st.builds(_with_unknown_tags, known, UNKNOWN)


def _with_unknown_tags(value: dict[str, Any], unknown: dict[int, bytes]) -> dict[str, Any]:
    tags = [{"tag": tag, "data": data.hex()} for tag, data in sorted(unknown.items())]
    return {**value, UNKNOWN_TAGS: tags} if tags else value


def _field(schema: Facts, field: Facts, version: int) -> st.SearchStrategy[Any]:
    values = _of_type(schema, field, field["type"], version)
    if contains(field.get("nullableVersions"), version):
        values = st.none() | values
    if contains(field.get("taggedVersions"), version):
        values = st.just(default_of(schema, field, version)) | values
    return values


def _of_type(schema: Facts, field: Facts, kind: str, version: int) -> st.SearchStrategy[Any]:
    if kind.startswith("[]"):
        item = _of_type(schema, field, kind[2:], version)
        few = st.lists(item, min_size=3, max_size=3)
        many = few if is_struct(kind[2:]) else few.map(_repeated)
        return st.lists(item, max_size=3) | many
    if is_struct(kind):
        return _struct(schema, fields_at(schema, field), version)
    if kind in ("bytes", "records"):
        return DATA.map(bytes.hex)
    if kind in NUMBERS and kind != "float64":
        bits = 8 * struct.calcsize(NUMBERS[kind])
        lowest = 0 if kind.startswith("u") else -(2 ** (bits - 1))
        return st.integers(lowest, lowest + 2**bits - 1)
    simple: dict[str, st.SearchStrategy[Any]] = {
        "string": TEXT,
        "bool": st.booleans(),
        "uuid": st.uuids().map(str),
        "float64": st.floats(allow_nan=False),
    }
    return simple[kind]


def _repeated(items: list[Any]) -> list[Any]:
    """Return a list whose length needs two bytes. To draw so many items would take far longer than
    to encode them."""
    return (items * 44)[:130]


def filled_message(schema: Facts, version: int) -> Any:
    """Return a message with something in every field that the version has: nothing null or empty,
    nothing tagged that is left out, and an unknown tag in every struct."""
    return _filled_struct(schema, schema["fields"], version)


def _filled_struct(schema: Facts, fields: list[Facts], version: int) -> dict[str, Any]:
    value = {
        json_name(field): _filled_field(schema, field, field["type"], version)
        for field in fields
        if contains(field["versions"], version)
    }
    is_flexible = contains(schema["flexibleVersions"], version)
    return _with_unknown_tags(value, {200: b"?"} if is_flexible else {})


def _filled_field(schema: Facts, field: Facts, kind: str, version: int) -> Any:
    if kind.startswith("[]"):
        return [_filled_field(schema, field, kind[2:], version)]
    if is_struct(kind):
        return _filled_struct(schema, fields_at(schema, field), version)
    filled: dict[str, Any] = {
        "string": "käse",
        "bytes": "c0ffee",
        "records": "c0ffee",
        "bool": field.get("default") != "true",
        "uuid": str(UUID(int=7)),
        "float64": 1.5,
    }
    return filled.get(kind, 5)
