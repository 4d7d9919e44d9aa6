"""Partitions that are paused, held, sought in, revoked and assigned again while they are read."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.protocol.records import FetchedRecords
from pyk.protocol.records.record import owner_of
from support.batches import batch, batches
from support.fetch_reading import A0, A1, Reader


def test_a_paused_partition_keeps_its_records_until_it_is_resumed() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2))

    reader.writer.pause(reader[A0])
    assert reader.poll() == []
    assert reader.buffer.buffered_bytes == 0
    reader.writer.resume(reader[A0])

    assert reader.poll() == [b"0", b"1"]


def test_a_held_partition_hands_out_no_records() -> None:
    reader = Reader()
    reader.writer.hold(reader[A0])
    reader.fetch(batches(0, 1))

    assert reader.poll() == []
    reader.writer.release(reader[A0])
    assert reader.poll() == [b"0"]


def test_a_new_position_drops_fetched_records() -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))
    reader.poll(1)

    reader.writer.set_position(reader[A0], 40, 3)

    assert reader.poll() == []
    assert (reader.position(), reader.buffer.finished(reader[A0])) == (40, (40, 3))
    assert reader[A0].fetch_offset == 40
    assert reader.buffer.buffered_bytes == 0


def test_a_new_position_ends_the_open_span_before_its_next_record() -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))
    reader.next()

    reader.writer.set_position(reader[A0], 0, -1)

    assert reader.buffer.attention == EVENT
    assert reader.reader.next_record() is None
    reader.attend()
    assert reader.next() is None
    reader.fetch(batches(0, 5))
    assert reader.next() == b"0"


def test_removed_partitions_are_not_read_and_not_finished() -> None:
    reader = Reader(A0, A1)
    reader.fetch(batches(0, 2), A0)
    reader.fetch(batch(0, [b"x"]), A1)
    reader.poll(1)

    reader.writer.remove_partition(reader[A0])

    assert reader.poll() == [b"x"]
    assert reader.buffer.partitions.keys() == {A1}


def test_an_unknown_position_has_nothing_to_commit() -> None:
    reader = Reader()

    reader.writer.set_position(reader[A0], -1, -1)
    reader.poll()

    assert reader.finished() == -1


@pytest.mark.parametrize("interrupt", ["pause", "hold", "set_position", "remove_partition"])
def test_whatever_stops_a_partition_ends_the_open_span_before_its_next_record(
    interrupt: str,
) -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))
    reader.next()

    arguments = (0, -1) if interrupt == "set_position" else ()
    getattr(reader.writer, interrupt)(reader[A0], *arguments)

    assert reader.reader.next_record() is None
    reader.attend()
    assert reader.next() is None


@pytest.mark.parametrize(("stop", "go"), [("pause", "resume"), ("hold", "release")])
def test_the_rest_of_a_span_is_read_once_its_partition_goes_on(stop: str, go: str) -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))
    reader.next()

    getattr(reader.writer, stop)(reader[A0])
    reader.attend()
    assert (reader.next(), reader.finished(), reader.position()) == (None, 1, 1)
    getattr(reader.writer, go)(reader[A0])

    assert [reader.next() for _ in range(4)] == [b"1", b"2", b"3", b"4"]


def test_a_new_assignment_of_a_partition_has_another_version() -> None:
    reader = Reader()
    versions = {reader[A0].version}

    for _ in range(3):
        reader.writer.remove_partition(reader[A0])
        reader.writer.set_position(reader.writer.add_partition(A0), 0, -1)
        versions.add(reader[A0].version)

    assert len(versions) == 4


def test_data_for_a_removed_partition_changes_nothing() -> None:
    reader = Reader()
    gone = reader[A0]
    reader.writer.remove_partition(gone)
    reader.writer.set_position(reader.writer.add_partition(A0), 7, -1)

    reader.writer.append(gone, FetchedRecords("a", 0, batches(0, 2), 0), 100, 2)
    reader.writer.set_position(gone, 40, -1)
    reader.writer.fail(gone, ValueError("of old"))
    reader.writer.pause(gone)
    reader.writer.remove_partition(gone)

    assert reader.poll() == []
    assert (reader.position(), reader[A0].error, reader[A0].is_paused) == (7, None, False)


def test_records_belong_to_the_assignment_under_which_they_were_handed_out() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2))
    spans, _ = reader.reader.take(1)
    reader.reader.is_under_way = False
    first = reader[A0].assignment
    reader.writer.remove_partition(reader[A0])
    reader.writer.set_position(reader.writer.add_partition(A0), 0, -1)
    reader.fetch(batches(0, 2))
    record = reader.next_whole()

    assert spans[0].origin.owner is first
    assert owner_of(next(iter(spans[0]))) is first
    assert owner_of(record) is reader[A0].assignment is not first


def test_a_position_that_changes_during_a_read_discards_its_records() -> None:
    def seek_at_two(data: bytes) -> int:
        if data == b"2":
            reader.writer.set_position(reader[A0], 7, -1)
        return int(data)

    reader = Reader(value_deserializer=seek_at_two)
    reader.fetch(batches(0, 5))

    assert reader.poll() == []
    assert (reader.position(), reader.finished()) == (7, 7)
