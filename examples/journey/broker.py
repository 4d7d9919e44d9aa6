"""A broker in a process of its own, as ``pyk broker`` starts it, with its data on disk."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

STOP_TIMEOUT = 10


@contextlib.contextmanager
def running_broker(data_dir: Path, configs: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run ``pyk broker`` and yield its address; stop it cleanly afterwards.

    It listens on a free port, unless ``configs``, by Kafka's names, have ``listeners``.
    """
    given = dict(configs or {})
    port = [] if "listeners" in given else ["--port", "0"]
    command = [
        sys.executable, "-m", "pyk.command_line", "broker", *port, "--data-dir", str(data_dir),
        *(f"--config={name}={value}" for name, value in given.items()),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        ready = process.stdout.readline().split()
        if ready[:1] != ["READY"]:
            raise RuntimeError(f"the broker did not start: exit status {process.wait()}")
        yield ready[1]
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
