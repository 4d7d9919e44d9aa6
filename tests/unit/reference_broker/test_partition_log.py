"""A partition as the log of a shard: all records of a decision are in one batch, or none is."""

from __future__ import annotations

import sys

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import Compression, UnsupportedCompressionError
from pyk.reference_broker.coordinator.decision import TransactionalProducer
from pyk.reference_broker.coordinator.shard_log import LoggedMarker, LoggedRecords
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.partition_log import MAX_BATCH_BYTES, PartitionLog
from support.partitions import led_partition

NOW_MS = 1_700_000_000_000


def shard_log(compression: Compression = Compression.NONE, **config: int) -> PartitionLog:
    return PartitionLog(led_partition(**config), compression)


def test_records_are_read_as_they_were_appended() -> None:
    log = shard_log()

    next_offset = log.append([(b"a", b"1"), (b"b", None)], NOW_MS)

    assert next_offset == 2
    assert list(log.read_all()) == [[LoggedRecords([(b"a", b"1"), (b"b", None)])]]


def test_records_of_transactions_are_read_with_their_producer_and_with_the_markers() -> None:
    log = shard_log()

    log.append([(b"a", b"1")], NOW_MS, TransactionalProducer(7, 3))
    log.append([(b"b", b"2")], NOW_MS)
    log.append([(b"c", b"3")], NOW_MS, TransactionalProducer(8, 0))
    log._partition.end_transaction(7, 3, 0, True)
    log._partition.end_transaction(8, 0, 0, False)

    assert list(log.read_all()) == [
        [
            LoggedRecords([(b"a", b"1")], 7),
            LoggedRecords([(b"b", b"2")], base_offset=1),
            LoggedRecords([(b"c", b"3")], 8, base_offset=2),
            LoggedMarker(7, True),
            LoggedMarker(8, False),
        ]
    ]


def test_records_of_a_fenced_producer_are_refused() -> None:
    log = shard_log()
    log.append([(b"a", b"1")], NOW_MS, TransactionalProducer(7, 3))

    with pytest.raises(ApiError) as refused:
        log.append([(b"a", b"2")], NOW_MS, TransactionalProducer(7, 2))

    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_records_that_do_not_fit_into_one_batch_are_refused_and_none_is_appended() -> None:
    log = shard_log(Compression.ZSTD)
    half = bytes(MAX_BATCH_BYTES // 2)

    with pytest.raises(ApiError) as refused:
        log.append([(b"a", half), (b"b", half)], NOW_MS)

    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert list(log.read_all()) == []


def test_a_batch_may_be_as_large_as_can_be_built() -> None:
    log = shard_log(max_message_bytes=MAX_BATCH_BYTES + 1)

    assert log.max_batch_bytes == MAX_BATCH_BYTES


def test_a_log_whose_batches_could_not_be_compressed_is_refused(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)

    with pytest.raises(UnsupportedCompressionError, match="pip install"):
        shard_log(Compression.SNAPPY)
