"""Coordinator records: what a shard appends to its partition."""

from __future__ import annotations

from pyk.protocol.persisted import (
    decode_coordinator_key,
    decode_coordinator_value,
    encode_coordinator_key,
    encode_versioned,
)
from pyk.protocol.schema import Message
from pyk.runtime import slotted


@slotted.frozen
class CoordinatorRecord:
    """One key with its new value; no value is a tombstone, which deletes the key."""

    key: Message
    value: Message | None = None
    value_version: int = 0

    def encode(self) -> tuple[bytes, bytes | None]:
        """Return the record's key and value as they stand in the log."""
        value = None if self.value is None else encode_versioned(self.value, self.value_version)
        return encode_coordinator_key(self.key), value

    @classmethod
    def decode(cls, key: bytes, value: bytes | None) -> CoordinatorRecord:
        """Return the record in a key and a value; raise ``ProtocolError`` if they are invalid."""
        decoded_key = decode_coordinator_key(key)
        return cls(decoded_key, decode_coordinator_value(decoded_key, value))
