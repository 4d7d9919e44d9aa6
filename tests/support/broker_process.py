"""``pyk broker`` in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO, Self

from support.real_time import IN_TIME

COMMAND = [sys.executable, "-m", "pyk.command_line", "broker"]


class BrokerProcess:
    """A broker that tests may kill; ``bootstrap`` is there once it serves."""

    def __init__(
        self, data_dir: Path, *options: str, port: int | None = 0, log: IO[bytes] | None = None
    ) -> None:
        """``log`` gets what it writes to stderr, which would fill a pipe in a long run.

        ``port`` is None where the options say where to listen.
        """
        self._log = log
        where = [] if port is None else ["--port", str(port)]
        self._command = [*COMMAND, *where, "--data-dir", str(data_dir), *options]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=self._log or subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline()
        if not self.ready:
            raise RuntimeError(self.process.communicate()[1])
        self.bootstrap = self.ready.split()[1]

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.process.kill()
        self.process.communicate()

    def terminate(self) -> tuple[int, str, str]:
        """Ask it to end; return its exit status and the rest of its output."""
        self.process.terminate()
        out, err = self.process.communicate(timeout=IN_TIME)
        return self.process.returncode, out, err
