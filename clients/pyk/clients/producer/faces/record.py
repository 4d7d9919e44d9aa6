"""A record that cannot be appended yet."""

from __future__ import annotations

import attrs

from pyk.clients.producer.batching.budget import record_size
from pyk.clients.producer.bulk.row_source import Headers


@attrs.frozen
class WaitingRecord:
    """A record, serialized, whose ``send`` has to wait for room or metadata."""

    topic: str
    value: bytes | None
    key: bytes | None
    partition: int | None
    headers: Headers
    timestamp: int

    @property
    def size(self) -> int:
        """What it takes of the buffer's budget, in bytes."""
        return record_size(self.key, self.value, self.headers)
