"""The compiled and the plain form of record batches do the same, on good bytes and on bad ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyk.protocol import records as loaded
from pyk.protocol.records import reader, record_buffer, varint
from support.plain_form import PlainForm
from support.record_batches import NOW_MS, raw_batch, record, rows

IS_COMPILED = not reader.__file__.endswith(".py")
PLAIN = PlainForm("pyk.protocol.records")

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled: run `make native`")

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
MAYBE_BYTES = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=20), MAYBE_BYTES), max_size=4)
RECORDS = st.lists(st.tuples(INT64, MAYBE_BYTES, MAYBE_BYTES, HEADERS), min_size=1, max_size=12)
CODECS = st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"])


def outcome(work: Callable[[ModuleType], Any], form: ModuleType) -> Any:
    """Return the result of ``work``, or the type and text of its error."""
    try:
        return work(form)
    except Exception as error:
        return type(error).__name__, str(error)


def assert_same(work: Callable[[ModuleType], Any]) -> None:
    with PLAIN.imported() as plain:
        expected = outcome(work, plain)

    assert outcome(work, loaded) == expected


def read_everything(data: bytes) -> Callable[[ModuleType], Any]:
    """Return a reader of batches that stops, as a consumer does, where something is wrong."""

    def read(form: ModuleType) -> Any:
        read_so_far: list[Any] = []
        try:
            for batch in form.read_batches(data, max_decompressed_bytes=1 << 16):
                block = batch.open()
                read_so_far.append(
                    (
                        batch.base_offset,
                        batch.next_offset,
                        batch.last_sequence,
                        str(batch.compression_type),
                        block.are_offsets_dense,
                        block.max_timestamp,
                        block.max_timestamp_offset,
                        block.null_key_count,
                        [tuple_of(one) for one in block],
                    )
                )
        except form.RecordBatchError as error:
            return read_so_far, type(error).__name__, str(error), error.next_offset
        return read_so_far

    return read


def tuple_of(one: Any) -> tuple[Any, ...]:
    return one.offset, one.timestamp, one.key, one.value, one.headers


def build(
    form: ModuleType, sources: list[Any], codec: str = "none", max_bytes: int = 400
) -> list[Any]:
    builder = form.RecordBatchBuilder(form.Compression(codec), max_bytes=max_bytes)
    deltas = [builder.append(*source) for source in sources]
    return [deltas, builder.count, builder.size, builder.max_timestamp, bytes(builder.seal())]


def test_the_loaded_form_is_compiled_and_the_twin_is_plain() -> None:
    with PLAIN.imported() as plain:
        assert sys.modules[plain.RecordSpan.__module__].__file__.endswith(".py")
        assert plain.RecordBatchBuilder is not loaded.RecordBatchBuilder
    assert not record_buffer.__file__.endswith(".py")


@given(RECORDS, CODECS)
def test_both_build_the_same_batches(sources: list[Any], codec: str) -> None:
    assert_same(lambda form: build(form, sources, codec))


@given(RECORDS, CODECS)
def test_both_read_the_same_records(sources: list[Any], codec: str) -> None:
    small_times = [(index, *rest) for index, (_, *rest) in enumerate(sources)]
    data = build(loaded, small_times, codec, max_bytes=1 << 20)[-1]

    assert_same(read_everything(data))


@given(st.binary(max_size=60), st.integers(-1, 4), st.integers(-2, 6))
def test_both_judge_any_bytes_alike(noise: bytes, count: int, last_offset_delta: int) -> None:
    data = raw_batch(noise, count, last_offset_delta=last_offset_delta)

    assert_same(read_everything(data))


@given(
    st.lists(st.tuples(st.integers(-(1 << 31), (1 << 31) - 1), MAYBE_BYTES), max_size=70),
    st.integers(0, 3),
)
def test_both_count_offsets_alike(records: list[tuple[int, bytes | None]], gap: int) -> None:
    body = b"".join(record(delta, value=value) for delta, value in records)
    data = raw_batch(body, len(records), last_offset_delta=len(records) - 1 + gap)

    assert_same(read_everything(data))


@given(st.data())
def test_both_judge_damaged_records_alike(data: st.DataObject) -> None:
    good = bytearray(
        record(0, 0, b"key", b"value", [(b"name", b"x"), (b"n\xc3\xa4me", None)])
        + record(1, -5, None, b"v" * 70)
        + record(2, 1 << 40, b"", None, [(b"", b"")])
    )
    for _ in range(data.draw(st.integers(1, 3))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    codec = data.draw(st.sampled_from([0, 0, 0, 8, 1, 2, 3, 4, 5]))

    assert_same(read_everything(raw_batch(bytes(good), 3, attributes=codec)))


@given(INT64, INT64)
@example(NOW_MS, (1 << 63) - 1)
@example(-(1 << 63), (1 << 63) - 1)
@example(-(1 << 63), -1)
@example((1 << 63) - 1, -(1 << 63))
def test_both_agree_where_timestamps_overflow(base: int, delta: int) -> None:
    assert_same(read_everything(raw_batch(record(0, delta), 1, base_timestamp=base)))
    assert_same(lambda form: build(form, [(base, None, b"v"), (delta, None, b"v")]))


@pytest.mark.parametrize(
    "source",
    [
        (0, "text", b""),
        (0, b"", 7),
        (0, b"", b"", [("name",)]),
        (0, b"", b"", [(b"name", b"")]),
        (0, b"", b"", [("name", "text")]),
        (0, b"", b"", [("\ud800", b"")]),
        (0, b"", b"", 5),
        (1 << 63, b"", b""),
        (-(1 << 63) - 1, b"", b""),
        (None, b"", b""),
        ("now", b"", b""),
    ],
    ids=repr,
)
def test_both_refuse_the_same_arguments(source: tuple[Any, ...]) -> None:
    def kind(form: ModuleType) -> Any:
        builder = form.RecordBatchBuilder()
        result = outcome(lambda _: builder.append(*source), form)
        return result[0], builder.count, builder.size

    assert_same(kind)


@given(RECORDS, st.integers(1, 60), st.integers(1, 5))
def test_both_fill_the_same_columns(sources: list[Any], chunk: int, max_records: int) -> None:
    small_times = [(index, *rest) for index, (_, *rest) in enumerate(sources)]
    data = build(loaded, small_times, max_bytes=1 << 20)[-1]

    def read(form: ModuleType) -> Any:
        fetched = form.FetchedRecords("orders", 0, data, 1)
        spans = list(iter(lambda: fetched.next_span(max_records), None))
        chunks = form.read_columns(spans, max_chunk_bytes=chunk)
        return [
            (
                columns.count,
                [count for _, count in columns.origins],
                rows(columns),
                buffers(columns),
            )
            for columns in chunks
        ]

    assert_same(read)


def buffers(columns: Any) -> list[Any]:
    parts = [columns.keys, columns.values, columns.headers, columns.headers.names]
    return [
        (bytes(part.offsets), None if part.validity is None else bytes(part.validity))
        for part in parts
    ] + [bytes(columns.values.data), bytes(columns.headers.values.data)]


@given(RECORDS, st.integers(0, 14), st.lists(st.integers(0, 11), max_size=8))
def test_both_write_the_same_columns(sources: list[Any], start: int, picks: list[int]) -> None:
    data = build(loaded, [(0, *rest) for _, *rest in sources], max_bytes=1 << 20)[-1]

    numbers = b"".join(pick.to_bytes(4, sys.byteorder) for pick in picks)

    def write(form: ModuleType) -> Any:
        fetched = form.FetchedRecords("orders", 0, data, 0)
        spans = list(iter(lambda: fetched.next_span(99), None))
        (columns,) = form.read_columns(spans)
        builder = form.RecordBatchBuilder(max_bytes=300)
        in_order = outcome(
            lambda _: builder.extend_columns(
                columns.timestamps, columns.values, columns.keys, columns.headers, start=start
            ),
            form,
        )
        picked = outcome(lambda _: builder.extend_columns(5, columns.values, rows=numbers), form)
        return in_order, picked, outcome(lambda _: bytes(builder.seal()), form)

    assert_same(write)


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_both_hash_keys_alike(key: bytes, partition_count: int) -> None:
    def hashes(form: ModuleType) -> Any:
        murmur2 = import_module(f"{form.__name__}.murmur2").murmur2
        return murmur2(key), form.partition_for_key(key, partition_count)

    assert_same(hashes)


@given(st.lists(MAYBE_BYTES, min_size=1, max_size=30), st.integers(1, 9))
def test_both_sort_rows_into_partitions_alike(keys: list[bytes | None], count: int) -> None:
    data = build(loaded, [(0, key, b"") for key in keys], max_bytes=1 << 20)[-1]

    def partition(form: ModuleType) -> Any:
        fetched = form.FetchedRecords("orders", 0, data, 0)
        chunks = form.read_columns(list(iter(lambda: fetched.next_span(99), None)), ("key",))
        found = [form.partitions_for_keys(columns.keys, count) for columns in chunks]
        return found, [form.rows_by_partition(one, count) for one in found]

    assert_same(partition)


@given(st.binary(max_size=12))
@example(b"\x80" * 12)
@example(b"\xff" * 9 + b"\x01")
@example(b"\xff" * 9 + b"\x02")
@example(b"\xff\xff\xff\xff\x0f")
@example(b"\xff\xff\xff\xff\x10")
def test_both_read_varints_alike(data: bytes) -> None:
    for name in ("decode_varint", "decode_varlong"):
        assert_same(lambda form, name=name: getattr(form.varint, name)(data, 0, len(data)))
    assert varint.__file__ is not None
