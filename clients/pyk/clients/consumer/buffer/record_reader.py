"""What the application takes records with, one at a time or many at once."""

from __future__ import annotations

from typing import Any

from pyk.protocol.records.reader import RecordSpan


class RecordReader:
    """Hands out the records of a buffer; the application is one thread at a time."""

    def __init__(self) -> None:
        self.calls = 0
        """How often the application came for more than the next record of a span."""
        self.taken = 0
        """How many records it took one by one."""
        self.polled = 0
        """How many records it took with polls."""
        self.is_under_way = False
        """Whether something is taken that the application does not have yet. The caller that hands
        out the result of :meth:`take` sets it to False as the last step before it returns."""

    def next_record(self) -> Any | None:
        """Return the next record of the open span, None if the span has ended or attention is
        called for."""
        raise NotImplementedError

    def open_span(self) -> bool:
        """Open the next span, and return whether there is one."""
        raise NotImplementedError

    def take(self, max_records: int) -> tuple[list[RecordSpan], list[Any] | None]:
        """Return at most ``max_records`` in spans, and also as records if deserializers had to make
        them."""
        raise NotImplementedError

    def come_back(self) -> None:
        """Finish all that the application got, because it asks for more than its next record."""
        raise NotImplementedError

    def finish(self) -> None:
        """Mark everything that the application got as finished, because it says so."""
        raise NotImplementedError

    def go_back(self) -> None:
        """Take back what was taken and never reached the application."""
        raise NotImplementedError
