"""What is left of a batch after compaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from pyk.protocol.records import (
    Compression,
    RecordBatch,
    RecordBatchBuilder,
    set_base_offset_and_epoch,
    set_log_append_time,
)
from pyk.reference_broker.storage import TransactionMarker
from pyk.reference_broker.storage.compaction.latest_offsets import LatestOffsets
from pyk.reference_broker.storage.compaction.survivors import LastBatch, Survivors
from pyk.reference_broker.storage.compaction.transactions import CleanedTransactions
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction
from support.compaction import Pair, keyed_batch

PRODUCER = 7
NOW_MS, RETENTION_MS = 10_000, 1_000


def survivors(
    *,
    read_to: int = 100,
    latest: Mapping[bytes, int] | None = None,
    aborted: Iterable[EndedTransaction] = (),
    last_batches: Mapping[int, LastBatch] | None = None,
    now_ms: int = NOW_MS,
) -> Survivors:
    offsets = LatestOffsets(100, read_to)
    for key, offset in (latest or {}).items():
        offsets.note(key, offset)
    return Survivors(
        offsets, CleanedTransactions(aborted), last_batches or {}, now_ms, RETENTION_MS
    )


def batch(*pairs: Pair, offset: int = 0, is_transactional: bool = False) -> RecordBatch:
    producer = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": 0}
    return at(
        offset,
        bytearray(
            keyed_batch(
                *pairs, is_transactional=is_transactional, **(producer if is_transactional else {})
            )
        ),
    )


def marker(offset: int = 0) -> RecordBatch:
    return at(offset, bytearray(TransactionMarker(PRODUCER, 0, 0, is_commit=True).encode(0)))


def at(offset: int, data: bytearray) -> RecordBatch:
    set_base_offset_and_epoch(data, offset, 0)
    return RecordBatch(memoryview(data))


def left_of(found: Survivors, of: RecordBatch, *, ends_segment: bool = False) -> RecordBatch | None:
    data = found.of(of, ends_segment=ends_segment)
    return None if data is None else RecordBatch(memoryview(data))


def keys(found: RecordBatch | None) -> list[bytes | None]:
    return [] if found is None else [record.key for record in found]


def test_a_batch_that_loses_nothing_is_not_written_again() -> None:
    whole = batch((b"a", b"1"), (b"b", b"2"))

    assert survivors(latest={b"a": 0, b"b": 1}).of(whole, ends_segment=False) is whole.data


def test_records_that_the_pass_has_not_read_stay_whatever_they_are() -> None:
    unread = batch((b"a", b"1"), (None, b"2"), (b"c", None), offset=4)

    found = left_of(survivors(read_to=5, latest={b"a": 6}), unread)

    assert keys(found) == [None, b"c"]


def test_a_tombstone_beside_values_gets_a_delete_horizon() -> None:
    mixed = batch((b"a", None), (b"b", b"1"))

    found = left_of(survivors(latest={b"a": 0, b"b": 1}), mixed)

    assert found is not None
    assert (keys(found), found.delete_horizon_ms) == ([b"a", b"b"], NOW_MS + RETENTION_MS)


def test_a_tombstone_goes_at_its_delete_horizon_and_not_before() -> None:
    latest = {b"a": 0, b"b": 1}
    first = left_of(survivors(latest=latest), batch((b"a", None), (b"b", b"1")))
    assert first is not None

    before = left_of(survivors(latest=latest, now_ms=NOW_MS + RETENTION_MS - 1), first)
    then = left_of(survivors(latest=latest, now_ms=NOW_MS + RETENTION_MS), first)

    assert keys(before) == [b"a", b"b"]
    assert keys(then) == [b"b"]
    assert then is not None
    assert then.delete_horizon_ms == NOW_MS + RETENTION_MS


def test_a_marker_of_nothing_goes_at_its_delete_horizon_and_not_before() -> None:
    first = left_of(survivors(), marker())
    assert first is not None
    assert first.delete_horizon_ms == NOW_MS + RETENTION_MS

    before = left_of(survivors(now_ms=NOW_MS + RETENTION_MS - 1), first)
    then = left_of(survivors(now_ms=NOW_MS + RETENTION_MS), first)

    assert before is not None
    assert before.count == 1
    assert then is None


def test_the_last_record_of_a_key_goes_if_its_transaction_was_aborted() -> None:
    found = survivors(latest={b"a": 0}, aborted=[EndedTransaction(PRODUCER, 0, 1, 2)])

    assert left_of(found, batch((b"a", b"1"), is_transactional=True)) is None


def test_a_batch_that_ends_its_segment_keeps_its_header() -> None:
    found = left_of(survivors(latest={b"a": 9}), batch((b"a", b"1"), offset=3), ends_segment=True)

    assert found is not None
    assert (found.base_offset, found.count) == (3, 0)


def test_the_last_marker_of_a_producer_without_batches_keeps_its_header() -> None:
    first = left_of(survivors(), marker(5))
    assert first is not None
    late = NOW_MS + RETENTION_MS

    known = survivors(last_batches={PRODUCER: LastBatch(None, 0)}, now_ms=late)
    newer = survivors(last_batches={PRODUCER: LastBatch(None, 1)}, now_ms=late)

    found = left_of(known, first)
    assert found is not None
    assert (found.base_offset, found.count, found.is_control) == (5, 0, True)
    assert left_of(newer, first) is None
    data = batch((b"a", b"1"), is_transactional=True)
    replaced = survivors(latest={b"a": 9}, last_batches={PRODUCER: LastBatch(None, 0)})
    assert left_of(replaced, data) is None


def test_only_the_last_batch_of_a_producer_keeps_its_header() -> None:
    replaced = {b"a": 9}
    last = {PRODUCER: LastBatch(3, 0)}

    found = [
        left_of(
            survivors(latest=replaced, last_batches=last),
            batch((b"a", b"1"), offset=offset, is_transactional=True),
        )
        for offset in (2, 3)
    ]

    assert [each is not None for each in found] == [False, True]


def test_a_batch_may_be_as_large_as_any() -> None:
    large = b"x" * (2 << 20)
    whole = batch((b"a", b"1"), (b"b", large), (b"c", large))

    assert keys(left_of(survivors(latest={b"a": 9, b"b": 1, b"c": 2}), whole)) == [b"b", b"c"]


def test_headers_of_records_stay() -> None:
    builder = RecordBatchBuilder()
    builder.append(0, b"a", b"1")
    builder.append(0, b"b", b"2", headers=[("source", b"test")])

    found = left_of(survivors(latest={b"a": 9, b"b": 1}), at(0, bytearray(builder.seal())))

    assert found is not None
    assert [list(record.headers) for record in found] == [[("source", b"test")]]


@pytest.mark.parametrize("is_append_time", [False, True])
def test_a_header_alone_has_the_attributes_of_its_batch_without_the_codec(
    is_append_time: bool,
) -> None:
    whole = bytearray(keyed_batch((b"a", b"1"), compression=Compression.GZIP))
    if is_append_time:
        set_log_append_time(whole, 5)

    found = left_of(survivors(latest={b"a": 9}), at(0, whole), ends_segment=True)

    assert found is not None
    assert (found.count, found.compression_type) == (0, Compression.NONE)
    assert (found.is_append_time, found.is_control, found.is_transactional) == (
        is_append_time,
        False,
        False,
    )
