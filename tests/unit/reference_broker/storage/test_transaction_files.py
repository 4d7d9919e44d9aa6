"""Transactions of a log on the disk: their index, and what a stop or truncation leaves of them."""

from __future__ import annotations

from random import Random

import pytest

from pyk.reference_broker.storage import (
    LogError,
    StorageError,
)
from pyk.reference_broker.storage.producer_snapshots import decode_snapshot, encode_snapshot
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import START_MS
from support.logs import (
    DIRECTORY,
    aborted_transactions,
    append,
    append_in_transaction,
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


def entries(log):
    """Return the transaction indexes of all segments."""
    return [tuple(e) for s in log.segments for e in s.indexes.transactions.entries.from_index(0)]


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
    assert aborted_transactions(log) == [(1, 0)]
    assert entries(log) == expected
    assert log.producers.has_open_transaction(2, 0)
    end_transaction(log, producer_id=2, commit=False)
    assert aborted_transactions(log, offset=1) == [(1, 0), (2, 2)]


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

    assert aborted_transactions(log) == [(7, 0)]


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
    assert aborted_transactions(log, offset=2) == []


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
    assert [offset for _, offset in aborted_transactions(log, offset=1)] in ([0], [1])
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
        assert (log.last_stable_offset, aborted_transactions(log)) == (2, [(7, 0)])
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
    assert (log.last_stable_offset, aborted_transactions(log)) == (2, [(7, 0)])
