"""The outcome of the records of one ``send_batch``."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, overload

from pyk.clients.arguments import checked_timeout
from pyk.clients.errors import KafkaError
from pyk.clients.producer.batching.delivery import BatchResult, Delivery, RecordMetadata
from pyk.clients.producer.batching.row_source import RowSource, RowSpan
from pyk.clients.wording import counted
from pyk.runtime import slotted


@slotted.define
class PartitionRecords:
    """Records of a ``send_batch`` that go to one partition, -1 for any, in order.

    ``rows`` are their row numbers, counted from ``first_row``; None means one after the other.
    """

    partition: int
    source: RowSource
    first_row: int = 0
    rows: Sequence[int] | None = None
    spans: list[RowSpan] = slotted.field(factory=list)

    @property
    def appended(self) -> int:
        """Return how many of the records are in batches."""
        return self.spans[-1].start + self.spans[-1].count if self.spans else 0

    def position_of(self, row: int) -> int | None:
        """Return the position of a row of the whole in these records, None if it is not in them."""
        row -= self.first_row
        if self.rows is None:
            return row if 0 <= row < self.source.count else None
        position = bisect_left(self.rows, row)
        found = position < len(self.rows) and self.rows[position] == row
        return position if found else None

    def row_of(self, position: int) -> int:
        return self.first_row + (position if self.rows is None else self.rows[position])

    def delivery(self, position: int) -> Delivery:
        span = self.spans[bisect_right(self.spans, position, key=_start) - 1]
        index = span.first_index + position - span.start
        return Delivery(span.result, index, self.source.timestamp(position))


class BatchDelivery(Sequence[Delivery]):
    """The outcome of many records: a sequence with the :class:`Delivery` of each, in their order.

    Wait for all of them with :meth:`result`, or with ``await`` in async code.
    """

    def __init__(self, parts: Sequence[PartitionRecords], now: Callable[[], float]) -> None:
        self._parts = parts
        self._now = now
        self._count = sum(part.source.count for part in parts)

    def done(self) -> bool:
        """Return whether the outcome of every record is known."""
        return all(leaf.is_done for leaf in self._leaves())

    def result(self, timeout: float | None = None) -> Sequence[RecordMetadata]:
        """Wait until all records are written and return where; raise the first error if some
        failed.

        Raises ``KafkaTimeoutError`` after ``timeout`` seconds; the producer still tries to deliver
        them.
        """
        self._wait(timeout)
        self._raise_failure()
        return _Metadata(self)

    def failures(self, timeout: float | None = None) -> dict[int, KafkaError]:
        """Wait like :meth:`result` and return the errors by the number of the record."""
        self._wait(timeout)
        return {
            part.row_of(position): error
            for part in self._parts
            for span in part.spans
            if any(leaf.error is not None for leaf in _leaves(span.result))
            for position in range(span.start, span.start + span.count)
            if (error := part.delivery(position).exception()) is not None
        }

    def __await__(self) -> Generator[Any, None, Sequence[RecordMetadata]]:
        while (leaf := self._unsettled()) is not None:
            yield from Delivery(leaf, leaf.first_index)._arrival()
        self._raise_failure()
        return _Metadata(self)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> Delivery: ...
    @overload
    def __getitem__(self, row: slice) -> list[Delivery]: ...
    def __getitem__(self, row: int | slice) -> Delivery | list[Delivery]:
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(self._count))]
        number = row + self._count if row < 0 else row
        for part in self._parts:
            position = part.position_of(number)
            if position is not None:
                return part.delivery(position)
        raise IndexError(f"record {row} of {self._count}")

    def __repr__(self) -> str:
        state = "done" if self.done() else "under way"
        return f"<BatchDelivery of {counted(self._count, 'record')}: {state}>"

    def _leaves(self) -> Iterator[BatchResult]:
        """Yield the results that stand for the records now, after any splits."""
        for part in self._parts:
            for span in part.spans:
                yield from _leaves(span.result)

    def _unsettled(self) -> BatchResult | None:
        return next((leaf for leaf in self._leaves() if not leaf.is_done), None)

    def _wait(self, timeout: float | None) -> None:
        seconds = checked_timeout(timeout)
        deadline = None if seconds is None else self._now() + seconds
        while (leaf := self._unsettled()) is not None:
            left = None if deadline is None else max(0.0, deadline - self._now())
            Delivery(leaf, leaf.first_index)._wait(left)

    def _raise_failure(self) -> None:
        for part in self._parts:
            for span in part.spans:
                if any(leaf.error is not None for leaf in _leaves(span.result)):
                    for position in range(span.start, span.start + span.count):
                        part.delivery(position).result()


class _Metadata(Sequence[RecordMetadata]):
    """The metadata of each record; computed on access."""

    def __init__(self, deliveries: BatchDelivery) -> None:
        self._deliveries = deliveries

    def __len__(self) -> int:
        return len(self._deliveries)

    @overload
    def __getitem__(self, row: int) -> RecordMetadata: ...
    @overload
    def __getitem__(self, row: slice) -> list[RecordMetadata]: ...
    def __getitem__(self, row: int | slice) -> RecordMetadata | list[RecordMetadata]:
        if isinstance(row, slice):
            return [delivery.result() for delivery in self._deliveries[row]]
        return self._deliveries[row].result()

    def __repr__(self) -> str:
        return f"<RecordMetadata of {counted(len(self), 'record')}>"


def _leaves(result: BatchResult) -> Iterator[BatchResult]:
    result.is_observed = True
    if result.pieces is None:
        yield result
    else:
        for piece in result.pieces:
            yield from _leaves(piece)


def _start(span: RowSpan) -> int:
    return span.start
