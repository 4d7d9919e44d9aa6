"""A signal whose handler raises loses and repeats no record, wherever it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from pyk.clients import Consumer
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records import FetchedRecords
from support.batches import batches
from support.fetch_reading import Reader
from support.interruptions import interrupted_at

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
# Two fetches of each partition: the offsets where they begin, and the sizes of their batches.
FETCHES = {0: (2, 1), 3: (2, 2)}
END = 7
CODE = ("pyk/clients/consumer/", "pyk/protocol/records/", "as_number")
GOES_ON_FOR_EVER = 5000


class NothingThereError(Exception):
    """The consumer would wait for records now."""


def begin_to_wait() -> None:
    raise NothingThereError


async def start(timeout: float | None = None) -> None:
    """Never connect."""


def as_number(value: bytes) -> int:
    return int(value)


class Application:
    """A consumer that is fed by hand, and the records that it has handed out."""

    def __init__(self, **options: Any) -> None:
        self.consumer: Consumer[Any, Any] = Consumer("127.0.0.1:1", max_poll_records=2, **options)
        self.consumer._begin = begin_to_wait  # type: ignore[method-assign]
        self.buffer = self.consumer._buffer
        self.writer = self.consumer._core.writer
        self.handed_out: list[Any] = []
        for partition in (A0, A1):
            self.writer.set_position(self.writer.add_partition(partition), 0, -1)
        self.feed()

    def feed(self) -> None:
        """Append the records that a node would return now."""
        for partition, buffered in self.buffer.partitions.items():
            offset = buffered.fetch_offset
            if buffered.has_room and 0 <= offset < END:
                begin = max(base for base in FETCHES if base <= offset)
                data = batches(begin, *FETCHES[begin])
                fetched = FetchedRecords(partition.topic, partition.partition, data, offset)
                self.writer.append(buffered, fetched, len(data), begin + sum(FETCHES[begin]))

    def poll(self) -> None:
        with suppress(NothingThereError):
            self.handed_out.append(self.consumer.poll(0))

    def iterate(self) -> None:
        with suppress(NothingThereError):
            for record in self.consumer:
                self.handed_out.append([record])
                return

    @property
    def got(self) -> dict[TopicPartition, list[int]]:
        """The offsets that were handed out, in order."""
        got: dict[TopicPartition, list[int]] = {A0: [], A1: []}
        for records in self.handed_out:
            for record in records:
                got[TopicPartition(record.topic, record.partition)].append(record.offset)
        return got

    def commit_is_due(self) -> None:
        """What is finished must have been handed out."""
        for partition, offsets in self.got.items():
            finished, _ = self.buffer.finished(self.buffer.partitions[partition])
            assert finished in (0, *(offset + 1 for offset in offsets)), partition

    def read_all(self) -> None:
        for _ in range(2 * END):
            self.consumer._reader.finish()
            self.commit_is_due()
            self.feed()
            self.poll()


def read_by_polls(application: Application) -> None:
    application.poll()
    application.feed()
    application.poll()


def read_both_ways(application: Application) -> None:
    application.iterate()
    application.poll()
    application.feed()
    application.iterate()


@pytest.mark.parametrize("value_deserializer", [None, as_number], ids=["bytes", "deserialized"])
@pytest.mark.parametrize("read", [read_by_polls, read_both_ways])
def test_an_interrupted_reader_loses_and_repeats_nothing(
    read: Callable[[Application], None], value_deserializer: Any
) -> None:
    for number in range(1, GOES_ON_FOR_EVER):
        application = Application(value_deserializer=value_deserializer)
        # Room is reported, so that the code that fetches into it is interrupted too.
        application.buffer.wants_room = True

        with interrupted_at(number, *CODE) as interruption:
            read(application)
        application.read_all()

        assert application.got == {A0: list(range(END)), A1: list(range(END))}, number
        if not interruption.is_over:
            return
    raise AssertionError("reading does not end")


def test_records_dropped_by_an_interrupt_are_fetched_again_at_once() -> None:
    reader = Reader(A0)
    reader.fetch(batches(0, 5))
    reader.reader.take(2)
    reader.buffer.wants_room = True

    assert reader.poll() == []

    assert reader.calls == ["room"]
    assert reader[A0].fetch_offset == 0


@pytest.fixture
def interrupted() -> Iterator[Consumer[Any, Any]]:
    """A consumer that has handed out one record, and was interrupted in its second poll."""
    consumer: Consumer[Any, Any] = Consumer("127.0.0.1:1")
    consumer._core.start = start  # type: ignore[method-assign]
    consumer.assign([A0])
    consumer.seek(A0, 0)
    data = batches(0, 5)
    fetched = FetchedRecords(A0.topic, A0.partition, data, 0)
    consumer._core.writer.append(consumer._buffer.partitions[A0], fetched, len(data), 5)
    assert len(consumer.poll(0, max_records=1)) == 1
    consumer._reader.take(3)
    yield consumer
    consumer._thread.close()


def test_an_interrupted_poll_has_not_moved_the_position(interrupted: Consumer[Any, Any]) -> None:
    assert interrupted.position(A0) == 1


def test_a_seek_after_an_interrupted_poll_counts(interrupted: Consumer[Any, Any]) -> None:
    interrupted.seek(A0, 4)

    assert list(interrupted.poll(0)) == []
    assert interrupted.position(A0) == 4


def test_lag_counts_the_records_that_an_interrupted_poll_took(
    interrupted: Consumer[Any, Any],
) -> None:
    interrupted._core.partitions[A0].readable_end = 5

    assert interrupted.lag() == {A0: 4}
