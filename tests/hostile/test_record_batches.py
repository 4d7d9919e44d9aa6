"""Batches from a broken or hostile peer: typed errors in bounded memory.

The cases follow measurements of Apache Kafka. Where it is lax or crashes, pyk refuses; where it
accepts on purpose, pyk accepts.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyk.protocol.errors import ProtocolError
from pyk.protocol.records import (
    CorruptRecordError,
    FetchedRecords,
    RecordBatchError,
    UnsupportedMagicError,
    read_batches,
)
from pyk.protocol.records.varint import decode_varint, decode_varlong, encode_varint
from support.record_batches import (
    GOOD,
    control_batch,
    raw_batch,
    read_all,
    record,
    sealed,
    sized,
)

cramjam = pytest.importorskip("cramjam")

MIB = 1024 * 1024


def with_length(length: int) -> bytes:
    """Return a record of 7 bytes with a null value, whose length field is ``length``."""
    return encode_varint(length) + record(0, value=None)[1:]


def body(*parts: bytes) -> bytes:
    """Return a record of ``parts`` after the attributes, with the correct length."""
    content = b"\x00" + b"".join(parts)
    return encode_varint(len(content)) + content


@pytest.mark.parametrize("length", [-1, 13, -(1 << 31), 0])
def test_an_invalid_batch_length_is_corrupt(length: int) -> None:
    with pytest.raises(CorruptRecordError, match=f"batch length of {length} "):
        read_all(raw_batch(GOOD, 2, length=length))


def test_a_batch_length_below_an_empty_batch_is_corrupt() -> None:
    with pytest.raises(CorruptRecordError, match="batch length of 48 is below the 49"):
        read_all(raw_batch(GOOD, 2, length=48))


@pytest.mark.parametrize("length", [1_000_000, (1 << 31) - 1])
def test_a_batch_longer_than_its_buffer_is_partial(length: int) -> None:
    assert read_all(raw_batch(GOOD, 2, length=length)) == []


@pytest.mark.parametrize("size", range(61))
def test_a_batch_whose_header_is_truncated_is_partial(size: int) -> None:
    assert read_all(sealed(b"v")[:size]) == []


def test_a_partial_batch_after_a_good_one_is_ignored() -> None:
    assert read_all(sealed(b"a") + sealed(b"b", base_offset=1)[:-1]) == [b"a"]


@pytest.mark.parametrize("magic", [3, 7, 127, -1])
def test_an_unknown_magic_is_unsupported(magic: int) -> None:
    with pytest.raises(UnsupportedMagicError, match=f"magic byte {magic} "):
        read_all(raw_batch(GOOD, 2, magic=magic))


def test_any_flipped_bit_after_the_crc_is_detected() -> None:
    good = sealed(b"value")
    for position in range(17, len(good)):
        bad = bytearray(good)
        bad[position] ^= 0x10

        with pytest.raises(RecordBatchError):
            read_all(bytes(bad))


def test_batches_before_a_corrupt_one_are_read_and_the_error_names_its_offsets() -> None:
    bad = bytearray(sealed(b"b", b"c", base_offset=1))
    bad[-1] ^= 1
    batches = read_batches(sealed(b"a") + bytes(bad) + sealed(b"d", base_offset=3))

    assert [one.value for one in next(batches)] == [b"a"]
    with pytest.raises(CorruptRecordError, match=r"offsets 1 to 2: its stored CRC") as caught:
        next(batches)

    assert (caught.value.base_offset, caught.value.next_offset) == (1, 3)


def test_a_consumer_stays_before_a_corrupt_batch_at_every_poll() -> None:
    bad = bytearray(sealed(b"b", base_offset=1))
    bad[-1] ^= 1
    fetched = FetchedRecords("orders", 0, sealed(b"a") + bytes(bad), 0)

    span = fetched.next_span(10)
    assert span is not None
    assert [one.value for one in span] == [b"a"]

    for _ in range(3):
        with pytest.raises(CorruptRecordError):
            fetched.next_span(10)
        assert fetched.next_offset == 1


@pytest.mark.parametrize(
    ("records", "count", "reason"),
    [
        (GOOD, -1, "declares -1 records"),
        (GOOD, -5, "declares -5 records"),
        (GOOD, 3, "record 2 of 3: a varint is cut off|too short for its record count"),
        (GOOD, 1, "bytes follow the last record"),
        (GOOD, 0, "bytes follow the last record"),
        (GOOD + b"\x00", 2, "bytes follow the last record"),
        (GOOD, (1 << 31) - 1, "too short for its record count"),
        (b"", 1, "too short for its record count"),
    ],
)
def test_a_record_count_that_does_not_fit_is_corrupt(
    records: bytes, count: int, reason: str
) -> None:
    with pytest.raises(CorruptRecordError, match=reason):
        read_all(raw_batch(records, count, last_offset_delta=max(count - 1, 0)))


@pytest.mark.parametrize("last_offset_delta", [-1, 0, -(1 << 31)])
def test_a_last_offset_delta_below_the_count_is_corrupt(last_offset_delta: int) -> None:
    with pytest.raises(CorruptRecordError, match="declares 2 records with a last offset delta"):
        read_all(raw_batch(GOOD, 2, last_offset_delta=last_offset_delta))


@pytest.mark.parametrize("base_offset", [-1, -(1 << 63), (1 << 63) - 1, (1 << 63) - 2])
def test_offsets_that_do_not_fit_63_bits_are_corrupt(base_offset: int) -> None:
    with pytest.raises(CorruptRecordError, match=r"offsets lie outside of 0 to 2\*\*63 - 1"):
        read_all(raw_batch(GOOD, 2, base_offset=base_offset))


def test_the_largest_offsets_are_read() -> None:
    (batch,) = read_batches(raw_batch(GOOD, 2, base_offset=(1 << 63) - 3))

    assert [one.offset for one in batch] == [(1 << 63) - 3, (1 << 63) - 2]
    assert batch.next_offset == (1 << 63) - 1


@pytest.mark.parametrize("deltas", [(0, 0), (1, 0), (-1, 0), (0, 3), (0, -(1 << 31))])
def test_offset_deltas_that_do_not_rise_in_a_batch_with_gaps_are_corrupt(
    deltas: tuple[int, int],
) -> None:
    records = b"".join(record(delta) for delta in deltas)

    with pytest.raises(CorruptRecordError, match="offset delta does not rise, or lies outside"):
        read_all(raw_batch(records, 2, last_offset_delta=2))


@pytest.mark.parametrize(
    ("base", "delta"), [((1 << 63) - 1, 1), (-(1 << 63), -1), (-2, -(1 << 63)), (1, (1 << 63) - 1)]
)
def test_a_timestamp_that_does_not_fit_64_bits_is_corrupt(base: int, delta: int) -> None:
    with pytest.raises(CorruptRecordError, match="timestamp lies outside of 64 bits"):
        read_all(raw_batch(record(0, delta), 1, base_timestamp=base))


@pytest.mark.parametrize(
    ("base", "delta"), [((1 << 63) - 1, -(1 << 63)), (-(1 << 63), (1 << 63) - 1)]
)
def test_extreme_timestamps_that_fit_are_read(base: int, delta: int) -> None:
    (batch,) = read_batches(raw_batch(record(0, delta), 1, base_timestamp=base))

    assert [one.timestamp for one in batch] == [base + delta]


@pytest.mark.parametrize("length", [6, 8, 0, -1, 1 << 20, (1 << 31) - 1, -(1 << 31)])
def test_a_wrong_record_length_is_corrupt(length: int) -> None:
    assert len(record(0, value=None)) == 9 - 1

    with pytest.raises(CorruptRecordError, match="record 0 of 1: "):
        read_all(raw_batch(with_length(length) + record(1), 1, last_offset_delta=1))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (body(b"\0\0", encode_varint(-2), b"\x01", b"\0"), "key length is below -1"),
        (body(b"\0\0", encode_varint(100), b"kkkk"), "key length is below -1, or larger"),
        (body(b"\0\0", b"\x01", encode_varint(-2), b"\0\0"), "value length is below -1"),
        (body(b"\0\0\x01", encode_varint(1 << 30), b"\0"), "value length is below -1, or larger"),
        (body(b"\0\0\x01\x01", encode_varint(-1), b"\0\0"), "header count is negative"),
        (body(b"\0\0\x01\x01", encode_varint(1_000_000), b"\0"), "header count is negative, or"),
        (
            body(b"\0\0\x01\x01", encode_varint(1), encode_varint(-1), b"\x01"),
            "header key length is negative",
        ),
        (
            body(b"\0\0\x01\x01", encode_varint(1), encode_varint(99), b"\x01"),
            "header key length is negative, or larger",
        ),
        (
            body(b"\0\0\x01\x01", encode_varint(1), sized(b"h"), encode_varint(-5)),
            "header value length is below -1",
        ),
        (
            body(b"\0\0\x01\x01", encode_varint(1), sized(b"h"), encode_varint(9)),
            "header value length is below -1, or larger",
        ),
        (body(b"\0\0\x01\x01", encode_varint(1), sized(b"\xff"), b"\x01"), "not UTF-8"),
        (body(b"\0\0\x01\x01", encode_varint(1), sized(b"\xed\xa0\x80"), b"\x01"), "not UTF-8"),
        (body(b"\0\0\x01\x01\0", b"x"), "fields end before the record does"),
        (body(b"\x80" * 10, b"\0"), "varint is longer"),
        (body(b"\0" + b"\xff" * 6), "varint is longer"),
        (body(b"\0\x80\x00\x01\x01\x00"), "varint is longer"),
        (body(b"\xff" * 9 + b"\x7f", b"\0"), "varint is longer"),
        (body(b"\0\0\x01\x01\x80"), "varint is cut off"),
    ],
)
def test_a_malformed_record_field_is_corrupt(bad: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecordError, match=f"record 1 of 2: .*{reason}") as caught:
        read_all(raw_batch(record(0) + bad, 2, base_offset=40))

    assert (caught.value.base_offset, caught.value.next_offset) == (40, 42)


@pytest.mark.parametrize("decode", [decode_varint, decode_varlong])
@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff"])
def test_a_truncated_varint_is_refused(
    decode: Callable[[bytes, int, int], tuple[int, int]], data: bytes
) -> None:
    with pytest.raises(CorruptRecordError, match="cut off"):
        decode(data, 0, len(data))


@pytest.mark.parametrize(
    ("decode", "data"),
    [
        (decode_varint, b"\x80\x80\x80\x80\x80\x00"),
        (decode_varint, b"\xff\xff\xff\xff\x1f"),
        (decode_varint, b"\x80\x00"),
        (decode_varlong, b"\x80" * 10 + b"\x00"),
        (decode_varlong, b"\xff" * 9 + b"\x02"),
        (decode_varlong, b"\xff\x80\x00"),
    ],
)
def test_a_varint_that_is_not_the_shortest_encoding_is_refused(
    decode: Callable[[bytes, int, int], tuple[int, int]], data: bytes
) -> None:
    with pytest.raises(CorruptRecordError, match="longer than its value needs"):
        decode(data, 0, len(data))


def test_a_batch_is_read_as_a_whole_or_not_at_all() -> None:
    fetched = FetchedRecords(
        "orders", 0, raw_batch(record(0) + record(0), 2, last_offset_delta=2), 0
    )

    with pytest.raises(CorruptRecordError):
        fetched.next_span(1)
    assert fetched.next_offset == 0


def test_unused_attribute_bits_are_ignored() -> None:
    batch = raw_batch(record(0, attributes=0xFF), 1, attributes=-0x8000 | 0x7F80)

    assert read_all(batch) == [b"v"]


def test_an_unknown_control_type_is_skipped_and_counted() -> None:
    data = control_batch(9, base_offset=0) + sealed(b"a", base_offset=1)
    fetched = FetchedRecords("orders", 0, data, 0)

    span = fetched.next_span(10)

    assert span is not None
    assert [one.value for one in span] == [b"a"]
    assert fetched.unknown_control_batches == 1


def test_a_control_batch_of_anything_but_a_control_record_is_skipped_too() -> None:
    data = raw_batch(GOOD, 2, attributes=0x20) + raw_batch(
        b"", 0, base_offset=2, attributes=0x20, last_offset_delta=0
    )
    fetched = FetchedRecords("orders", 0, data, 0)

    assert fetched.next_span(10) is None
    assert fetched.next_offset == 3
    assert fetched.unknown_control_batches == 2


def test_every_error_is_a_protocol_error_without_bytes_of_the_payload() -> None:
    secret = b"card 4111-1111-1111-1111"
    bad = raw_batch(record(0, value=secret) + record(0), 2, last_offset_delta=2)

    with pytest.raises(ProtocolError) as caught:
        read_all(bad)

    assert "4111" not in str(caught.value)
    assert len(str(caught.value)) < 256
