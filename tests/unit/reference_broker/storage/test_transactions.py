"""Transactions in a log: who may write and end them, what holds readers back, what was aborted."""

from __future__ import annotations

from random import Random

import pytest

from pyk.protocol.records import Compression, read_batches
from pyk.reference_broker.storage import (
    AppendOrigin,
    InvalidProducerEpochError,
    InvalidTransactionStateError,
    LogError,
    OutOfOrderSequenceError,
    StorageError,
    TransactionCoordinatorFencedError,
    TransactionMarker,
)
from pyk.reference_broker.storage.producer_snapshots import decode_snapshot, encode_snapshot
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import START_MS
from support.logs import (
    DIRECTORY,
    append,
    append_in_transaction,
    batch,
    end_transaction,
    open_log,
    values,
)


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    filesystem = MemoryFileSystem(page_bytes=64)
    filesystem.make_directory("/data")
    filesystem.sync_directory("/")
    return filesystem


INDEX = f"{DIRECTORY}/{0:020d}.txnindex"


def aborted(log, offset=0, max_bytes=1 << 20):
    """Return (producer id, first offset) of what a reader of committed records is told."""
    records = log.reader.read(offset, max_bytes, log.last_stable_offset)
    found = log.reader.aborted_transactions(offset, records, log.last_stable_offset)
    return [(each.producer_id, each.first_offset) for each in found]


def entries(log):
    """Return the transaction indexes of all segments."""
    return [tuple(e) for s in log.segments for e in s.indexes.transactions.entries.from_index(0)]


# What a reader sees


def test_open_transaction_holds_back_the_last_stable_offset():
    log = open_log()
    append(log, b"before")
    append_in_transaction(log, b"0", b"1")
    append(log, b"behind")

    assert log.last_stable_offset == 1

    assert end_transaction(log, commit=True).base_offset == 4
    assert log.last_stable_offset == log.log_end_offset == 5


def test_oldest_open_transaction_counts():
    log = open_log()
    append_in_transaction(log, b"0", producer_id=1)
    append_in_transaction(log, b"1", producer_id=2)

    end_transaction(log, producer_id=2, commit=True)
    assert log.last_stable_offset == 0
    end_transaction(log, producer_id=1, commit=False)
    assert log.last_stable_offset == log.log_end_offset


def test_transaction_is_unstable_until_the_high_watermark_has_passed_its_marker():
    log = open_log()
    append(log, b"before")
    append_in_transaction(log, b"0")
    end_transaction(log, commit=True)

    log.high_watermark = 2
    assert log.last_stable_offset == 1
    log.high_watermark = 3
    assert log.last_stable_offset == 3


def test_last_stable_offset_is_not_above_the_high_watermark():
    log = open_log()
    append(log, b"0")
    append(log, b"1")
    append_in_transaction(log, b"2")
    log.high_watermark = 1

    assert log.last_stable_offset == 1


def test_last_stable_offset_is_not_below_the_log_start():
    log = open_log()
    append_in_transaction(log, b"0", b"1", b"2")
    log.advance_log_start_offset(2)

    assert log.last_stable_offset == 2


def test_reader_is_told_of_the_aborted_transactions_that_it_overlaps():
    log = open_log()
    append_in_transaction(log, b"0", producer_id=1)  # offset 0, marker at 3
    append_in_transaction(log, b"1", producer_id=2)  # offset 1, marker at 4
    append_in_transaction(log, b"2", producer_id=3)  # offset 2, committed at 5
    end_transaction(log, producer_id=1, commit=False)
    end_transaction(log, producer_id=2, commit=False)
    end_transaction(log, producer_id=3, commit=True)
    append_in_transaction(log, b"6", producer_id=1, base_sequence=1)  # offset 6, marker at 7
    end_transaction(log, producer_id=1, commit=False)

    assert aborted(log) == [(1, 0), (2, 1), (1, 6)]
    assert aborted(log, offset=3) == [(1, 0), (2, 1), (1, 6)]
    assert aborted(log, offset=4) == [(2, 1), (1, 6)]
    assert aborted(log, offset=5) == [(1, 6)]
    assert aborted(log, offset=8) == []


def test_reader_of_one_batch_is_told_only_what_may_concern_it():
    log = open_log(index_interval_bytes=0)
    for number in range(50):
        append_in_transaction(log, b"x", producer_id=number)
        end_transaction(log, producer_id=number, commit=False)

    first = aborted(log, offset=10, max_bytes=1)

    assert first[0] == (5, 10)
    assert len(first) <= 2
    assert len(aborted(log)) == 50


def test_older_transaction_that_was_aborted_later_is_found():
    log = open_log()
    append_in_transaction(log, b"0", producer_id=1)
    append_in_transaction(log, b"1", producer_id=2)
    end_transaction(log, producer_id=2, commit=False)
    append_in_transaction(log, b"3", producer_id=2, base_sequence=1)
    end_transaction(log, producer_id=1, commit=False)
    end_transaction(log, producer_id=2, commit=False)
    index = log.segments.active.indexes.transactions

    found, is_complete = index.overlapping(0, 2)

    assert [(each.producer_id, each.first_offset) for each in found] == [(2, 1), (1, 0)]
    assert is_complete


def test_aborted_transaction_is_found_in_the_segment_of_its_marker():
    log = open_log()
    append_in_transaction(log, b"0")
    log.roll()
    append(log, b"1")
    log.roll()
    end_transaction(log, commit=False)

    assert aborted(log, max_bytes=1) == [(7, 0)]


def test_index_entries_are_kafkas(filesystem):
    log = open_log(filesystem)
    append_in_transaction(log, b"0", producer_id=1)
    append_in_transaction(log, b"1", producer_id=2)
    end_transaction(log, producer_id=2, commit=False)
    end_transaction(log, producer_id=1, commit=False)
    log.close()

    content = filesystem.open(INDEX).read_at(0, 1 << 10)

    # Version, producer id, first offset, offset of the marker, last stable offset.
    assert content.hex() == "".join(
        f"{0:04x}{producer:016x}{first:016x}{last:016x}{stable:016x}"
        for producer, first, last, stable in [(2, 1, 2, 0), (1, 0, 3, 4)]
    )


def test_log_without_aborted_transactions_has_no_transaction_index(filesystem):
    log = open_log(filesystem)
    append_in_transaction(log, b"0")
    end_transaction(log, commit=True)
    log.roll()
    log.close()

    assert not [name for name in filesystem.list_directory(DIRECTORY) if "txnindex" in name]


# Who may write


def test_marker_is_a_control_batch_of_the_producer():
    log = open_log()
    append_in_transaction(log, b"x", producer_epoch=3)
    end_transaction(log, commit=False, producer_epoch=3, coordinator_epoch=5)

    _, marker = read_batches(log.reader.read(0, 1 << 20).read())

    assert (marker.is_control, marker.is_transactional) == (True, True)
    assert (marker.producer_id, marker.producer_epoch, marker.base_sequence) == (7, 3, -1)
    (record,) = marker
    assert (record.key, record.value) == (bytes(4), bytes([0, 0, 0, 0, 0, 5]))
    assert record.timestamp == START_MS
    assert TransactionMarker.decode(marker) == TransactionMarker(7, 3, 5, is_commit=False)


@pytest.mark.parametrize(
    "topic_config", [{"compression_type": "zstd"}, {"cleanup_policy": ("compact",)}]
)
def test_marker_is_not_compressed_and_may_be_in_any_topic(topic_config):
    log = open_log(**topic_config)
    append_in_transaction(log, b"x" * 100)
    end_transaction(log, commit=True)

    stored = list(read_batches(log.reader.read(0, 1 << 20).read()))

    assert stored[1].compression_type is Compression.NONE
    assert stored[1].is_control


def test_record_outside_of_the_open_transaction_is_refused():
    log = open_log()
    append_in_transaction(log, b"0")

    with pytest.raises(InvalidTransactionStateError, match="open since offset 0"):
        append(log, b"1", producer_id=7, producer_epoch=0, base_sequence=1)
    assert log.log_end_offset == 1

    end_transaction(log, commit=True)
    append(log, b"1", producer_id=7, producer_epoch=0, base_sequence=1)


def test_retry_of_a_transactional_batch_gets_its_first_offsets():
    log = open_log()
    append_in_transaction(log, b"0")
    sent = batch(b"0", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)

    assert log.append_as_leader(sent, 0).is_duplicate
    end_transaction(log, commit=True)
    assert log.append_as_leader(sent, 0).is_duplicate
    assert log.last_stable_offset == 2


def test_sequences_go_on_after_a_marker_of_the_same_epoch():
    log = open_log()
    append_in_transaction(log, b"0", b"1")
    end_transaction(log, commit=True)

    append_in_transaction(log, b"2", base_sequence=2)


def test_marker_with_a_raised_epoch_begins_the_sequences_again():
    log = open_log()
    append_in_transaction(log, b"0", b"1")
    end_transaction(log, commit=True, producer_epoch=1, transaction_version=2)

    with pytest.raises(InvalidProducerEpochError):
        append_in_transaction(log, b"late", base_sequence=2)
    with pytest.raises(OutOfOrderSequenceError, match="expected was 0"):
        append_in_transaction(log, b"gap", producer_epoch=1, base_sequence=2)
    append_in_transaction(log, b"2", producer_epoch=1, base_sequence=0)


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
def test_marker_of_an_older_epoch_is_refused(transaction_version):
    log = open_log()
    append_in_transaction(log, b"0", producer_epoch=2)

    with pytest.raises(InvalidProducerEpochError, match="with epoch 1, but the last epoch is 2"):
        end_transaction(log, commit=True, producer_epoch=1, transaction_version=transaction_version)
    assert log.log_end_offset == 1


def test_marker_of_version_2_must_raise_the_epoch_of_an_open_transaction():
    log = open_log()
    append_in_transaction(log, b"0")

    with pytest.raises(InvalidProducerEpochError):
        end_transaction(log, commit=True, transaction_version=2)
    end_transaction(log, commit=True, transaction_version=1)


def test_repeated_marker_is_appended_and_changes_nothing():
    log = open_log()
    append_in_transaction(log, b"0")
    for _ in range(2):
        end_transaction(log, commit=False, producer_epoch=1, transaction_version=2)

    assert log.log_end_offset == 3
    assert aborted(log) == [(7, 0)]
    assert log.last_stable_offset == 3


def test_marker_of_a_late_coordinator_is_refused():
    log = open_log()
    append_in_transaction(log, b"0")
    end_transaction(log, commit=True, coordinator_epoch=4)
    append_in_transaction(log, b"1", base_sequence=1)

    with pytest.raises(TransactionCoordinatorFencedError, match=r"of epoch 3 .* epoch 4"):
        end_transaction(log, commit=False, coordinator_epoch=3)
    end_transaction(log, commit=False, coordinator_epoch=4)


def test_marker_of_an_unknown_producer_fences_its_older_epochs():
    log = open_log()
    end_transaction(log, commit=False, producer_epoch=3)

    assert log.last_stable_offset == 1
    assert aborted(log) == []
    with pytest.raises(InvalidProducerEpochError):
        append_in_transaction(log, b"late", producer_epoch=2)


def test_coordinator_writes_transactional_records_without_sequence_numbers():
    log = open_log()
    sent = batch(b"offsets", producer_id=7, producer_epoch=1, is_transactional=True)

    for _ in range(2):
        assert not log.append_as_leader(sent, 0, AppendOrigin.COORDINATOR).is_duplicate
    log.high_watermark = 2
    assert log.last_stable_offset == 0
    older = batch(b"offsets", producer_id=7, producer_epoch=0, is_transactional=True)
    with pytest.raises(InvalidProducerEpochError):
        log.append_as_leader(older, 0, AppendOrigin.COORDINATOR)
    end_transaction(log, commit=True, producer_epoch=1)
    assert log.last_stable_offset == 3


def test_producer_with_an_open_transaction_does_not_expire():
    log = open_log()
    append_in_transaction(log, b"0")

    assert log.producers.expire(START_MS + 10**9, expiration_ms=1) == 0
    end_transaction(log, commit=True)
    assert log.producers.expire(START_MS + 10**9, expiration_ms=1) == 1


def test_follower_knows_transactions_too():
    leader, follower = open_log(), open_log()
    append_in_transaction(leader, b"0", producer_id=1)
    end_transaction(leader, producer_id=1, commit=False)
    append_in_transaction(leader, b"2", producer_id=2)

    follower.append_as_follower(leader.reader.read(0, 1 << 20).read())
    follower.high_watermark = 3

    assert follower.last_stable_offset == 2
    assert aborted(follower) == [(1, 0)]


# What a stop leaves


def test_snapshot_holds_open_transactions_and_coordinators():
    log = open_log()
    append_in_transaction(log, b"0", producer_id=1)
    end_transaction(log, producer_id=1, commit=True, producer_epoch=1, coordinator_epoch=9)
    append_in_transaction(log, b"2", producer_id=2)

    found = decode_snapshot(encode_snapshot(log.producers))

    assert found is not None
    assert [
        (e.producer_id, e.epoch, len(e.batches), e.coordinator_epoch, e.current_txn_first_offset)
        for e in found
    ] == [(1, 1, 0, 9, -1), (2, 0, 1, -1, 2)]


@pytest.mark.parametrize("stop", ["close", "kill", "power"])
def test_transactions_survive_a_stop(filesystem, stop):
    log = open_log(filesystem, flush_messages=1)
    append_in_transaction(log, b"0", producer_id=1)
    log.roll()
    end_transaction(log, producer_id=1, commit=False)
    append_in_transaction(log, b"2", producer_id=2)
    expected = entries(log)
    recovery_point = log.recovery_point
    if stop == "close":
        log.close()
    else:
        filesystem.crash(loses_unflushed=stop == "power")

    log = open_log(filesystem, recovery_point=recovery_point, was_shut_down_cleanly=stop == "close")

    assert log.last_stable_offset == 2
    assert aborted(log) == [(1, 0)]
    assert entries(log) == expected
    assert log.producers.has_open_transaction(2, 0)
    end_transaction(log, producer_id=2, commit=False)
    assert aborted(log, offset=1) == [(1, 0), (2, 2)]


@pytest.mark.parametrize("seed", range(20))
def test_new_transaction_index_is_not_lost_with_the_power(filesystem, seed):
    """Its file is created after the directory was flushed for the segment."""
    log = open_log(filesystem)
    append_in_transaction(log, b"0")
    log.flusher.flush_now()
    end_transaction(log, commit=False)
    log.flusher.flush_now()
    log.roll()
    append(log, b"in the next segment")

    filesystem.crash(loses_unflushed=True, random=Random(seed))
    log = open_log(filesystem, recovery_point=log.recovery_point)

    assert aborted(log) == [(7, 0)]


@pytest.mark.parametrize("cut", [0, 20, 34 + 20])
def test_damaged_transaction_index_is_built_again(filesystem, cut):
    log = open_log(filesystem)
    for number in range(3):
        append_in_transaction(log, b"x", producer_id=number)
        end_transaction(log, producer_id=number, commit=False)
    expected = entries(log)
    log.roll()
    append(log, b"behind")
    log.close()
    file = filesystem.open(INDEX)
    if cut:
        file.truncate(cut)
    else:
        file.write_at(0, [b"\xff" * file.size()])

    log = open_log(filesystem, recovery_point=log.recovery_point, was_shut_down_cleanly=True)

    assert entries(log) == expected
    log.close()
    assert filesystem.open(INDEX).size() == 3 * 34


def test_truncation_opens_a_transaction_again():
    log = open_log()
    append_in_transaction(log, b"0")
    end_transaction(log, commit=False)
    append(log, b"2")

    log.truncate_to(1)

    assert log.last_stable_offset == 0
    assert entries(log) == []
    end_transaction(log, commit=True)
    assert log.last_stable_offset == 2


def test_deleted_segment_takes_its_transaction_index_along(filesystem):
    log = open_log(filesystem, retention_ms=-1)
    append_in_transaction(log, b"0")
    end_transaction(log, commit=False)
    log.roll()
    append(log, b"2")
    log.advance_log_start_offset(2)

    assert log.delete_old_segments(START_MS) == 1
    assert f"{0:020d}.txnindex.deleted" in filesystem.list_directory(DIRECTORY)
    assert aborted(log, offset=2) == []


def test_transaction_may_lose_its_first_records_to_retention(filesystem):
    log = open_log(filesystem)
    append_in_transaction(log, b"0")
    log.roll()
    append_in_transaction(log, b"1", base_sequence=1)
    log.advance_log_start_offset(1)
    log.delete_old_segments(START_MS)

    assert log.last_stable_offset == 1
    filesystem.crash(loses_unflushed=False)
    log = open_log(filesystem, log_start_offset=1)
    assert log.last_stable_offset == 1
    end_transaction(log, commit=False)
    assert [offset for _, offset in aborted(log, offset=1)] in ([0], [1])
    assert values(log)[0] == b"1"


@pytest.mark.parametrize("seed", range(20))
def test_unflushed_marker_is_lost_or_kept_as_a_whole(filesystem, seed):
    log = open_log(filesystem)
    append_in_transaction(log, b"0")
    log.flusher.flush_now()
    recovery_point = log.recovery_point
    end_transaction(log, commit=False)

    filesystem.crash(loses_unflushed=True, random=Random(seed))
    log = open_log(filesystem, recovery_point=recovery_point)

    if log.log_end_offset == 2:
        assert (log.last_stable_offset, aborted(log)) == (2, [(7, 0)])
    else:
        assert (log.last_stable_offset, entries(log)) == (0, [])


# Whatever a process was doing when it died

STEPS = [
    lambda log: append_in_transaction(log, b"0", producer_id=1),
    lambda log: append_in_transaction(log, b"1", producer_id=2),
    lambda log: end_transaction(log, commit=False, producer_id=2),
    lambda log: log.roll(),
    lambda log: append_in_transaction(log, b"3", producer_id=2, base_sequence=1),
    lambda log: end_transaction(log, commit=False, producer_id=1),
    lambda log: log.flusher.flush_now(),
    lambda log: end_transaction(log, commit=True, producer_id=2),
    lambda log: log.roll(),
    lambda log: append_in_transaction(log, b"7", producer_id=3),
    lambda log: log.close(),
]


def facts(log):
    """Return what follows from the records of a log: where it is stable, what was aborted."""
    unstable = [e.producer_id for e in log.producers if e.has_open_transaction]
    return log.last_stable_offset, entries(log), unstable


def expected_facts():
    """Return the facts of the log that ends at each offset."""
    log = open_log()
    found = {0: facts(log)}
    for step in STEPS[:-1]:
        step(log)
        found[log.log_end_offset] = facts(log)
    return found


EXPECTED = expected_facts()


@pytest.mark.parametrize("loses_unflushed", [False, True])
@pytest.mark.parametrize(
    ("operation", "torn_after"),
    [("write", None), ("write", 0), ("write", 10), ("rename", None), ("flush", None)],
)
def test_transactions_follow_from_the_records_after_a_death_at_any_write(
    operation, torn_after, loses_unflushed
):
    deaths = 0
    for count in range(25):
        memory = MemoryFileSystem(page_bytes=64)
        memory.make_directory("/data")
        memory.sync_directory("/")
        faulty = FaultyFileSystem(memory)
        log = open_log(faulty)
        fault = faulty.on(operation, "*").after(count)
        fault.fail() if torn_after is None else fault.tear(torn_after)
        recovery_point = 0
        try:
            for step in STEPS:
                step(log)
                recovery_point = log.recovery_point
        except (LogError, OSError):
            deaths += 1
        memory.crash(loses_unflushed=loses_unflushed)

        reopened = open_log(memory, recovery_point=recovery_point)

        assert reopened.log_end_offset >= recovery_point
        assert facts(reopened) == EXPECTED[reopened.log_end_offset]
    assert deaths > 0


def test_marker_that_the_disk_refuses_leaves_the_transaction_open(filesystem):
    faulty = FaultyFileSystem(filesystem)
    log = open_log(faulty)
    append_in_transaction(log, b"0")
    faulty.on("write", "*.log").once().tear(20)

    with pytest.raises(StorageError):
        end_transaction(log, commit=False)
    assert (log.last_stable_offset, entries(log)) == (0, [])

    end_transaction(log, commit=False)
    assert (log.last_stable_offset, aborted(log)) == (2, [(7, 0)])
