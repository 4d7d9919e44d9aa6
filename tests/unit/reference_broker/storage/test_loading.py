"""What is believed, and what is refused, of the files of a log that is opened."""

from __future__ import annotations

import zlib

import pytest

from pyk.protocol.records import RecordBatch, RecordBatchBuilder
from pyk.reference_broker.storage import StorageError, TransactionMarker
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.logs import (
    DIRECTORY,
    aborted_transactions,
    append,
    append_in_transaction,
    batch,
    end_transaction,
    open_log,
    values,
)

LOG = f"{DIRECTORY}/{0:020d}.log"


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem()


def test_an_aborted_transaction_is_known_after_a_crash_although_a_later_segment_is_read_too(
    filesystem: MemoryFileSystem,
) -> None:
    log = open_log(filesystem)
    append_in_transaction(log, b"aborted")
    end_transaction(log, commit=False)
    append(log, b"1")
    log.roll()
    append(log, b"2")
    filesystem.crash(loses_unflushed=False)

    log = open_log(filesystem)

    assert aborted_transactions(log) == [(7, 0)]


def test_a_record_that_looks_like_a_marker_ends_no_transaction(
    filesystem: MemoryFileSystem,
) -> None:
    (marker,) = RecordBatch(TransactionMarker(7, 0, 0, is_commit=True).encode(0))
    builder = RecordBatchBuilder()
    builder.append(0, marker.key, marker.value)
    log = open_log(filesystem)
    log.append_as_leader(bytes(builder.seal(7, 0, 0, is_transactional=True)), 0)
    filesystem.crash(loses_unflushed=False)

    log = open_log(filesystem)

    assert (log.last_stable_offset, log.log_end_offset) == (0, 1)


def test_leader_epochs_begin_with_the_log(filesystem: MemoryFileSystem) -> None:
    log = open_log(filesystem)
    append(log, b"0", leader_epoch=0)
    append(log, b"1", leader_epoch=2)
    append(log, b"2", leader_epoch=3)
    log.close()

    log = open_log(filesystem, log_start_offset=2, recovery_point=3, was_shut_down_cleanly=True)

    assert log.leader_epochs.entries == [(3, 2)]


def test_a_batch_with_the_offsets_of_the_one_before_it_ends_the_log(
    filesystem: MemoryFileSystem,
) -> None:
    log = open_log(filesystem)
    append(log, b"0")
    file = filesystem.open(LOG)
    size = log.segments.size
    file.write_at(size, [file.read_at(0, size)])

    log = open_log(filesystem)

    assert (values(log), log.log_end_offset) == ([b"0"], 1)
    assert filesystem.size(LOG) == size


def old_message(magic: int) -> bytes:
    body = bytes([magic, 0]) + bytes(20)
    return bytes(8) + (len(body) + 4).to_bytes(4) + zlib.crc32(body).to_bytes(4) + body


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_of_an_old_format_after_a_batch_is_refused_and_left_alone(
    filesystem: MemoryFileSystem, magic: int
) -> None:
    log = open_log(filesystem)
    append(log, b"0")
    size = log.segments.size
    filesystem.open(LOG).write_at(size, [old_message(magic)])

    with pytest.raises(StorageError, match=r"before Kafka 0\.11"):
        open_log(filesystem)

    assert filesystem.size(LOG) == size + len(old_message(magic))


@pytest.mark.parametrize("size", [0, 3, 4, 27, 1 << 30])
def test_what_only_looks_like_a_message_of_an_old_format_is_cut_off(
    filesystem: MemoryFileSystem, size: int
) -> None:
    log = open_log(filesystem)
    append(log, b"0")
    end = log.segments.size
    torn = bytes(8) + size.to_bytes(4) + bytes(4) + b"\1" + bytes(21)
    filesystem.open(LOG).write_at(end, [torn])

    assert values(open_log(filesystem)) == [b"0"]
    assert filesystem.size(LOG) == end
    assert len(batch(b"0")) == end


def test_each_segment_gets_its_room_at_once_where_that_is_configured(filesystem):
    log = open_log(filesystem, preallocate=True, internal_segment_bytes=4096)
    first = filesystem.size(LOG)
    append(log, b"1")
    log.roll()

    assert first == 4096
    assert filesystem.size(f"{DIRECTORY}/{1:020d}.log") == 4096
    assert filesystem.size(LOG) == log.segments.first.size
