"""Which batches of transactions compaction may remove."""

from __future__ import annotations

from pyk.protocol.records import RecordBatch, RecordBatchBuilder, set_base_offset_and_epoch
from pyk.reference_broker.storage import TransactionMarker
from pyk.reference_broker.storage.compaction.survivors import _header_alone
from pyk.reference_broker.storage.compaction.transactions import CleanedTransactions
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction
from support.compaction import keyed_batch

PRODUCER, OTHER = 7, 8


def data(
    offset: int, *, count: int = 1, producer_id: int = PRODUCER, is_transactional: bool = True
) -> RecordBatch:
    batch = keyed_batch(
        *[(b"key", b"value")] * count,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=is_transactional,
    )
    return at(offset, bytearray(batch))


def marker(offset: int, *, commits: bool, producer_id: int = PRODUCER) -> RecordBatch:
    return at(offset, bytearray(TransactionMarker(producer_id, 0, 0, commits).encode(0)))


def at(offset: int, batch: bytearray) -> RecordBatch:
    set_base_offset_and_epoch(batch, offset, 0)
    return RecordBatch(memoryview(batch))


def aborted(first_offset: int, last_offset: int, producer_id: int = PRODUCER) -> EndedTransaction:
    return EndedTransaction(producer_id, first_offset, last_offset, last_offset + 1)


def test_records_of_an_aborted_transaction_go_and_its_marker_stays_for_readers() -> None:
    ended = aborted(0, 1)
    cleaned = CleanedTransactions([ended])

    assert cleaned.is_aborted(data(0))
    assert not cleaned.is_marker_of_nothing(marker(1, commits=False))
    assert cleaned.kept == [ended]


def test_an_abort_marker_without_records_is_of_no_use() -> None:
    cleaned = CleanedTransactions([aborted(0, 1)])

    assert cleaned.is_marker_of_nothing(marker(1, commits=False))
    assert cleaned.kept == []
    assert not cleaned.is_aborted(data(2))


def test_a_transaction_is_aborted_from_its_first_batch_on() -> None:
    cleaned = CleanedTransactions([aborted(3, 5)])

    assert not cleaned.is_aborted(data(0))
    assert not cleaned.is_marker_of_nothing(marker(1, commits=True))
    assert not cleaned.is_aborted(data(2, producer_id=OTHER))
    assert cleaned.is_aborted(data(3, count=2))


def test_a_marker_ends_an_aborted_transaction() -> None:
    cleaned = CleanedTransactions([aborted(0, 1)])
    cleaned.is_aborted(data(0))
    cleaned.is_marker_of_nothing(marker(1, commits=False))

    assert not cleaned.is_aborted(data(2))
    assert not cleaned.is_marker_of_nothing(marker(3, commits=True))


def test_aborted_transactions_are_met_in_the_order_of_their_offsets() -> None:
    later, earlier = aborted(4, 5), aborted(0, 1)
    cleaned = CleanedTransactions([later, earlier])

    assert cleaned.is_aborted(data(0))
    cleaned.is_marker_of_nothing(marker(1, commits=False))
    assert not cleaned.is_aborted(data(2))
    cleaned.is_marker_of_nothing(marker(3, commits=True))
    assert cleaned.is_aborted(data(4))
    cleaned.is_marker_of_nothing(marker(5, commits=False))
    assert cleaned.kept == [earlier, later]


def test_records_of_the_first_of_two_aborted_transactions_need_only_its_own_marker() -> None:
    cleaned = CleanedTransactions([aborted(0, 1), aborted(2, 3)])
    cleaned.is_aborted(data(0))
    cleaned.is_marker_of_nothing(marker(1, commits=False))

    assert cleaned.is_marker_of_nothing(marker(3, commits=False))


def test_a_commit_marker_is_of_use_as_long_as_a_record_of_its_transaction_is_there() -> None:
    cleaned = CleanedTransactions([])
    cleaned.is_aborted(data(0))

    assert not cleaned.is_marker_of_nothing(marker(1, commits=True))
    assert cleaned.is_marker_of_nothing(marker(2, commits=True))


def test_records_outside_of_transactions_need_no_marker_and_are_never_aborted() -> None:
    cleaned = CleanedTransactions([aborted(0, 2)])

    assert not cleaned.is_aborted(data(1, is_transactional=False))
    assert cleaned.is_marker_of_nothing(marker(2, commits=False))


def test_a_marker_that_was_emptied_is_of_no_use() -> None:
    cleaned = CleanedTransactions([])
    cleaned.is_aborted(data(0))

    assert cleaned.is_marker_of_nothing(at(1, bytearray(_header_alone(marker(1, commits=True)))))


def test_control_batches_of_other_kinds_stay() -> None:
    builder = RecordBatchBuilder()
    builder.append(0, bytes([0, 0, 0, 2]), b"")
    leader_change = at(0, bytearray(builder.seal(is_control=True)))

    assert not CleanedTransactions([]).is_marker_of_nothing(leader_change)
