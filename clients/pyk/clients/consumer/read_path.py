"""Taking one record after the other: the part of both consumers that runs once per record.

As long as the open span has records, nothing else happens here. When it has none, or something is
due besides records, the consumer's own ``_open_next_span`` takes over.

Taking the record is the last thing that happens before the application has it: the handler of a
signal that raises in between would lose it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from pyk.clients.consumer.fetch_reader import FetchReader


class BlockingReadPath:
    """Iteration of the blocking consumer."""

    def __init__(self, reader: FetchReader) -> None:
        self._reader = reader

    def __iter__(self) -> BlockingReadPath:
        return self

    def __next__(self) -> Any:
        while True:
            record = self._reader.next_record()
            if record is not None:
                return record
            self._open_next_span()

    def _open_next_span(self) -> None:
        """Return once there is a span to go on with; the consumer knows how to wait."""
        raise NotImplementedError


class AsyncReadPath:
    """Iteration of the asyncio consumer."""

    def __init__(self, reader: FetchReader) -> None:
        self._reader = reader

    def __aiter__(self) -> AsyncReadPath:
        return self

    def __anext__(self) -> NextRecord:
        return NextRecord(self)

    def _open_next_span(self) -> Any:
        """Return a coroutine that ends once there is a span to go on with."""
        raise NotImplementedError


class NextRecord:
    """The next record, awaited: it is taken when it is, and not before.

    Where it is at hand, awaiting it never goes through the event loop. It has what a coroutine has,
    so it can be made a task; a task that is cancelled before it begins has taken nothing.
    """

    def __init__(self, path: AsyncReadPath) -> None:
        self._path = path
        self._waiting: Any = None
        self._is_over = False

    def __await__(self) -> Generator[Any, None, Any]:
        return self

    def __iter__(self) -> NextRecord:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        """Go on, as a coroutine does."""
        if self._is_over:
            raise RuntimeError("cannot reuse already awaited __anext__()")
        while True:
            if self._waiting is None:
                record = self._path._reader.next_record()
                if record is not None:
                    self._is_over = True
                    raise StopIteration(record)
                self._waiting = self._path._open_next_span()
            try:
                return self._waiting.send(value)
            except StopIteration:
                self._waiting = value = None
            except BaseException:
                self._is_over = True
                raise

    def throw(self, *error: Any) -> Any:
        """Have an error raised where it waits, as a coroutine does."""
        if self._waiting is None:
            self._is_over = True
            raise error[1] if len(error) > 1 and error[1] is not None else error[0]
        try:
            return self._waiting.throw(*error)
        except StopIteration:
            self._waiting = None
        except BaseException:
            self._is_over = True
            raise
        return self.send(None)

    def close(self) -> None:
        """End the wait, as a coroutine does."""
        self._is_over = True
        if self._waiting is not None:
            self._waiting.close()
