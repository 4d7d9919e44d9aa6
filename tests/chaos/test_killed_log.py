"""A process that is killed while it appends to a log."""

from __future__ import annotations

import subprocess
import sys

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


def append_until_killed(directory: str, acknowledgements: int) -> int:
    """Return the last log end offset that was acknowledged before the kill."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, directory],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": ":".join(sys.path)},
    ) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(acknowledgements)]
        writer.kill()
        acknowledged += [int(line) for line in writer.stdout if line.endswith(b"\n")]
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
