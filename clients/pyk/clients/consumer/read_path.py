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

    def __anext__(self) -> NextRecord:
        return NextRecord(self)

    def _next_slowly(self) -> Awaitable[Any]:
        """Return what awaits the next record; the consumer knows how to wait."""
        raise NotImplementedError


class NextRecord:
    """The next record, awaited: it is taken when it is, and not before.

    Where it is at hand, awaiting it never goes through the event loop. It has what a coroutine has,
    so it can be made a task; a task that is cancelled before it begins has taken nothing.
    """

    def __init__(self, path: AsyncReadPath) -> None:
        self._path: AsyncReadPath | None = path
        self._waiting: Any = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self

    def __iter__(self) -> NextRecord:
        return self

    def __next__(self) -> Any:
        path = self._path
        if path is not None:
            self._path = None
            record = path._reader.next_record()
            if record is not None:
                raise StopIteration(record)
            self._waiting = path._next_slowly()
        return self._send(None)

    def send(self, value: Any) -> Any:
        """Go on, as a coroutine does."""
        return self.__next__() if self._path is not None else self._send(value)

    def throw(self, *error: Any) -> Any:
        """Have an error raised where it waits, as a coroutine does."""
        self._path = None
        if self._waiting is None:
            raise error[1] if len(error) > 1 and error[1] is not None else error[0]
        return self._waiting.throw(*error)

    def close(self) -> None:
        """Wait no longer, as a coroutine does."""
        self._path = None
        if self._waiting is not None:
            self._waiting.close()

    def _send(self, value: Any) -> Any:
        if self._waiting is None:
            raise RuntimeError("cannot reuse already awaited __anext__()")
        return self._waiting.send(value)
