"""Print records to standard output, or write them into a Parquet file."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import click

from pyk.clients import ConsumerRecords
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import is_terminal, wants_json
from pyk.command_line.records.filters import RecordFilter
from pyk.command_line.records.json_form import record_form
from pyk.command_line.text import printable, to_line

Records = ConsumerRecords[Any, Any]
Condition = Callable[[Any], bool] | None
COLUMNS = (
    "key", "value", "topic", "partition", "offset", "timestamp", "timestamp_type", "headers",
)  # fmt: skip


class Printer(Protocol):
    """Takes records."""

    count: int
    """How many records were taken."""

    def take(self, records: Records, inside: Condition) -> None:
        """Take those records for which ``inside`` holds, and which the filter accepts."""

    def flush(self) -> None:
        """Bring all to where it belongs."""


class TextPrinter:
    """Writes records to standard output."""

    def __init__(self, to_bytes: Callable[[Any], bytes], record_filter: RecordFilter) -> None:
        self.count = 0
        self._to_bytes = to_bytes
        self._filter = record_filter
        self._file = sys.stdout.buffer

    def take(self, records: Records, inside: Condition) -> None:
        accepts = _accepts(self._filter, inside)
        chosen = [each for each in records if accepts is None or accepts(each)]
        self.count += len(chosen)
        if chosen:
            self._file.write(b"".join(map(self._to_bytes, chosen)))
            self._file.flush()

    def flush(self) -> None:
        self._file.flush()


class ParquetPrinter:
    """Writes records into a Parquet file."""

    def __init__(self, writer: Any, record_filter: RecordFilter) -> None:
        self.count = 0
        self._writer = writer
        self._filter = record_filter

    def take(self, records: Records, inside: Condition) -> None:
        if not records:
            return
        table = records.to_arrow(COLUMNS)
        accepts = _accepts(self._filter, inside)
        if accepts is not None:
            table = table.filter([accepts(record) for record in records])
        self.count += table.num_rows
        self._writer.write_table(table)

    def flush(self) -> None:
        """Leave it to the end of the file."""


@contextmanager
def printer_for(
    formatted: Callable[[Any], bytes] | None, parquet: str | None, record_filter: RecordFilter
) -> Iterator[Printer]:
    """Give the printer that the options ask for."""
    if parquet is None:
        yield TextPrinter(formatted or _default_format(), record_filter)
        return
    try:
        import pyarrow.parquet as pq

        from pyk.clients.consumer.records.arrow import schema_of
    except ModuleNotFoundError:
        raise CommandError(
            "Parquet needs pyarrow; install it with  pip install 'pyk-kafka[arrow]'"
        ) from None
    with pq.ParquetWriter(parquet, schema_of(COLUMNS)) as writer:
        yield ParquetPrinter(writer, record_filter)


def output_is_closed() -> bool:
    """Return whether nobody reads standard output any more, as after ``| head``."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError, ValueError):  # no poll, or no file descriptor
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _accepts(record_filter: RecordFilter, inside: Condition) -> Condition:
    if not record_filter:
        return inside
    if inside is None:
        return record_filter.accepts
    is_inside = inside
    return lambda record: is_inside(record) and record_filter.accepts(record)


def _default_format() -> Callable[[Any], bytes]:
    if wants_json():
        return lambda record: to_line(record_form(record)).encode() + b"\n"
    return _on_terminal if is_terminal() else _line


def _line(record: Any) -> bytes:
    return (record.value or b"") + b"\n"


def _on_terminal(record: Any) -> bytes:
    """Return a line for people: where the record is, its key, and its value."""
    where = click.style(f"{record.partition}:{record.offset}", dim=True)
    key = "" if record.key is None else f"{click.style(_text(record.key), fg='cyan')}  "
    value = click.style("null", dim=True) if record.value is None else _text(record.value)
    return f"{where}  {key}{value}\n".encode()


def _text(data: bytes) -> str:
    return printable(data.decode(errors="backslashreplace"))
