"""Which records of a shard's log count, in which order."""

from __future__ import annotations

from pyk.reference_broker.coordinator.latest_records import LatestRecords
from pyk.reference_broker.coordinator.shard_log import LogEntry, LoggedMarker, LoggedRecords

NOBODY = -1


def plain(key: bytes, value: bytes | None) -> LogEntry:
    return LoggedRecords([(key, value)])


def of_transaction(producer_id: int, key: bytes, value: bytes) -> LogEntry:
    return LoggedRecords([(key, value)], producer_id)


def commit(producer_id: int) -> LogEntry:
    return LoggedMarker(producer_id, is_commit=True)


def abort(producer_id: int) -> LogEntry:
    return LoggedMarker(producer_id, is_commit=False)


def latest(*entries: LogEntry) -> list[tuple[int, bytes, bytes]]:
    """Return producer id, key and value of each record that counts."""
    records = LatestRecords()
    for entry in entries:
        records.add(entry)
    return [found[1:] for found in records]


def test_the_last_value_of_a_key_counts_where_it_was_written() -> None:
    assert latest(plain(b"a", b"old"), plain(b"b", b"1"), plain(b"a", b"new")) == [
        (NOBODY, b"b", b"1"),
        (NOBODY, b"a", b"new"),
    ]


def test_a_tombstone_deletes_a_key() -> None:
    assert latest(plain(b"a", b"1"), plain(b"a", None)) == []


def test_records_without_a_key_are_left_to_the_caller() -> None:
    assert latest(LoggedRecords([(None, b"1"), (b"a", b"1")])) == [(NOBODY, b"a", b"1")]


def test_records_of_an_open_transaction_are_pending_beside_the_last_value() -> None:
    assert latest(plain(b"a", b"1"), of_transaction(7, b"a", b"2")) == [
        (NOBODY, b"a", b"1"),
        (7, b"a", b"2"),
    ]


def test_a_commit_marker_makes_records_count() -> None:
    assert latest(plain(b"a", b"1"), of_transaction(7, b"a", b"2"), commit(7)) == [
        (NOBODY, b"a", b"2")
    ]


def test_an_abort_marker_drops_records() -> None:
    assert latest(plain(b"a", b"1"), of_transaction(7, b"a", b"2"), abort(7)) == [
        (NOBODY, b"a", b"1")
    ]


def test_a_marker_ends_only_the_transaction_of_its_producer() -> None:
    assert latest(of_transaction(7, b"a", b"1"), of_transaction(8, b"b", b"2"), commit(7)) == [
        (NOBODY, b"a", b"1"),
        (8, b"b", b"2"),
    ]


def test_a_record_that_was_written_after_that_of_the_transaction_stays() -> None:
    assert latest(of_transaction(7, b"a", b"1"), plain(b"a", b"2"), commit(7)) == [
        (NOBODY, b"a", b"2")
    ]


def test_of_two_transactions_the_one_that_wrote_last_wins_and_not_the_one_that_ended_last() -> None:
    written = (of_transaction(7, b"a", b"first"), of_transaction(8, b"a", b"second"))

    assert latest(*written, commit(7), commit(8)) == [(NOBODY, b"a", b"second")]
    assert latest(*written, commit(8), commit(7)) == [(NOBODY, b"a", b"second")]


def test_a_tombstone_takes_what_is_pending_for_its_key() -> None:
    assert latest(of_transaction(7, b"a", b"1"), plain(b"a", None), commit(7)) == []


def test_a_record_of_a_transaction_after_a_tombstone_counts() -> None:
    assert latest(plain(b"a", None), of_transaction(7, b"a", b"1"), commit(7)) == [
        (NOBODY, b"a", b"1")
    ]


def test_a_producer_begins_its_next_transaction_without_the_records_of_the_last() -> None:
    assert latest(of_transaction(7, b"a", b"1"), abort(7), commit(7), commit(7)) == []
