"""An unreadable record stops its partition there, and no other."""

from __future__ import annotations

import pytest

from pyk.clients.errors import CorruptRecordError, DeserializationError
from support.batches import batch, batches
from support.fetch_reading import A0, A1, Reader


def refuse_three(data: bytes) -> int:
    if data == b"3":
        raise ValueError("not a three")
    return int(data)


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

    reader.writer.set_position(reader[A0], 4, -1)
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


def test_an_error_waits_until_the_records_before_it_are_read() -> None:
    reader = Reader()
    reader.fetch(batches(0, 1))
    reader.writer.fail(reader[A0], ValueError("unauthorized"))

    assert reader.poll() == [b"0"]
    with pytest.raises(ValueError, match="unauthorized"):
        reader.poll()
    assert reader.poll() == []


def test_an_error_that_has_passed_is_not_raised() -> None:
    reader = Reader()
    reader.writer.fail(reader[A0], ValueError("unauthorized"))

    reader.writer.heal(reader[A0])

    assert reader.poll() == []


def test_an_error_that_lasts_is_raised_until_there_is_another_position() -> None:
    reader = Reader()
    reader.writer.fail(reader[A0], ValueError("truncated"), lasts=True)

    for _ in range(2):
        with pytest.raises(ValueError, match="truncated"):
            reader.poll()
    reader.writer.set_position(reader[A0], 1, -1)
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


def test_the_fetch_offset_is_known_once_all_is_read_if_headers_cannot_tell() -> None:
    reader = Reader()
    reader.fetch(batches(0, 2), next_offset=-1)

    assert reader[A0].fetch_offset == -1
    reader.poll()
    reader.poll()

    assert reader[A0].fetch_offset == 2


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


def test_records_after_a_refused_one_in_an_open_span_are_all_read() -> None:
    reader = Reader(value_deserializer=refuse_three, max_span=2)
    reader.fetch(batches(0, 10))
    assert reader.poll() == [0, 1, 2]
    with pytest.raises(DeserializationError):
        reader.poll()

    reader.writer.set_position(reader[A0], 4, -1)
    reader.fetch(batches(4, 6))
    assert reader.poll(1) == [4]
    assert [reader.next(), reader.next(), reader.next()] == [5, 6, 7]
    assert reader.poll() == [8, 9]
    assert reader.calls == []
