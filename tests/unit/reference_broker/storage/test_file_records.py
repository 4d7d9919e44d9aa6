"""Records on their way from a segment file to a connection."""

from __future__ import annotations

import os

import pytest

from pyk.reference_broker.storage.file_records import FileRecords
from pyk.runtime.filesystem import OsFileSystem
from pyk.runtime.network import FileRegion
from support.logs import append, batch, open_log

DESCRIPTORS = "/proc/self/fd"


def os_log(tmp_path, **config):
    return open_log(OsFileSystem(), directory=str(tmp_path / "orders-0"), **config)


def test_many_bytes_are_sent_from_the_file(tmp_path):
    log = os_log(tmp_path)
    append(log, b"0")
    append(log, bytes(20_000))

    part = log.reader.read(1, 1 << 20).as_part()

    assert isinstance(part, FileRegion)
    assert os.pread(part.file.fileno(), part.size, part.offset)[16:] == batch(bytes(20_000))[16:]


def test_few_bytes_are_sent_as_they_are(tmp_path):
    log = os_log(tmp_path)
    append(log, b"0")

    assert log.reader.read(0, 1 << 20).as_part() == log.reader.read(0, 1 << 20).read()


def test_file_in_memory_is_sent_in_chunks():
    log = open_log()
    append(log, bytes(20_000))
    records = log.reader.read(0, 1 << 20)

    part = records.as_part()

    assert isinstance(part, FileRecords)
    chunks = list(part.chunks(8_000))
    assert [len(chunk) for chunk in chunks] == [8_000, 8_000, len(records) - 16_000]
    assert b"".join(chunks) == records.read()


def test_empty_records_are_sent_as_empty_bytes():
    records = open_log().reader.read(0, 1 << 20)

    assert len(records) == 0
    assert records.as_part() == b""


def test_records_can_be_sent_after_their_segment_is_deleted(tmp_path):
    log = os_log(tmp_path, segment_bytes=30_000, retention_ms=0)
    append(log, bytes(20_000), timestamp_ms=0)
    append(log, bytes(20_000), timestamp_ms=0)
    part = log.reader.read(0, 1 << 20).as_part()
    descriptor = part.file.fileno()

    log.delete_old_segments(1 << 50)
    for path in log.segments.take_deleted_files(1 << 50):
        os.unlink(path)

    assert len(os.pread(descriptor, part.size, part.offset)) == part.size


@pytest.mark.skipif(not os.path.exists(DESCRIPTORS), reason="descriptors are not listed here")
def test_segments_hold_no_more_descriptors_than_they_may(tmp_path):
    before = len(os.listdir(DESCRIPTORS))
    log = os_log(tmp_path, segment_bytes=200, index_interval_bytes=0, max_open_files=3)

    for number in range(50):
        append(log, b"%d" % number)
    for number in range(50):
        log.reader.read(number, 1 << 20)

    assert len(os.listdir(DESCRIPTORS)) <= before + 3
    log.close()
