from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients.consumer.deserializers import Deserializers
from pyk.clients.consumer.fetch_buffer import EVENT, FetchBuffer
from pyk.clients.consumer.fetch_reader import FetchReader
from pyk.clients.consumer.partition_buffer import PartitionBuffer
from pyk.clients.errors import CorruptRecordError, DeserializationError
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records import FetchedRecords
from pyk.protocol.records.record import owner_of
from support.batches import batch, batches

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))


def refuse_three(data: bytes) -> int:
    if data == b"3":
        raise ValueError("not a three")
    return int(data)


class Reader:
    """A fetch buffer with both of its sides in the test's hands."""

    def __init__(
        self,
        *partitions: TopicPartition,
        value_deserializer: Callable[[bytes], Any] | None = None,
        max_span: int = 500,
    ) -> None:
        self.calls: list[str] = []
        self.buffer = FetchBuffer(
            lambda: self.calls.append("data"), lambda: self.calls.append("room")
        )
        self.reader = FetchReader(self.buffer, Deserializers(None, value_deserializer), max_span)
        for partition in partitions or (A0,):
            self.buffer.set_position(self.buffer.add_partition(partition), 0, -1)

    def __getitem__(self, partition: TopicPartition) -> PartitionBuffer:
        return self.buffer.partitions[partition]

    def fetch(
        self, data: bytearray, partition: TopicPartition = A0, *, next_offset: int | None = None
    ) -> None:
        """Append what a fetch at the present fetch offset brought."""
        begin = self[partition].fetch_offset
        fetched = FetchedRecords(partition.topic, partition.partition, data, begin)
        end = next_offset if next_offset is not None else end_of(data)
        self.buffer.append(self[partition], fetched, len(data), end)

    def poll(self, max_records: int = 500) -> list[Any]:
        spans, records = self.reader.take(max_records)
        self.reader.is_under_way = False
        if records is None:
            return [record.value for span in spans for record in span]
        return [record.value for record in records]

    def next(self) -> Any:
        """Return the next value as iteration would, None when there is none."""
        record = self.next_whole()
        return None if record is None else record.value

    def next_whole(self) -> Any:
        """Return the next record as iteration would, None when there is none."""
        while (record := self.reader.next_record()) is None:
            if not self.reader.open_span():
                return None
        return record

    def attend(self) -> None:
        """Do what a consumer does when it is called for attention."""
        self.reader.come_back()
        self.buffer.clear_attention(EVENT)

    def finished(self, partition: TopicPartition = A0) -> int:
        return self.buffer.finished(self[partition])[0]

    def position(self, partition: TopicPartition = A0) -> int:
        return self[partition].position


def end_of(data: bytearray) -> int:
    """Return the offset behind the last batch."""
    position = end = 0
    while position < len(data):
        delta = int.from_bytes(data[position + 23 : position + 27], "big")
        end = int.from_bytes(data[position : position + 8], "big") + delta + 1
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return end


def test_a_poll_takes_at_most_what_it_asks_for_and_the_next_one_goes_on() -> None:
    reader = Reader()
    reader.fetch(batches(0, 3, 2))

    assert reader.poll(4) == [b"0", b"1", b"2", b"3"]
    assert reader.position() == 4
    assert reader.poll(4) == [b"4"]
    assert reader.poll(4) == []


def test_what_was_polled_is_finished_when_the_application_comes_for_more() -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))

    reader.poll(2)
    assert reader.finished() == 0
    reader.poll(2)
    assert reader.finished() == 2
    reader.reader.settle()
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


def test_poll_gets_what_iteration_left() -> None:
    reader = Reader()
    reader.fetch(batches(0, 4))

    assert [reader.next(), reader.next()] == [b"0", b"1"]

    assert reader.poll() == [b"2", b"3"]
    assert reader.finished() == 2


def test_iteration_gets_what_poll_left() -> None:
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


def test_a_paused_partition_keeps_what_it_has_until_it_is_resumed() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2))

    reader.buffer.pause(reader[A0])
    assert reader.poll() == []
    assert reader.buffer.buffered_bytes == 0
    reader.buffer.resume(reader[A0])

    assert reader.poll() == [b"0", b"1"]


def test_a_held_partition_gives_nothing() -> None:
    reader = Reader()
    reader.buffer.hold(reader[A0])
    reader.fetch(batches(0, 1))

    assert reader.poll() == []
    reader.buffer.release(reader[A0])
    assert reader.poll() == [b"0"]


def test_a_new_position_drops_what_was_fetched() -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))
    reader.poll(1)

    reader.buffer.set_position(reader[A0], 40, 3)

    assert reader.poll() == []
    assert (reader.position(), reader.buffer.finished(reader[A0])) == (40, (40, 3))
    assert reader[A0].fetch_offset == 40
    assert reader.buffer.buffered_bytes == 0


def test_a_new_position_ends_the_open_span_before_its_next_record() -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))
    reader.next()

    reader.buffer.set_position(reader[A0], 0, -1)

    assert reader.buffer.attention == EVENT
    assert reader.reader.next_record() is None
    reader.attend()
    assert reader.next() is None
    reader.fetch(batches(0, 5))
    assert reader.next() == b"0"


def test_removed_partitions_are_neither_read_nor_finished() -> None:
    reader = Reader(A0, A1)
    reader.fetch(batches(0, 2), A0)
    reader.fetch(batch(0, [b"x"]), A1)
    reader.poll(1)

    reader.buffer.remove_partition(reader[A0])

    assert reader.poll() == [b"x"]
    assert reader.buffer.partitions.keys() == {A1}


def test_empty_and_compacted_batches_move_position_and_finished() -> None:
    reader = Reader()
    empty = batch(0, [b"gone"])
    empty[57:61] = bytes(4)  # a batch that compaction left without records
    reader.fetch(resealed(empty[:61], last_offset_delta=9))

    assert reader.poll() == []

    assert (reader.position(), reader.finished()) == (10, 10)
    assert reader[A0].has_room


def test_good_records_come_before_the_error_of_a_bad_batch_and_each_poll_raises_it() -> None:
    reader = Reader()
    data = batches(0, 2, 2, 2)
    damage(data, number=1)
    reader.fetch(data)

    assert reader.poll() == [b"0", b"1"]
    for _ in range(3):
        with pytest.raises(CorruptRecordError, match="seek to offset 4") as caught:
            reader.poll()
        assert (caught.value.topic_partition, caught.value.offset) == (A0, 2)
        assert reader.position() == 2
    with pytest.raises(CorruptRecordError):
        reader.next()

    reader.buffer.set_position(reader[A0], 4, -1)
    reader.fetch(batches(4, 2))
    assert reader.poll() == [b"4", b"5"]


def test_a_bad_batch_does_not_stop_other_partitions() -> None:
    reader = Reader(A0, A1)
    data = batches(0, 1)
    damage(data, number=0)
    reader.fetch(data, A0)
    reader.fetch(batches(0, 3), A1)

    seen = []
    for _ in range(6):
        try:
            seen += reader.poll(1)
        except CorruptRecordError:
            seen.append(b"error")

    assert [value for value in seen if value != b"error"] == [b"0", b"1", b"2"]
    assert seen.count(b"error") >= 2


def test_an_error_waits_until_what_was_fetched_before_is_read() -> None:
    reader = Reader()
    reader.fetch(batches(0, 1))
    reader.buffer.fail(reader[A0], ValueError("unauthorized"))

    assert reader.poll() == [b"0"]
    with pytest.raises(ValueError, match="unauthorized"):
        reader.poll()
    assert reader.poll() == []


def test_an_error_that_has_passed_is_not_raised() -> None:
    reader = Reader()
    reader.buffer.fail(reader[A0], ValueError("unauthorized"))

    reader.buffer.heal(reader[A0])

    assert reader.poll() == []


def test_an_error_that_lasts_is_raised_until_there_is_another_position() -> None:
    reader = Reader()
    reader.buffer.fail(reader[A0], ValueError("truncated"), lasts=True)

    for _ in range(2):
        with pytest.raises(ValueError, match="truncated"):
            reader.poll()
    reader.buffer.set_position(reader[A0], 1, -1)
    assert reader.poll() == []


def test_a_refused_record_stays_next_in_polls() -> None:
    reader = Reader(value_deserializer=refuse_three)
    reader.fetch(batches(0, 6))

    assert reader.poll() == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(DeserializationError) as caught:
            reader.poll()
        assert (caught.value.topic_partition, caught.value.offset) == (A0, 3)
        assert isinstance(caught.value.__cause__, ValueError)
        assert reader.position() == reader.finished() == 3


def test_a_deserializer_that_stops_an_iteration_does_not_end_the_records() -> None:
    reader = Reader(value_deserializer=lambda value: next(iter(())) if value == b"3" else value)
    reader.fetch(batches(0, 6))

    assert reader.poll() == [b"0", b"1", b"2"]
    with pytest.raises(DeserializationError) as caught:
        reader.poll()
    assert caught.value.offset == 3


def test_a_refused_record_stays_next_in_iteration() -> None:
    reader = Reader(value_deserializer=refuse_three)
    reader.fetch(batches(0, 6))

    assert [reader.next() for _ in range(3)] == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(DeserializationError):
            reader.next()
        assert reader.position() == reader.finished() == 3
    with pytest.raises(DeserializationError):
        reader.poll()


def test_a_batch_header_that_lied_about_its_offsets_is_fetched_again() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2), next_offset=7)
    reader.fetch(batches(7, 2))

    assert reader.poll() == [b"0", b"1"]

    assert reader.poll() == []
    assert reader[A0].fetch_offset == 2


def test_where_to_fetch_next_is_known_once_all_is_read_if_headers_cannot_tell() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2), next_offset=-1)

    assert reader[A0].fetch_offset == -1
    reader.poll()
    reader.poll()

    assert reader[A0].fetch_offset == 2


def test_one_fetch_is_read_while_one_waits() -> None:
    reader = Reader()
    partition = reader[A0]
    rooms = [partition.has_room]

    reader.fetch(batches(0, 2))
    rooms.append(partition.has_room)
    reader.buffer.wants_room = True
    reader.poll(1)
    rooms.append(partition.has_room)
    reader.fetch(batches(2, 2))
    rooms.append(partition.has_room)

    assert rooms == [True, False, True, False]
    assert reader.calls == ["room"]


def test_only_real_room_uses_up_the_wish_for_room() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2))
    reader.poll(1)
    reader.fetch(batches(2, 2))
    reader.buffer.wants_room = True

    reader.poll(1)  # the first fetch is read, the second not begun: nothing may be added yet
    assert reader.calls == []
    reader.poll(1)

    assert reader.calls == ["room"]


def test_a_waiting_application_is_told_of_data_and_of_events() -> None:
    reader = Reader()
    reader.fetch(batches(0, 1))
    assert reader.calls == []
    reader.poll()
    reader.poll()
    reader.buffer.is_waiting = True

    reader.fetch(batches(1, 1))
    reader.buffer.call_attention(EVENT)

    assert reader.calls == ["data", "data"]


def test_an_unknown_position_has_nothing_to_commit() -> None:
    reader = Reader()

    reader.buffer.set_position(reader[A0], -1, -1)
    reader.poll()

    assert reader.finished() == -1


def damage(data: bytearray, number: int) -> None:
    """Change a byte of a record in one of the batches."""
    position = 0
    for _ in range(number):
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    data[position + 65] ^= 0xFF


def resealed(data: bytearray, *, last_offset_delta: int) -> bytearray:
    """Return a lone batch header with another last offset, its length and CRC made right."""
    from crc32c import crc32c

    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[23:27] = last_offset_delta.to_bytes(4, "big")
    data[17:21] = crc32c(data[21:]).to_bytes(4, "big")
    return data


@pytest.mark.parametrize("interrupt", ["pause", "hold", "set_position", "remove_partition"])
def test_whatever_stops_a_partition_ends_the_open_span_before_its_next_record(
    interrupt: str,
) -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))
    reader.next()

    arguments = (0, -1) if interrupt == "set_position" else ()
    getattr(reader.buffer, interrupt)(reader[A0], *arguments)

    assert reader.reader.next_record() is None
    reader.attend()
    assert reader.next() is None


@pytest.mark.parametrize(("stop", "go"), [("pause", "resume"), ("hold", "release")])
def test_what_is_left_of_a_span_is_read_once_its_partition_goes_on(stop: str, go: str) -> None:
    reader = Reader()
    reader.fetch(batches(0, 5))
    reader.next()

    getattr(reader.buffer, stop)(reader[A0])
    reader.attend()
    assert (reader.next(), reader.finished(), reader.position()) == (None, 1, 1)
    getattr(reader.buffer, go)(reader[A0])

    assert [reader.next() for _ in range(4)] == [b"1", b"2", b"3", b"4"]


def test_a_new_assignment_of_a_partition_has_another_version() -> None:
    reader = Reader()
    versions = {reader[A0].version}

    for _ in range(3):
        reader.buffer.remove_partition(reader[A0])
        reader.buffer.set_position(reader.buffer.add_partition(A0), 0, -1)
        versions.add(reader[A0].version)

    assert len(versions) == 4


def test_what_comes_for_a_partition_that_is_gone_changes_nothing() -> None:
    reader = Reader()
    gone = reader[A0]
    reader.buffer.remove_partition(gone)
    reader.buffer.set_position(reader.buffer.add_partition(A0), 7, -1)

    reader.buffer.append(gone, FetchedRecords("a", 0, batches(0, 2), 0), 100, 2)
    reader.buffer.set_position(gone, 40, -1)
    reader.buffer.fail(gone, ValueError("of old"))
    reader.buffer.pause(gone)
    reader.buffer.remove_partition(gone)

    assert reader.poll() == []
    assert (reader.position(), reader[A0].error, reader[A0].is_paused) == (7, None, False)


def test_records_belong_to_the_assignment_under_which_they_were_handed_out() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2))
    spans, _ = reader.reader.take(1)
    reader.reader.is_under_way = False
    first = reader[A0].assignment
    reader.buffer.remove_partition(reader[A0])
    reader.buffer.set_position(reader.buffer.add_partition(A0), 0, -1)
    reader.fetch(batches(0, 2))
    record = reader.next_whole()

    assert spans[0].origin.owner is first
    assert owner_of(next(iter(spans[0]))) is first
    assert owner_of(record) is reader[A0].assignment is not first


def test_a_position_that_changes_while_a_batch_is_read_voids_what_was_read() -> None:
    def seek_at_two(data: bytes) -> int:
        if data == b"2":
            reader.buffer.set_position(reader[A0], 7, -1)
        return int(data)

    reader = Reader(value_deserializer=seek_at_two)
    reader.fetch(batches(0, 5))

    assert reader.poll() == []
    assert (reader.position(), reader.finished()) == (7, 7)


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
    reader.reader.settle()

    assert (reader.finished(A0), reader.finished(A1)) == (0, 0)
    assert (reader[A0].fetch_offset, reader[A1].fetch_offset) == (0, 0)
    reader.fetch(batches(0, 2), A0)
    reader.fetch(batches(0, 5), A1)
    assert sorted(reader.poll()) == [0, 0, 1, 1, 2, 3, 4]


def test_what_a_refused_record_left_behind_of_an_open_span_is_all_read() -> None:
    reader = Reader(value_deserializer=refuse_three, max_span=2)
    reader.fetch(batches(0, 10))
    assert reader.poll() == [0, 1, 2]
    with pytest.raises(DeserializationError):
        reader.poll()

    reader.buffer.set_position(reader[A0], 4, -1)
    reader.fetch(batches(4, 6))
    assert reader.poll(1) == [4]
    assert [reader.next(), reader.next(), reader.next()] == [5, 6, 7]
    assert reader.poll() == [8, 9]
    assert reader.calls == []


def test_the_application_reads_what_it_has_before_an_end_of_the_log_counts() -> None:
    reader = Reader()
    reader.fetch(batches(0, 3))
    reader.next()

    reader.buffer.fetch_after_reading(reader[A0])
    assert reader[A0].fetch_offset == -1

    assert [reader.next(), reader.next(), reader.next()] == [b"1", b"2", None]
    assert reader[A0].fetch_offset == 3
