"""Coordinator records: what a shard appends to its partition, and how that looks as key and value bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import attrs

from pyk.protocol.errors import MalformedMessageError
from pyk.protocol.schema import Message

_TYPE = struct.Struct(">h")


@attrs.frozen
class CoordinatorRecord:
    """One key with its new value; no value is a tombstone, which deletes the key."""

    key: Message
    value: Message | None = None
    value_version: int = 0

    def encode(self) -> tuple[bytes, bytes | None]:
        """Return the record's key and value as they stand in the log, each behind its type or version."""
        key = _TYPE.pack(self.key.api_key) + self.key.encode(0)
        if self.value is None:
            return key, None
        return key, _TYPE.pack(self.value_version) + self.value.encode(self.value_version)


RecordTypes = Mapping[int, tuple[type[Message], type[Message]]]
"""The key and value class of each record type that a shard understands."""


def decode_record(key: bytes, value: bytes | None, types: RecordTypes) -> CoordinatorRecord | None:
    """Return the record that key and value bytes hold, None for a type that is not in ``types``.

    Raises :class:`MalformedMessageError` for bytes that are no such record, and for a value version that is not known.
    """
    if key is None or len(key) < _TYPE.size:
        raise MalformedMessageError("a coordinator record needs a key that begins with its type")
    (record_type,) = _TYPE.unpack_from(key)
    if record_type not in types:
        return None
    key_class, value_class = types[record_type]
    decoded_key = key_class.decode(key[_TYPE.size :], 0)
    if value is None:
        return CoordinatorRecord(decoded_key)
    if len(value) < _TYPE.size:
        raise MalformedMessageError("a coordinator record's value begins with its version")
    (version,) = _TYPE.unpack_from(value)
    return CoordinatorRecord(decoded_key, value_class.decode(value[_TYPE.size :], version), version)
