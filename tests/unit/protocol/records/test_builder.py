from __future__ import annotations

import array
import mmap
import struct
from collections.abc import Sequence
from typing import Any

import pytest

from pyk.protocol.records import (
    Compression,
    RecordBatch,
    RecordBatchBuilder,
    TimestampType,
    UnsupportedCompressionError,
    read_batches,
    restamp,
    set_base_offset_and_epoch,
    set_log_append_time,
    set_max_timestamp,
)
from support.record_batches import NOW_MS, sealed


def read_one(data: Any) -> RecordBatch:
    (batch,) = read_batches(data)
    return batch


def values_of(data: Any) -> list[bytes | None]:
    return [record.value for record in read_one(data)]


def test_append_returns_the_offset_delta_and_counts() -> None:
    builder = RecordBatchBuilder()

    assert [builder.append(NOW_MS, None, b"a"), builder.append(NOW_MS, None, b"b")] == [0, 1]

    assert builder.count == 2
    assert builder.size == len(builder.seal())


@pytest.mark.parametrize(
    "place",
    [
        {"producer_id": 2**63},
        {"producer_epoch": 2**15},
        {"producer_epoch": 2**16 + 7},
        {"base_sequence": 2**31},
        {"last_offset_delta": 2**31},
    ],
)
def test_a_number_that_the_header_cannot_hold_is_refused(place: dict[str, int]) -> None:
    builder = RecordBatchBuilder()
    builder.append(NOW_MS, None, b"a")

    with pytest.raises((OverflowError, struct.error)):
        builder.seal(**place)  # type: ignore[arg-type]


def test_a_record_that_does_not_fit_leaves_the_batch_as_it_was() -> None:
    builder = RecordBatchBuilder(max_bytes=100)
    builder.append(NOW_MS, None, b"fits")
    size = builder.size

    assert builder.append(NOW_MS, None, b"x" * 60) == -1

    assert (builder.count, builder.size) == (1, size)
    assert values_of(builder.seal()) == [b"fits"]


def test_a_batch_may_be_filled_to_its_last_byte() -> None:
    size = len(sealed(b"a", b"b"))

    for max_bytes, fits in ((size, 1), (size - 1, -1)):
        builder = RecordBatchBuilder(max_bytes=max_bytes)
        builder.append(NOW_MS, b"k", b"a")

        assert builder.append(NOW_MS + 1, b"k", b"b") == fits


@pytest.mark.parametrize("max_bytes", [0, 1, 61, 16_384])
def test_the_first_record_always_fits(max_bytes: int) -> None:
    builder = RecordBatchBuilder(max_bytes=max_bytes)

    assert builder.append(NOW_MS, None, b"x" * 100_000) == 0
    assert values_of(builder.seal()) == [b"x" * 100_000]


@pytest.mark.parametrize(
    "value",
    [bytearray(b"abcd"), memoryview(b"abcd"), array.array("b", b"abcd")],
    ids=["bytearray", "memoryview", "array"],
)
def test_keys_and_values_are_any_bytes_like_object(value: Any) -> None:
    builder = RecordBatchBuilder()

    builder.append(NOW_MS, value, value, [("h", value)])

    (record,) = read_one(builder.seal())
    assert (record.key, record.value, record.headers) == (b"abcd", b"abcd", (("h", b"abcd"),))


def test_bytes_that_do_not_lie_side_by_side_are_refused() -> None:
    with pytest.raises((TypeError, BufferError)):
        RecordBatchBuilder().append(NOW_MS, None, memoryview(b"-a-b-c-d")[1::2])


def test_wide_elements_count_in_bytes() -> None:
    builder = RecordBatchBuilder()

    builder.append(NOW_MS, None, memoryview(array.array("q", [1, 2])))

    assert len(values_of(builder.seal())[0] or b"") == 16


def test_headers_keep_order_repetition_and_null() -> None:
    headers = [("h", b"x"), ("h", None), ("", b""), ("ключ", "значение".encode())]
    builder = RecordBatchBuilder()

    builder.append(NOW_MS, None, None, headers)

    assert next(iter(read_one(builder.seal()))).headers == tuple(headers)


@pytest.mark.parametrize("headers", [(), [], (("h", b"x"),), [["h", b"x"]], {"h": b"x"}.items()])
def test_headers_are_any_sequence_of_pairs(headers: Any) -> None:
    builder = RecordBatchBuilder()

    builder.append(NOW_MS, None, None, headers)

    assert next(iter(read_one(builder.seal()))).headers == tuple(map(tuple, headers))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("text", b""), "a key is bytes-like or None, not str"),
        ((b"", 5), "a value is bytes-like or None, not int"),
        ((b"", b"", [(b"h", b"")]), "a header key is text, not bytes"),
        ((b"", b"", [("h", "text")]), "a header value is bytes-like or None, not str"),
    ],
)
def test_a_value_that_is_not_bytes_is_refused_by_name(arguments: Sequence[Any], words: str) -> None:
    builder = RecordBatchBuilder()

    with pytest.raises(TypeError, match=words):
        builder.append(NOW_MS, *arguments)

    assert builder.count == 0


def test_timestamps_may_fall_and_the_largest_is_kept() -> None:
    builder = RecordBatchBuilder()
    for timestamp in (NOW_MS, NOW_MS - 10**9, NOW_MS + 5, NOW_MS + 1):
        builder.append(timestamp, None, b"")

    batch = read_one(builder.seal())

    assert (batch.base_timestamp, batch.max_timestamp) == (NOW_MS, NOW_MS + 5)
    assert [one.timestamp for one in batch] == [NOW_MS, NOW_MS - 10**9, NOW_MS + 5, NOW_MS + 1]


@pytest.mark.parametrize("first", [(1 << 63) - 1, -(1 << 63), -1, 0])
def test_any_int64_may_be_the_first_timestamp(first: int) -> None:
    builder = RecordBatchBuilder()
    builder.append(first, None, b"")

    batch = read_one(builder.seal())

    assert batch.max_timestamp == first
    assert [one.timestamp for one in batch] == [first]


def test_timestamps_too_far_apart_for_their_difference_are_refused() -> None:
    builder = RecordBatchBuilder()
    builder.append(-2, None, b"")

    with pytest.raises(ValueError, match="too far from the first"):
        builder.append((1 << 63) - 1, None, b"")
    with pytest.raises(OverflowError):
        builder.append(1 << 63, None, b"")

    assert builder.count == 1


def test_offset_deltas_may_have_gaps_but_must_rise_and_fit() -> None:
    builder = RecordBatchBuilder()
    builder.append_at(5, NOW_MS, None, b"")

    with pytest.raises(ValueError, match="offset delta 5 is below the next, 6"):
        builder.append_at(5, NOW_MS, None, b"")
    for beyond in (1 << 31, 1 << 70):
        with pytest.raises(ValueError, match="does not fit an int32"):
            builder.append_at(beyond, NOW_MS, None, b"")
    builder.append_at((1 << 31) - 1, NOW_MS, None, b"")
    with pytest.raises(ValueError, match="offset delta 2147483648 does not fit an int32"):
        builder.append(NOW_MS, None, b"")

    assert [one.offset for one in read_one(builder.seal())] == [5, (1 << 31) - 1]


def test_a_record_that_fits_no_batch_is_refused_before_it_is_copied() -> None:
    with mmap.mmap(-1, 1 << 31) as huge:
        builder = RecordBatchBuilder(max_bytes=1 << 40)
        for arguments in ((None, huge), (huge, None)):
            with pytest.raises(ValueError, match="2147483648 bytes fits no batch"):
                builder.append(NOW_MS, *arguments)
        with memoryview(huge)[: 1 << 30] as half, pytest.raises(ValueError, match="a record of"):
            builder.append(NOW_MS, half, half)

        assert builder.size == 61


def test_extend_takes_as_many_as_fit_and_goes_on_from_there() -> None:
    values = [b"%03d" % number for number in range(100)]
    read: list[bytes | None] = []
    start = 0
    while start < len(values):
        builder = RecordBatchBuilder(max_bytes=300)
        start += builder.extend_values(NOW_MS, values, start)
        read += values_of(builder.seal())

    assert read == values


def test_extend_pairs_keeps_keys() -> None:
    pairs = [(b"a", b"1"), (None, b"2"), (b"c", None)]
    builder = RecordBatchBuilder()

    assert builder.extend_pairs(NOW_MS, pairs, 1) == 2

    assert [(one.key, one.value) for one in read_one(builder.seal())] == pairs[1:]


def test_extend_from_after_the_end_takes_nothing() -> None:
    builder = RecordBatchBuilder()

    assert builder.extend_values(NOW_MS, [b"a"], 5) == 0
    assert builder.extend_pairs(NOW_MS, [(b"a", b"b")], 1) == 0
    with pytest.raises(ValueError, match="start=-1"):
        builder.extend_values(NOW_MS, [b"a"], -1)


def test_a_bad_value_stops_an_extension_after_the_good_ones() -> None:
    builder = RecordBatchBuilder()

    with pytest.raises(TypeError):
        builder.extend_values(NOW_MS, [b"a", "text", b"c"])  # type: ignore[list-item]

    assert values_of(builder.seal()) == [b"a"]


def test_sealing_hands_on_the_buffer_that_was_appended_to() -> None:
    builder = RecordBatchBuilder()
    builder.append(NOW_MS, None, b"a")

    data = builder.seal()

    assert isinstance(data.obj, bytearray)
    assert not data.readonly
    assert data.nbytes == len(data.obj)


def test_a_sealed_batch_takes_no_more() -> None:
    builder = RecordBatchBuilder()
    builder.append(NOW_MS, None, b"a")
    builder.seal()

    for use in (lambda: builder.append(NOW_MS, None, b"b"), builder.seal):
        with pytest.raises(ValueError, match="the batch is sealed"):
            use()
    assert builder.count == 1


def test_headers_that_seal_their_own_batch_do_no_harm() -> None:
    builder = RecordBatchBuilder()
    builder.append(NOW_MS, None, b"a")

    def headers() -> Any:
        builder.seal()
        yield "h", b""

    with pytest.raises((ValueError, TypeError)):
        builder.append(NOW_MS, None, b"b", headers())  # type: ignore[arg-type]


def test_a_batch_without_records_is_refused_unless_it_keeps_an_offset() -> None:
    with pytest.raises(ValueError, match="a batch of 0 records cannot end at offset delta -1"):
        RecordBatchBuilder().seal()

    batch = read_one(RecordBatchBuilder().seal(last_offset_delta=5))
    assert (batch.count, batch.next_offset, list(batch)) == (0, 6, [])


@pytest.mark.parametrize("compression", list(Compression))
def test_a_batch_is_read_back_with_every_codec(compression: Compression) -> None:
    values = [b"value %d" % number for number in range(500)]
    builder = RecordBatchBuilder(compression, max_bytes=1 << 20)
    builder.extend_values(NOW_MS, values)
    size = builder.size

    batch = read_one(builder.seal(producer_id=7, producer_epoch=1, base_sequence=3))

    assert batch.compression_type is compression
    assert [one.value for one in batch] == values
    assert batch.last_sequence == 502
    assert (batch.size_in_bytes < size) is (compression is not Compression.NONE)


@pytest.mark.parametrize("level", [1, 5])
@pytest.mark.parametrize("compression", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_a_level_is_passed_to_the_codec(compression: Compression, level: int) -> None:
    builder = RecordBatchBuilder(compression, level)
    builder.append(NOW_MS, None, b"value" * 50)

    assert values_of(builder.seal()) == [b"value" * 50]


def test_snappy_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cramjam", None)

    with pytest.raises(UnsupportedCompressionError, match=r"pip install 'pyk-kafka\[snappy\]'"):
        RecordBatchBuilder(Compression.SNAPPY)


def test_restamping_changes_only_the_producer_fields() -> None:
    builder = RecordBatchBuilder()
    builder.append(NOW_MS, b"k", b"v")
    data = builder.seal(producer_id=1, producer_epoch=2, base_sequence=3, is_transactional=True)

    restamp(data, 10, 20, (1 << 31) - 1)

    batch = read_one(data)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (10, 20, (1 << 31) - 1)
    assert batch.is_transactional
    assert [one.value for one in batch] == [b"v"]


def test_a_broker_sets_place_and_time_in_place() -> None:
    data = bytearray(sealed(b"a", b"b"))

    set_base_offset_and_epoch(data, 1000, 9)
    set_log_append_time(data, NOW_MS + 77)

    batch = read_one(data)
    assert (batch.base_offset, batch.last_offset, batch.partition_leader_epoch) == (1000, 1001, 9)
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [one.timestamp for one in batch] == [NOW_MS + 77] * 2


def test_a_broker_corrects_the_largest_timestamp_in_place() -> None:
    data = bytearray(sealed(b"a"))

    set_max_timestamp(data, NOW_MS + 1)

    assert read_one(data).max_timestamp == NOW_MS + 1
    assert read_one(data).timestamp_type is TimestampType.CREATE_TIME


def test_fields_are_set_in_the_first_of_several_batches() -> None:
    data = bytearray(sealed(b"a") + sealed(b"b", base_offset=1))

    restamp(data, 5, 0, 0)

    assert [batch.producer_id for batch in read_batches(data)] == [5, -1]
