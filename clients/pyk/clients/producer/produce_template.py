"""The produce request of one batch of one partition, but for its records. Pure.

From one request of a partition to the next only the records change. So the codec encodes one
without records, once for each version and topic id, and what it wrote is used again.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.wire_numbers import append_int32, append_varint

_NO_RECORDS_COMPACT = b"\x01"  # their size: the varint of one more, or an int32
_NO_RECORDS_CLASSIC = b"\x00\x00\x00\x00"


class ProduceTemplate:
    """What stands before and behind the records in every request like ``example``.

    That one is for one partition of one topic, and its records are empty.
    """

    __slots__ = ("_is_compact", "_prefix", "_suffix", "topic_id", "version")

    def __init__(self, example: ProduceRequest, topic_id: UUID | None, version: int) -> None:
        self.topic_id = topic_id
        self.version = version
        self._is_compact = version in ProduceRequest.flexible
        start, _records, *end = example.encode_parts(version)
        no_records = _NO_RECORDS_COMPACT if self._is_compact else _NO_RECORDS_CLASSIC
        if not start.endswith(no_records):
            raise AssertionError("the size of the records does not stand right before them")
        self._prefix = bytes(start[: -len(no_records)])
        self._suffix = b"".join(end)

    def fill(self, records: memoryview, out: bytearray) -> list[Any]:
        """Return the parts of the request with these records, as ``encode_parts`` does."""
        out += self._prefix
        size = len(records)
        if self._is_compact:
            append_varint(out, size + 1)
        else:
            append_int32(out, size)
        return [out, records, self._suffix] if self._suffix else [out, records]
