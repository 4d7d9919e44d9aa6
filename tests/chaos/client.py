"""One client in a process of its own, which may be killed: ``python -m chaos.client …``.

The arguments are those of :class:`Job`. SIGTERM ends it cleanly.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from pathlib import Path

from pykcheck import Recorder

from .job import Job
from .roles import ROLES

OPERATIONS_PER_CLIENT = 10_000_000
"""How far apart the numbers of operations of two clients begin."""


async def run(job: Job, recorder: Recorder) -> None:
    """Work until SIGTERM."""
    is_over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, is_over.set)
    await ROLES[job.role](job, recorder, is_over)


def main(arguments: list[str]) -> None:
    job = Job(*arguments)
    with Path(job.file).open("a", encoding="utf-8") as file:
        # Of all processes of a machine, the monotonic clocks are one.
        recorder = Recorder(
            time.monotonic, file=file, first_operation=job.number * OPERATIONS_PER_CLIENT
        )
        asyncio.run(run(job, recorder))


if __name__ == "__main__":
    main(sys.argv[1:])
