"""Laws of record batches: decoding returns the encoded records, in spans of any size."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyk.protocol.records import (
    Compression,
    CorruptRecordError,
    FetchedRecords,
    Record,
    RecordBatchBuilder,
    RecordBatchError,
    RecordIterator,
    read_batches,
    read_columns,
    set_base_offset_and_epoch,
)
from pyk.protocol.records.varint import (
    decode_varint,
    decode_varlong,
    encode_varint,
    encode_varlong,
)
from support.record_batches import ORIGIN, rows

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
MAYBE_BYTES = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=20), MAYBE_BYTES), max_size=3).map(tuple)
# Differences of these timestamps fit an int64, in any order.
TIMESTAMPS = st.integers(-(1 << 62), (1 << 62) - 1)
SOURCES = st.lists(
    st.tuples(TIMESTAMPS, MAYBE_BYTES, MAYBE_BYTES, HEADERS), min_size=1, max_size=20
)
CODECS = st.sampled_from(list(Compression))
Source = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def batch_of(sources: list[Source], codec: Compression, base_offset: int = 0) -> bytes:
    builder = RecordBatchBuilder(codec, max_bytes=1 << 20)
    for source in sources:
        builder.append(*source)
    data = builder.seal()
    set_base_offset_and_epoch(data, base_offset, 1)
    return bytes(data)


def source_of(record: Any) -> Source:
    return record.timestamp, record.key, record.value, record.headers


@given(SOURCES, CODECS, st.integers(0, (1 << 63) - 100))
def test_decoding_an_encoded_batch_returns_the_same_records(
    sources: list[Source], codec: Compression, base_offset: int
) -> None:
    (batch,) = read_batches(batch_of(sources, codec, base_offset))

    assert list(batch) == [
        Record(base_offset + index, *source) for index, source in enumerate(sources)
    ]
    assert batch.max_timestamp == max(timestamp for timestamp, *_ in sources)
    assert batch.next_offset == base_offset + len(sources)


@given(SOURCES, st.integers(61, 2000))
def test_only_a_single_record_makes_a_batch_larger_than_its_limit(
    sources: list[Source], max_bytes: int
) -> None:
    builder = RecordBatchBuilder(max_bytes=max_bytes)

    taken = [source for source in sources if builder.append(*source) >= 0]

    assert builder.size <= max_bytes or builder.count == 1
    (batch,) = read_batches(builder.seal())
    assert [source_of(record) for record in batch] == taken


@given(st.lists(SOURCES, min_size=1, max_size=4), CODECS, st.integers(1, 25), st.integers(0, 60))
def test_spans_of_any_size_give_every_record_from_the_fetch_offset_once_and_in_order(
    batches: list[list[Source]], codec: Compression, max_records: int, fetch_offset: int
) -> None:
    data, offset = b"", 0
    for sources in batches:
        data += batch_of(sources, codec, offset)
        offset += len(sources)
    fetched = FetchedRecords("orders", 0, data, fetch_offset)
    spans = []
    while (span := fetched.next_span(max_records)) is not None:
        assert 1 <= len(span) <= max_records
        assert span.next_offset == fetched.next_offset
        spans.append(span)

    expected = [source for sources in batches for source in sources][fetch_offset:]
    assert [source_of(record) for record in RecordIterator(spans)] == expected
    assert fetched.next_offset == max(fetch_offset, offset)


@given(SOURCES, CODECS, st.integers(1, 700))
def test_columns_and_records_have_the_same_values(
    sources: list[Source], codec: Compression, max_chunk_bytes: int
) -> None:
    (batch,) = read_batches(batch_of(sources, codec))

    chunks = read_columns([batch.open().span(ORIGIN)], max_chunk_bytes=max_chunk_bytes)

    assert [row for columns in chunks for row in rows(columns)] == [
        (record.offset, *source_of(record)) for record in batch
    ]


@given(SOURCES, CODECS, st.data())
def test_records_of_a_damaged_batch_are_never_read(
    sources: list[Source], codec: Compression, choice: st.DataObject
) -> None:
    good = batch_of(sources, codec)
    bad = bytearray(good)
    # The CRC does not cover the base offset of a batch.
    position = choice.draw(st.sampled_from([8, 9, 10, 11, *range(16, len(good))]))
    bad[position] ^= choice.draw(st.integers(1, 255))

    try:
        read = [record for batch in read_batches(bytes(bad)) for record in batch]
    except RecordBatchError:
        read = []

    assert read == []


@given(st.binary(max_size=300))
def test_any_bytes_are_decoded_to_batches_or_a_typed_error(data: bytes) -> None:
    with suppress(RecordBatchError):
        for batch in read_batches(data):
            list(batch)


@given(INT32)
def test_varints_round_trip(value: int) -> None:
    data = encode_varint(value)

    assert decode_varint(data, 0, len(data)) == (value, len(data))
    assert len(data) <= 5


@given(INT64)
def test_varlongs_round_trip(value: int) -> None:
    data = encode_varlong(value)

    assert decode_varlong(data, 0, len(data)) == (value, len(data))
    assert len(data) <= 10


@given(st.binary(max_size=12))
def test_every_accepted_varint_is_the_only_encoding_of_its_number(data: bytes) -> None:
    for encode, decode in ((encode_varint, decode_varint), (encode_varlong, decode_varlong)):
        try:
            value, end = decode(data, 0, len(data))
        except CorruptRecordError:
            continue
        assert encode(value) == data[:end]
