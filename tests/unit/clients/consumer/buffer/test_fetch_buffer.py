"""Records go to the application in turns and in order, and are settled when it comes back."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.protocol.records import FetchedRecords
from support.batches import batch, batches
from support.fetch_reading import A0, A1, Reader


def test_a_poll_takes_at_most_max_records_and_the_next_one_goes_on() -> None:
    reader = Reader()
    reader.fetch(batches(0, 3, 2))

    assert reader.poll(4) == [b"0", b"1", b"2", b"3"]
    assert reader.position() == 4
    assert reader.poll(4) == [b"4"]
    assert reader.poll(4) == []


def test_polled_records_are_finished_by_the_next_poll() -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))

    reader.poll(2)
    assert reader.finished() == 0
    reader.poll(2)
    assert reader.finished() == 2
    reader.reader.finish()
    assert reader.finished() == 4


def test_a_record_is_finished_when_iteration_takes_the_next_one() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2))

    assert reader.finished() == 0
    reader.next()
    assert (reader.finished(), reader.position()) == (0, 1)
    reader.next()
    assert (reader.finished(), reader.position()) == (1, 2)
    assert reader.next() is None
    assert reader.finished() == 2


@pytest.mark.parametrize("offset", [0, 3, 7])
def test_data_that_begins_at_another_offset_than_the_next_fetch_is_not_taken(offset: int) -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))
    stray = FetchedRecords(A0.topic, A0.partition, batches(offset, 5), offset)

    assert not reader.writer.append(reader[A0], stray, 100, offset + 5)

    assert reader[A0].fetch_offset == 5
    assert reader.poll() == [b"0", b"1", b"2", b"3", b"4"]


def test_poll_gets_the_records_that_iteration_left() -> None:
    reader = Reader()
    reader.fetch(batches(0, 4))

    assert [reader.next(), reader.next()] == [b"0", b"1"]

    assert reader.poll() == [b"2", b"3"]
    assert reader.finished() == 2


def test_iteration_gets_the_records_that_poll_left() -> None:
    reader = Reader()
    reader.fetch(batches(0, 4))

    assert reader.poll(1) == [b"0"]

    assert [reader.next(), reader.next()] == [b"1", b"2"]
    assert reader.poll() == [b"3"]


def test_partitions_take_turns() -> None:
    reader = Reader(A0, A1)
    reader.fetch(batches(0, 4), A0)
    reader.fetch(batches(0, 4), A1)

    taken = [len(reader.poll(2)) for _ in range(2)]

    assert taken == [2, 2]
    assert (reader.position(A0), reader.position(A1)) == (2, 2)


def test_iteration_lets_partitions_take_turns_too() -> None:
    reader = Reader(A0, A1, max_span=1)
    reader.fetch(batch(0, [b"a", b"b"]), A0)
    reader.fetch(batch(0, [b"x", b"y"]), A1)

    assert [reader.next() for _ in range(4)] == [b"a", b"x", b"b", b"y"]


def test_two_fetches_of_a_partition_may_wait_for_the_application() -> None:
    reader = Reader()
    partition = reader[A0]
    rooms = [partition.has_room]

    reader.fetch(batches(0, 2))
    rooms.append(partition.has_room)
    reader.fetch(batches(2, 2))
    rooms.append(partition.has_room)
    reader.buffer.wants_room = True
    reader.poll(3)
    rooms.append(partition.has_room)

    assert rooms == [True, True, False, True]
    assert reader.calls == ["room"]


def test_only_real_room_uses_up_the_wish_for_room() -> None:
    reader = Reader()
    reader.fetch(batches(0, 3))
    reader.poll(1)
    reader.fetch(batches(3, 2))
    reader.buffer.wants_room = True

    reader.poll(1)  # the first fetch is not read to its end: nothing may be added yet
    assert reader.calls == []
    reader.poll(1)

    assert reader.calls == ["room"]


def test_a_fetch_makes_room_when_its_last_span_is_begun() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2))
    reader.fetch(batches(2, 2))
    reader.buffer.wants_room = True

    assert reader.next() == b"0"

    assert reader.calls == ["room"]
    assert reader[A0].has_room


def test_the_rest_of_a_span_is_read_before_the_log_counts_as_ended() -> None:
    reader = Reader()
    reader.fetch(batches(0, 3))
    reader.next()
    reader.writer.fetch_after_reading(reader[A0])

    assert reader.poll(1) == [b"1"]
    assert reader[A0].fetch_offset == -1
    assert reader.poll(1) == [b"2"]
    assert reader[A0].fetch_offset == 3


def test_a_waiting_application_is_woken_once_per_response() -> None:
    reader = Reader(A0, A1)
    reader.buffer.is_waiting = True
    for partition in (A0, A1):
        fetched = FetchedRecords(partition.topic, partition.partition, batches(0, 1), 0)
        reader.writer.append(reader[partition], fetched, 100, 1)
    assert reader.calls == []

    reader.buffer.tell_of_records(lambda: reader.calls.append("fetch"))

    assert reader.calls == ["data", "fetch"]


def test_a_waiting_application_is_woken_by_data_and_by_events() -> None:
    reader = Reader()
    reader.fetch(batches(0, 1))
    assert reader.calls == []
    reader.poll()
    reader.poll()
    reader.buffer.is_waiting = True

    reader.fetch(batches(1, 1))
    reader.buffer.call_attention(EVENT)

    assert reader.calls == ["data", "data"]


def test_a_poll_that_is_broken_off_hands_out_nothing_and_loses_nothing() -> None:
    interrupts = [KeyboardInterrupt()]

    def interrupted_once(data: bytes) -> int:
        if data == b"3" and interrupts:
            raise interrupts.pop()
        return int(data)

    reader = Reader(A0, A1, value_deserializer=interrupted_once)
    reader.fetch(batches(0, 2), A0)
    reader.fetch(batches(0, 5), A1)

    with pytest.raises(KeyboardInterrupt):
        reader.poll()
    reader.reader.finish()

    assert (reader.finished(A0), reader.finished(A1)) == (0, 0)
    assert (reader[A0].fetch_offset, reader[A1].fetch_offset) == (0, 0)
    reader.fetch(batches(0, 2), A0)
    reader.fetch(batches(0, 5), A1)
    assert sorted(reader.poll()) == [0, 0, 1, 1, 2, 3, 4]


def test_fetched_records_are_read_before_the_end_of_the_log_counts() -> None:
    reader = Reader()
    reader.fetch(batches(0, 3))
    reader.next()

    reader.writer.fetch_after_reading(reader[A0])
    assert reader[A0].fetch_offset == -1

    assert [reader.next(), reader.next(), reader.next()] == [b"1", b"2", None]
    assert reader[A0].fetch_offset == 3
