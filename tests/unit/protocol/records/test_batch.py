from __future__ import annotations

import pytest

from pyk.protocol.records import (
    CorruptRecordError,
    DecompressionLimitError,
    RecordBatch,
    RecordBatchError,
    TimestampType,
    UnsupportedCompressionError,
    parse_batch,
    read_batches,
    restamp,
)
from support.record_batches import NOW_MS, control_batch, raw_batch, record, sealed


def test_the_header_of_a_batch_is_its_attributes() -> None:
    data = sealed(b"a", b"b", base_offset=7, leader_epoch=3, producer_id=1, base_sequence=4)

    batch = parse_batch(memoryview(data))

    assert batch is not None
    assert (batch.magic, batch.base_offset, batch.last_offset, batch.next_offset) == (2, 7, 8, 9)
    assert (batch.count, batch.size_in_bytes) == (2, len(data))
    assert (batch.partition_leader_epoch, batch.base_sequence, batch.last_sequence) == (3, 4, 5)
    assert (batch.base_timestamp, batch.max_timestamp) == (NOW_MS, NOW_MS + 1)
    assert batch.has_producer_id
    assert not batch.is_control
    assert not batch.is_transactional
    assert batch.delete_horizon_ms is None
    assert batch.timestamp_type is TimestampType.CREATE_TIME


def test_a_sequence_wraps_to_zero() -> None:
    (batch,) = read_batches(
        sealed(*b"abc".split(), b"x", b"y", producer_id=1, base_sequence=(1 << 31) - 1)
    )

    assert batch.last_sequence == 1


def test_a_batch_shows_its_place() -> None:
    (batch,) = read_batches(sealed(b"a", base_offset=7))

    assert repr(batch).startswith("RecordBatch(base_offset=7, last_offset=7, count=1, ")


def test_batches_are_parsed_where_they_lie() -> None:
    data = sealed(b"a") + sealed(b"b", base_offset=1)

    second = parse_batch(memoryview(data), len(sealed(b"a")))

    assert second is not None
    assert second.base_offset == 1
    assert second.data.obj is data


def test_parsing_leaves_the_checksum_to_check() -> None:
    bad = bytearray(sealed(b"a"))
    bad[-1] ^= 1

    batch = parse_batch(memoryview(bad))

    assert batch is not None
    with pytest.raises(CorruptRecordError, match="stored CRC"):
        batch.check()


def test_a_batch_is_made_of_the_bytes_of_one_batch_alone_or_not_at_all() -> None:
    data = sealed(b"a", base_offset=7)

    assert RecordBatch(memoryview(data)).base_offset == 7
    for cut in (data[:16], data[:60], data[:16] + b"\1" + data[17:]):
        with pytest.raises(CorruptRecordError, match="do not begin with a header of magic 2"):
            RecordBatch(memoryview(cut))


def test_the_offsets_of_a_hostile_header_do_not_overflow() -> None:
    data = raw_batch(b"", 0, base_offset=2**63 - 1, last_offset_delta=2**31 - 1)

    batch = parse_batch(memoryview(data))

    assert batch is not None
    assert batch.last_offset == 2**63 + 2**31 - 2
    assert batch.next_offset == 2**63 + 2**31 - 1
    with pytest.raises(CorruptRecordError):
        batch.check()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_batches_are_read_from_any_bytes(kind: type) -> None:
    assert [one.value for batch in read_batches(kind(sealed(b"a"))) for one in batch] == [b"a"]


def test_a_control_batch_is_read_like_any_other() -> None:
    (batch,) = read_batches(control_batch(1, base_offset=5))

    assert batch.is_control
    assert [one.key for one in batch] == [b"\x00\x00\x00\x01"]


def test_the_limit_on_decompressed_bytes_does_not_apply_to_uncompressed_batches() -> None:
    (batch,) = read_batches(sealed(b"x" * 1000), max_decompressed_bytes=10)

    assert [one.value for one in batch] == [b"x" * 1000]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (CorruptRecordError("why"), "why"),
        (CorruptRecordError("why", base_offset=4), "record batch at offset 4: why"),
        (
            DecompressionLimitError("why", base_offset=4, next_offset=9),
            "record batch of offsets 4 to 8: why",
        ),
        (
            UnsupportedCompressionError("why").in_batch(4, 5),
            "record batch of offsets 4 to 4: why",
        ),
    ],
)
def test_errors_say_which_batch_they_are_about(error: RecordBatchError, text: str) -> None:
    assert str(error) == text


def test_an_error_keeps_its_class_and_reason_when_its_place_is_filled_in() -> None:
    error = UnsupportedCompressionError("why").in_batch(4, None)

    assert isinstance(error, UnsupportedCompressionError)
    assert (error.reason, error.base_offset, error.next_offset) == ("why", 4, None)


def test_a_batch_whose_offsets_are_impossible_names_no_offset_to_go_on_from() -> None:
    with pytest.raises(CorruptRecordError) as caught:
        list(read_batches(raw_batch(record(0), 1, base_offset=(1 << 63) - 1)))

    assert caught.value.next_offset is None


@pytest.mark.parametrize("length", [-1, 0, 40, 1 << 30])
def test_no_checksum_is_set_beyond_the_data_of_a_batch(length: int) -> None:
    data = bytearray(raw_batch(record(0), 1))
    data[8:12] = length.to_bytes(4, "big", signed=True)

    with pytest.raises(ValueError, match="has no checksum"):
        restamp(data, 7, 0, 0)
