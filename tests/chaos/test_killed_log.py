"""A process that is killed while it appends to a log."""

from __future__ import annotations

import subprocess
import sys

from pyk.protocol.records import read_batches
from pyk.runtime.filesystem import OsFileSystem
from support.logs import append, open_log, values

WRITER = """
import sys
from pyk.runtime.filesystem import OsFileSystem
from support.logs import append, open_log

log = open_log(OsFileSystem(), directory=sys.argv[1], segment_bytes=20_000)
offset = log.log_end_offset
while True:
    append(log, b"%d" % offset, bytes(offset % 3000))
    offset += 2
    print(offset, flush=True)
"""

TRANSACTIONAL_WRITER = """
import sys
from pyk.runtime.filesystem import OsFileSystem
from support.logs import append_in_transaction, end_transaction, open_log

log = open_log(OsFileSystem(), directory=sys.argv[1], segment_bytes=5_000)
known = log.producers.get(7)
number = 0 if known is None else known.last_sequence + 1
if log.producers.has_open_transaction(7, 0):
    end_transaction(log, commit=number % 2 == 1)
while True:
    append_in_transaction(log, b"%d" % number, base_sequence=number)
    print(log.log_end_offset, flush=True)
    end_transaction(log, commit=number % 2 == 0)
    print(log.log_end_offset, flush=True)
    number += 1
"""


def append_until_killed(directory: str, acknowledgements: int, writer: str = WRITER) -> int:
    """Return the last log end offset that was acknowledged before the kill."""
    with subprocess.Popen(
        [sys.executable, "-c", writer, directory],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": ":".join(sys.path)},
    ) as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(acknowledgements)]
        process.kill()
        acknowledged += [int(line) for line in process.stdout if line.endswith(b"\n")]
    return acknowledged[-1]


def test_acknowledged_records_survive_every_kill_of_the_process(tmp_path):
    directory = str(tmp_path / "orders-0")

    for acknowledgements in (50, 120):
        acknowledged = append_until_killed(directory, acknowledgements)
        log = open_log(OsFileSystem(), directory=directory, segment_bytes=20_000)
        assert log.log_end_offset >= acknowledged
        found = values(log)
        assert found[::2] == [b"%d" % offset for offset in range(0, log.log_end_offset, 2)]
        append(log, b"%d" % log.log_end_offset, b"")
        log.close()


def test_transactions_survive_every_kill_of_the_process(tmp_path):
    """Each even transaction commits, each odd one aborts: a record and a marker after it."""
    directory = str(tmp_path / "orders-0")

    for acknowledgements in (51, 120, 200):
        acknowledged = append_until_killed(directory, acknowledgements, TRANSACTIONAL_WRITER)
        log = open_log(OsFileSystem(), directory=directory, segment_bytes=5_000)
        end = log.log_end_offset
        assert end >= acknowledged
        assert log.last_stable_offset == end - end % 2
        assert read_committed(log) == [b"%d" % number for number in range(0, end // 2, 2)]
        log.release()


def read_committed(log):
    """Return the values from the log's start on, without those that were aborted."""
    found, offset, up_to = [], 0, log.last_stable_offset
    while (records := log.reader.read(offset, 1 << 20, up_to)).size:
        aborted = {e.first_offset for e in log.reader.aborted_transactions(offset, records, up_to)}
        for batch in read_batches(records.read()):
            offset = batch.next_offset
            if not batch.is_control and batch.base_offset not in aborted:
                found += [record.value for record in batch]
    return found
