"""Records as tests write them: ``b"value"``, ``("key", "value")``, ``{"value": …, "headers": …}``.

A ``str`` stands for its UTF-8 bytes. A record that was read stands for its key, value and headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyk.protocol.records import ConsumerRecord
from pyk.runtime.checked_arguments import checked_text

Data = bytes | str | None
WrittenRecord = Data | tuple[Data, Data] | Mapping[str, Any] | ConsumerRecord

FIELDS = ("key", "value", "headers", "partition", "timestamp_ms")
_PAIR = 2
_TIMESTAMPS = range(-(1 << 63), 1 << 63)


def fields_of(record: WrittenRecord) -> dict[str, Any]:
    """Return the fields that a record names, their values in bytes; raise for anything else."""
    if isinstance(record, ConsumerRecord):
        return {"key": record.key, "value": record.value, "headers": record.headers}
    if isinstance(record, Mapping):
        return _fields_of_mapping(record)
    if isinstance(record, tuple):
        if len(record) != _PAIR:
            raise TypeError(f"a tuple is a record's key and value, not {len(record)} items")
        return {"key": _bytes_of(record[0], "key"), "value": _bytes_of(record[1], "value")}
    if isinstance(record, list):
        raise TypeError("a list is not a record: give each record of it by itself, as in *records")
    return {"value": _bytes_of(record, "value")}


def check_list(topic: str, records: object) -> None:
    """Raise ``TypeError`` for one record in place of a list: a str would pass for letters."""
    is_one = isinstance(records, str | bytes | Mapping | ConsumerRecord)
    if is_one or not isinstance(records, Iterable):
        kind = f"{'one ' if is_one else ''}{type(records).__name__}"
        raise TypeError(f"the records of {topic!r} must be a list of records, not {kind}")


def _fields_of_mapping(record: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in record if name not in FIELDS]
    if unknown:
        raise TypeError(f"no field {unknown[0]!r} of a record, only {', '.join(FIELDS)}")
    fields = dict(record)
    for name in ("key", "value"):
        if name in fields:
            fields[name] = _bytes_of(fields[name], name)
    for name in ("partition", "timestamp_ms"):
        if name in fields and type(fields[name]) is not int:
            raise TypeError(f"{name} of a record must be an int, not {fields[name]!r}")
    if fields.get("timestamp_ms", 0) not in _TIMESTAMPS:
        raise ValueError(
            f"timestamp_ms of a record must fit in 64 bits, not {fields['timestamp_ms']}"
        )
    if "headers" in fields:
        fields["headers"] = _headers_of(fields["headers"])
    return fields


def _headers_of(
    headers: Mapping[str, Data] | Iterable[tuple[str, Data]],
) -> tuple[tuple[str, bytes | None], ...]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    try:
        return tuple(
            (checked_text(name, "the name of a header"), _bytes_of(value, "a header"))
            for name, value in pairs
        )
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"headers of a record must be {{name: value}}, or a list of (name, value), not "
            f"{headers!r}: {error}"
        ) from None


def _bytes_of(data: object, name: str) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    if isinstance(data, str):
        try:
            return data.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{name} is not valid Unicode: {error}") from error
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise TypeError(f"{name} must be bytes, str or None, not {type(data).__name__}")
