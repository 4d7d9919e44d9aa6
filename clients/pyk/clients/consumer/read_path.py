"""Taking one record after the other: the part of both consumers that runs once per record.

As long as the open span has records, nothing else happens here. When it has none, or something is
due besides records, the consumer's own ``_next_slowly`` takes over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from typing import Any

from pyk.clients.consumer.fetch_reader import FetchReader


class BlockingReadPath:
    """Iteration of the blocking consumer."""

    def __init__(self, reader: FetchReader) -> None:
        self._reader = reader

    def __iter__(self) -> BlockingReadPath:
        return self

    def __next__(self) -> Any:
        record = self._reader.next_record()
        if record is not None:
            return record
        return self._next_slowly()

    def _next_slowly(self) -> Any:
        """Return the next record once there is one; the consumer knows how to wait."""
        raise NotImplementedError


class AsyncReadPath:
    """Iteration of the asyncio consumer."""

    def __init__(self, reader: FetchReader) -> None:
        self._reader = reader

    def __aiter__(self) -> AsyncReadPath:
        return self

    def __anext__(self) -> Awaitable[Any]:
        record = self._reader.next_record()
        if record is not None:
            return ReadyRecord(record)
        return self._next_slowly()

    def _next_slowly(self) -> Awaitable[Any]:
        """Return what awaits the next record; the consumer knows how to wait."""
        raise NotImplementedError


class ReadyRecord:
    """An awaitable that is done already: awaiting it never goes through the event loop."""

    def __init__(self, record: Any) -> None:
        self._record = record

    def __await__(self) -> Generator[Any, None, Any]:
        return self  # type: ignore[return-value]

    def __iter__(self) -> ReadyRecord:
        return self

    def __next__(self) -> None:
        raise StopIteration(self._record)
