"""Print records to standard output, or write them into a Parquet file."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import click

from pyk.clients import ConsumerRecords
from pyk.command_line.frame.commands import colour_wish
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import is_terminal, wants_json
from pyk.command_line.records.filters import RecordFilter
from pyk.command_line.text import is_text, printable

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

    def flush(self, *, at_once: bool = False) -> bool:
        """Bring all to where it belongs; return whether it is there, and so may be committed.

        A printer may do so now and then only, but not if ``at_once``.
        """

    def finish(self) -> None:
        """Take no more records, so that all that were taken are where they belong."""


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

    def flush(self, *, at_once: bool = False) -> bool:
        self._file.flush()
        return True

    def finish(self) -> None:
        self._file.flush()


class ParquetPrinter:
    """Writes records into a Parquet file, which can be read once it is finished."""

    def __init__(
        self, path: str, open_file: Callable[[], Any], record_filter: RecordFilter
    ) -> None:
        self.count = 0
        self._path, self._open_file = path, open_file
        self._writer: Any = None
        """None before the first record: a command that fails early leaves an old file alone."""
        self._is_finished = False
        self._filter = record_filter

    def take(self, records: Records, inside: Condition) -> None:
        if not records:
            return
        table = records.to_arrow(COLUMNS)
        accepts = _accepts(self._filter, inside)
        if accepts is not None:
            table = table.filter([accepts(record) for record in records])
        self.count += table.num_rows
        with self._named():
            self._opened().write_table(table)

    def flush(self, *, at_once: bool = False) -> bool:
        return self._is_finished

    def finish(self) -> None:
        with self._named():
            self._opened().close()
        self._is_finished = True

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the file in errors of writing, as pyarrow does not."""
        try:
            yield
        except OSError as error:
            if error.errno is None or error.filename is not None:
                raise
            raise OSError(error.errno, os.strerror(error.errno), self._path) from error

    def _opened(self) -> Any:
        if self._writer is None:
            self._writer = self._open_file()
        return self._writer


def printer_for(
    formatted: Callable[[Any], bytes] | None, parquet: str | None, record_filter: RecordFilter
) -> Printer:
    """Give the printer that the options ask for."""
    if parquet is None:
        return TextPrinter(formatted or _default_format(), record_filter)
    try:
        import pyarrow.parquet as pq

        from pyk.clients.consumer.records.arrow import schema_of
    except ModuleNotFoundError:
        raise CommandError(
            "Parquet needs pyarrow; install it with  pip install 'pyk-kafka[arrow]'"
        ) from None
    if not is_text(parquet):
        raise CommandError(f"--parquet: '{printable(parquet)}' is not UTF-8", ExitCode.USAGE)
    return ParquetPrinter(
        parquet, lambda: pq.ParquetWriter(parquet, schema_of(COLUMNS)), record_filter
    )


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
        from pyk.command_line.records.json_form import to_json  # which loads json

        return to_json
    if not is_terminal():
        return _line
    return _without_colour if colour_wish() is False else _on_terminal


def _line(record: Any) -> bytes:
    return (record.value or b"") + b"\n"


def _on_terminal(record: Any) -> bytes:
    """Return a line for people: where the record is, its key, and its value."""
    where = click.style(f"{record.partition}:{record.offset}", dim=True)
    key = "" if record.key is None else f"{click.style(_text(record.key), fg='cyan')}  "
    value = click.style("null", dim=True) if record.value is None else _text(record.value)
    return f"{where}  {key}{value}\n".encode()


def _without_colour(record: Any) -> bytes:
    return click.unstyle(_on_terminal(record).decode()).encode()


def _text(data: bytes) -> str:
    return printable(data.decode(errors="backslashreplace"))
