"""Hostile bytes in a produce request and in the files of a log."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import Compression, read_batches, restamp
from pyk.reference_broker.storage import AppendOrigin, LogError, StorageError
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.bombs import MIB, gzip_bomb, lz4_bomb, zstd_bomb
from support.logs import DIRECTORY, append, batch, open_log, values

COMPRESSIONS = st.sampled_from(list(Compression))
NAMES = [
    f"{0:020d}.log",
    f"{0:020d}.index",
    f"{0:020d}.timeindex",
    f"{4:020d}.snapshot",
    f"{4:020d}.log",
    f"{4:020d}.index",
    f"{9:020d}.timeindex",
    "leader-epoch-checkpoint",
    "x.log",
    "99999999999999999999.log",
    "00000000000000000002.snapshot",
]


def with_true_crc(data):
    """Return the batch with the correct CRC, as an attacker would send it."""
    changed = bytearray(data)
    fields = (changed[43:51], changed[51:53], changed[53:57])
    restamp(changed, *(int.from_bytes(field, signed=True) for field in fields))
    return bytes(changed)


def check_that_log_is_whole(log):
    """Check that every stored batch is readable and has the assigned offsets."""
    expected = 0
    for stored in read_batches(log.reader.read(0, 1 << 24).read()):
        assert stored.base_offset == expected
        assert [record.offset for record in stored] == list(range(expected, stored.next_offset))
        expected = stored.next_offset
    assert expected == log.log_end_offset


@settings(max_examples=300)
@given(
    compression=COMPRESSIONS,
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4),
    has_true_crc=st.booleans(),
    origin=st.sampled_from(AppendOrigin),
    config=st.sampled_from(
        [
            {},
            {"cleanup_policy": ("compact",)},
            {"message_timestamp_type": "LogAppendTime"},
            {"compression_type": "gzip"},
            {"message_timestamp_before_max_ms": 1000},
        ]
    ),
)
def test_a_damaged_batch_is_refused_or_stored_as_a_whole(
    compression, changes, has_true_crc, origin, config
):
    sent = bytearray(batch(b"one", b"two", b"three", compression=compression))
    for position, byte in changes:
        sent[position % len(sent)] = byte
    length = int.from_bytes(sent[8:12], signed=True)
    if has_true_crc and 49 <= length <= len(sent) - 12:
        sent = bytearray(with_true_crc(sent))
    log = open_log(**config)
    append(log, b"before")
    size = log.segments.size

    refused = None
    try:
        log.append_as_leader(bytes(sent), 0, origin)
    except LogError as error:
        refused = error

    if refused is not None:
        assert refused.code is not ErrorCode.UNKNOWN_SERVER_ERROR
        assert (log.segments.size, log.log_end_offset) == (size, 1)
    append(log, b"behind")
    check_that_log_is_whole(log)


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(garbage):
    log = open_log()

    with pytest.raises(LogError):
        log.append_as_leader(garbage, leader_epoch=0)
    with pytest.raises(LogError):
        log.append_as_leader(batch(b"x") + garbage + b"x", leader_epoch=0)

    assert log.segments.size == 0


@pytest.mark.parametrize(
    ("codec", "make_bomb"),
    [(1, gzip_bomb), (3, lz4_bomb), (4, zstd_bomb)],
    ids=["gzip", "lz4", "zstd"],
)
def test_a_decompression_bomb_is_refused_with_an_error_that_is_not_retried(codec, make_bomb):
    records = make_bomb(80 * MIB)  # more than a batch may hold
    sent = bytearray(batch(b"x")[:61] + records)
    sent[8:12] = (len(sent) - 12).to_bytes(4)
    sent[22] = codec
    log = open_log(max_message_bytes=1 << 24)

    with pytest.raises(LogError) as refused:
        log.append_as_leader(with_true_crc(sent), leader_epoch=0)

    assert not refused.value.code.retriable
    assert log.segments.size == 0


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=200), max_size=5))
def test_garbage_in_any_file_of_a_log_is_repaired_or_refused(files):
    filesystem = MemoryFileSystem()
    log = open_log(filesystem, segment_bytes=300)
    for number in range(8):
        append(log, b"%d" % number, producer_id=1, producer_epoch=0, base_sequence=number)
    log.close()
    for name, content in files.items():
        file = filesystem.open(f"{DIRECTORY}/{name}", create=True)
        file.truncate(0)
        file.write_at(0, [content])

    if files.get("leader-epoch-checkpoint"):
        with pytest.raises(StorageError, match="leader-epoch-checkpoint is damaged"):
            open_log(filesystem, segment_bytes=300)
        return
    log = open_log(filesystem, segment_bytes=300)
    assert log.log_start_offset <= log.log_end_offset
    append(log, b"goes on")
    assert values(log)[-1] == b"goes on"


def test_a_full_disk_leaves_the_log_unchanged_and_appends_work_once_there_is_space():
    filesystem = FaultyFileSystem(MemoryFileSystem())
    log = open_log(filesystem, segment_bytes=200)
    append(log, b"0")
    full = filesystem.on("write").tear(30, errno.ENOSPC)

    for _ in range(3):
        with pytest.raises(StorageError, match="No space left on device") as refused:
            append(log, b"1")
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert values(log) == [b"0"]

    full.heal()
    for number in range(1, 6):
        append(log, b"%d" % number)
    assert values(log) == [b"%d" % number for number in range(6)]


@pytest.mark.parametrize("operation", ["open", "write", "truncate", "rename"])
def test_the_old_segment_stays_active_when_a_new_one_cannot_be_created(operation):
    memory = MemoryFileSystem()
    filesystem = FaultyFileSystem(memory)
    log = open_log(filesystem, segment_bytes=200)
    append(log, b"0")
    append(log, b"1")
    pattern = "*/*.snapshot*" if operation in ("write", "rename") else "*2.log"
    filesystem.on(operation, pattern).once().fail(errno.ENOSPC)

    with pytest.raises(StorageError, match="cannot begin a segment of orders-0"):
        append(log, b"2")

    assert values(log) == [b"0", b"1"]
    assert append(log, b"2") == 2
    memory.crash(loses_unflushed=False)
    assert values(open_log(memory, segment_bytes=200)) == [b"0", b"1", b"2"]


def test_reads_from_a_failing_disk_raise_a_storage_error():
    filesystem = FaultyFileSystem(MemoryFileSystem())
    log = open_log(filesystem)
    append(log, b"0")
    filesystem.on("read", "*.log").fail()

    for read in (
        lambda: log.reader.read(0, 100),
        lambda: log.reader.find_timestamp(0),
        log.reader.find_newest_record,
    ):
        with pytest.raises(StorageError, match=r"cannot read orders-0: .*Input/output error"):
            read()
