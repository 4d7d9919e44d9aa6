"""Send records from files, and wait until all are acknowledged."""

from __future__ import annotations

import io
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pyk.clients import (
    Delivery,
    KafkaError,
    KafkaTimeoutError,
    Producer,
    UnknownTopicOrPartitionError,
)
from pyk.clients.wording import counted
from pyk.command_line.frame.connecting import producer
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import note, print_json, wants_json
from pyk.command_line.records.outgoing import Additions, Header, LineReader, OutgoingRecord, Pace
from pyk.command_line.records.sources import STANDARD_INPUT, TABLES, format_of, shown
from pyk.command_line.standard_input import standard_input
from pyk.command_line.work.table_files import read_tables
from pyk.runtime import slotted

CHUNK = 1 << 20
LONGEST = 256 << 20
"""No record is longer; what is has another delimiter, and would fill the memory."""
UNKNOWN_TOPIC_SECONDS = 10.0
LAST_SECONDS = 5.0
"""How long records that were sent before an error may take."""


def produce_files(
    topic: str,
    files: tuple[str, ...],
    source: str | None,
    *,
    delimiter: bytes,
    reader: LineReader,
    additions: Additions,
    rate: float | None,
    options: Mapping[str, object],
) -> None:
    """Send what files hold to a topic."""
    with producer(options) as client:
        partitions = check_topic(client, topic)
        if additions.partition is not None:
            _check_partition(topic, additions.partition, partitions)
        sending = Sending(client, topic, partitions, Paced(rate), is_told=wants_json())
        try:
            for name in files:
                kind = format_of(name, source)
                if kind in TABLES:
                    _send_tables(sending, name, kind)
                else:
                    _send_records(
                        sending, name, kind, delimiter=delimiter, reader=reader, additions=additions
                    )
            sending.finish()
        except (CommandError, KafkaError, OSError) as error:
            if sending.count:
                error.add_note(f"{counted(sending.acknowledged(), 'record')} acknowledged")
            raise
    if sys.stderr.isatty() and not wants_json():
        note(f"{counted(sending.count, 'record')} sent to {topic}")


@slotted.define
class Paced:
    """Waits before each record, so that a rate is kept; None does not wait."""

    rate: float | None
    _pace: Pace | None = None

    def wait(self) -> None:
        """Wait until the next record is due; the first one is due at once."""
        if self.rate is None:
            return
        if self._pace is None:
            self._pace = Pace(self.rate, time.monotonic())
        delay = self._pace.next_in(time.monotonic())
        if delay > 0:
            time.sleep(delay)


@slotted.define
class Sending:
    """Sends records, and remembers those that are not acknowledged yet."""

    client: Producer
    topic: str
    partitions: set[int]
    """Those that the topic had at the start; partitions are only ever added."""
    paced: Paced
    is_told: bool
    """Print where each record is."""
    count: int = 0
    _pending: deque[Delivery] = slotted.field(factory=deque)

    def send(self, record: OutgoingRecord) -> None:
        """Send a record when it is due; raise the error of an earlier one."""
        self.add(
            record.value, record.key, list(record.headers), record.partition, record.timestamp_ms
        )

    def add(
        self,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        partition: int | None,
        timestamp_ms: int | None,
    ) -> None:
        """Do the same with the parts of a record; a command spends its time here."""
        if partition is not None and partition not in self.partitions:
            self._look_for(partition)
        self.paced.wait()
        pending = self._pending
        pending.append(
            self.client.send(
                self.topic,
                value,
                key,
                partition=partition,
                headers=headers or None,
                timestamp_ms=timestamp_ms,
            )
        )
        self.count += 1
        while pending and pending[0].done():
            self._settle_first()

    def send_tables(self, tables: Iterator[Any]) -> None:
        """Send Arrow tables with the columns of records."""
        for table in tables:
            if "partition" in table.schema.names:
                for partition in table["partition"].drop_null().unique().to_pylist():
                    self._look_for(partition)
            batch = self.client.send_batch(self.topic, table)
            batch.result()
            self.count += len(batch)
            if self.is_told:
                for delivery in batch:
                    self._settle(delivery)

    def _look_for(self, partition: int) -> None:
        """Raise if the topic has no such partition, not even since the start."""
        if partition not in self.partitions:
            self.partitions = self.client.partitions_for(self.topic)
            _check_partition(self.topic, partition, self.partitions)

    def finish(self) -> None:
        """Wait until all records are acknowledged; raise if one is not."""
        self.client.flush()
        while self._pending:
            self._settle_first()

    def acknowledged(self) -> int:
        """Return how many records are acknowledged, after an error, which ends the command."""
        with suppress(KafkaError):
            self.client.flush(LAST_SECONDS)
        failed = [one for one in self._pending if not one.done() or one.exception() is not None]
        return self.count - len(failed)

    @property
    def is_finished(self) -> bool:
        """Whether every record is acknowledged."""
        return not self._pending

    def _settle_first(self) -> None:
        """Settle the oldest record; one that failed stays, so that it is never forgotten."""
        self._settle(self._pending[0])
        self._pending.popleft()

    def _settle(self, delivery: Delivery) -> None:
        done = delivery.result()
        if not self.is_told:
            return
        form = {
            "topic": done.topic,
            "partition": done.partition,
            "offset": done.offset,
            "timestamp": done.timestamp,
        }
        try:
            print_json(form)
        except BrokenPipeError:  # nobody reads on, which is no reason to send less
            self.is_told = False


def _check_partition(topic: str, partition: int, partitions: set[int]) -> None:
    """Fail at once: the producer would wait a minute for the partition to be added."""
    if partition not in partitions:
        raise CommandError(f"topic {topic!r} has no partition {partition}")


def check_topic(client: Producer, topic: str) -> set[int]:
    """Return the partitions of a topic; fail early if it neither exists nor is created by use."""
    try:
        return client.partitions_for(topic, timeout=UNKNOWN_TOPIC_SECONDS)
    except KafkaTimeoutError as error:
        if isinstance(error.__cause__, UnknownTopicOrPartitionError):
            raise CommandError(
                f"topic {topic!r} does not exist; create it with  pyk topic create {topic}"
            ) from None
        raise


def _send_tables(sending: Sending, name: str, kind: str) -> None:
    try:
        sending.send_tables(read_tables(name, kind))
    except KafkaError:
        raise
    except (TypeError, ValueError) as error:  # of a column that cannot be sent
        raise CommandError(f"{shown(name)}: {error}") from None


def _send_records(
    sending: Sending,
    name: str,
    kind: str,
    *,
    delimiter: bytes,
    reader: LineReader,
    additions: Additions,
) -> None:
    before = sending.count
    pieces = _pieces(name, kind, delimiter)
    try:
        if kind == "lines" and reader.is_plain:
            rest = additions.to(OutgoingRecord())
            for value in reader.values(pieces):
                sending.add(value, rest.key, rest.headers, rest.partition, None)
        else:
            for data in pieces:
                sending.send(additions.to(_record(data, kind, reader)))
    except KafkaError:
        raise
    except (TypeError, ValueError) as error:  # of a record that cannot be sent
        number = sending.count - before + 1
        raise CommandError(f"{shown(name)}, record {number}: {error}") from None


def _record(data: bytes, kind: str, reader: LineReader) -> OutgoingRecord:
    if kind == "whole":
        return OutgoingRecord(value=data)
    if kind == "json":
        from pyk.command_line.records.json_form import parse_record  # which loads json

        return parse_record(data)
    return reader.read(data)


def _pieces(name: str, kind: str, delimiter: bytes) -> Iterator[bytes]:
    """Yield the bytes of each record of a file."""
    with _open(name) as file:
        if kind == "whole":
            yield _all_of(file)
        elif kind == "json" and delimiter == b"\n":
            yield from filter(bytes.strip, pieces_of(file, delimiter))
        else:
            yield from pieces_of(file, delimiter)


def _all_of(file: io.BufferedReader) -> bytes:
    data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST >> 20} MiB")
    return data


def pieces_of(file: io.BufferedReader, delimiter: bytes, longest: int = LONGEST) -> Iterator[bytes]:
    """Yield the pieces of a file, each as soon as it has come."""
    rest, searched = bytearray(), 0
    while chunk := file.read1(CHUNK):
        rest += chunk
        if rest.find(delimiter, searched) < 0:
            if len(rest) > longest:
                raise ValueError(
                    f"no delimiter follows within {longest >> 20} MiB; --delimiter names another, "
                    "and --format whole sends a file as one record"
                )
            searched = max(0, len(rest) - len(delimiter) + 1)
            continue
        *whole, last = bytes(rest).split(delimiter)
        yield from whole
        rest, searched = bytearray(last), 0
    if rest:
        yield bytes(rest)


def _open(name: str) -> Any:
    if name != STANDARD_INPUT:
        return open(name, "rb")
    if sys.stdin.isatty():
        note("Type records, one a line; Ctrl-D ends.")
    return _Kept(standard_input())


class _Kept:
    """Standard input, which the end of a block does not close."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def __enter__(self) -> io.BufferedReader:
        return self._file

    def __exit__(self, *_: object) -> None:
        pass
