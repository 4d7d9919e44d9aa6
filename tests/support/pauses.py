"""Stop a process now and then, as a busy machine does.

A test that hopes for a moment that may be over fails then, and so does a client that cannot catch
up.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import time
from random import Random

SECONDS_BETWEEN = (0.1, 1.5)
SECONDS_OF_PAUSE = (0.02, 0.1, 0.3, 1.2)


def pause_now_and_then(seed: str) -> None:
    """Let another process stop this one at random, as long as this one lives."""
    name = os.environ.get("PYTEST_XDIST_WORKER", "main")
    other = subprocess.Popen([sys.executable, __file__, f"{name} {seed}"])
    atexit.register(lambda: (other.kill(), other.wait()))


def _pause_parent(chance: Random) -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(chance.uniform(*SECONDS_BETWEEN))
        os.kill(parent, signal.SIGSTOP)
        try:
            time.sleep(chance.choice(SECONDS_OF_PAUSE))
        finally:
            os.kill(parent, signal.SIGCONT)


if __name__ == "__main__":
    _pause_parent(Random(sys.argv[1]))
