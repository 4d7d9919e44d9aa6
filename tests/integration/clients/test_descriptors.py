"""A client in a process without free file descriptors raises, and can be closed."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="no limits on this system")

PROGRAM = """
import os, resource, sys
from pyk.clients import {client}
import pyk.clients.engine.dialer

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []

def hold_all_but(count):
    try:
        while True:
            held.append(os.dup(0))
    except OSError:
        for descriptor in [held.pop() for _ in range(count)]:
            os.close(descriptor)

for count in range(5):
    hold_all_but(count)
    client = {client}("127.0.0.1:1", request_timeout_ms=1000)
    try:
        client.start()
    except Exception as error:
        print(count, type(error).__name__, "ulimit -n" in str(error))
    client.close()
    del client
"""


@pytest.mark.parametrize("client", ["Producer", "Consumer", "Admin"])
def test_a_client_without_file_descriptors_raises_and_can_be_closed(client: str) -> None:
    program = PROGRAM.format(client=client)

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, text=True
    )

    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == ["0", "1", "2", "3", "4"]
    assert {(line[1], line[2]) for line in lines[:3]} == {("TooManyOpenFilesError", "True")}
    assert {line[1] for line in lines[3:]} == {"BootstrapError"}
    assert lines[3][2] == "True"
    assert lines[4][2] == "False"  # it had one for its socket
