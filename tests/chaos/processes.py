"""The processes of clients: each has a slot, and is replaced when it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from pykcheck import Recorder

from .group_roles import GROUP_ROLES
from .job import Job

SECONDS_TO_START = 120
SECONDS_TO_END = 150


class Processes:
    """Clients that run, by what they do. A slot may have two: one that is stopped, and another.

    ``notes`` gets who was stopped, killed or started.
    """

    def __init__(self, folder: Path, bootstrap: str, seed: int, notes: Recorder) -> None:
        self._notes = notes
        self._folder = folder
        self._bootstrap = bootstrap
        self._seed = seed
        self._started = 0
        self._running: dict[Job, subprocess.Popen[bytes]] = {}

    def start(self, slot: str) -> None:
        """Start the next client of a slot."""
        self._started += 1
        role = slot.partition("-")[0].rstrip("0123456789")
        name = f"{slot}.{self._started}"
        file = self._folder / f"{name}.{'notes' if role in GROUP_ROLES else 'jsonl'}"
        job = Job(role, slot, name, self._bootstrap, str(file), self._started, self._seed)
        with (self._folder / f"{name}.log").open("wb") as log:
            self._running[job] = subprocess.Popen(
                job.command,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            )

    def pick(self, random: Random) -> Job:
        """Return one of those that run."""
        return random.choice(list(self._running))

    def stop(self, job: Job) -> None:
        """Stop a client until it is continued."""
        self._notes.invoke(job.name, "stopped")
        self._running[job].send_signal(signal.SIGSTOP)

    def go_on(self, job: Job) -> None:
        """Let a client go on, if it was not killed since it was stopped."""
        if job in self._running:
            self._running[job].send_signal(signal.SIGCONT)

    def kill(self, job: Job) -> None:
        """Kill a client, and start the next of its slot."""
        self._notes.invoke(job.name, "killed")
        process = self._running.pop(job)
        process.kill()
        process.wait()
        self._fill(job.slot)

    def replace_ended(self) -> list[Job]:
        """Start others for those that ended: were fenced, gave up or killed themselves."""
        ended = [job for job, process in self._running.items() if process.poll() is not None]
        for job in ended:
            status = self._running.pop(job).returncode
            self._notes.invoke(job.name, "ended", status=status)
            self._fill(job.slot)
        return ended

    def wait_until_busy(self) -> None:
        """Wait until each client has begun to write its history; a slow machine takes a while.

        Those that complete what others prepare may have to wait for it.
        """
        self._wait_until_busy([job for job in self._running if job.role != "completer"])

    def _wait_until_busy(self, jobs: Sequence[Job]) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        for job in jobs:
            file = Path(job.file)
            while not file.exists() or not file.stat().st_size:
                if time.monotonic() > deadline:
                    raise AssertionError(f"{job.name} does not begin: see {job.file}")
                time.sleep(0.1)

    def end(self, roles: Sequence[str]) -> None:
        """Let the clients of some roles end cleanly.

        A keeper that has just begun, or dies now, leaves open what no broker ends: the next of its
        slot completes that first.
        """
        while ending := [job for job in self._running if job.role in roles]:
            self._wait_until_busy([job for job in ending if job.role == "keeper"])
            for job in ending:
                self._running[job].terminate()
            for job in ending:
                if self._wait_for_end(job) and job.role == "keeper":
                    self.start(job.slot)

    def _wait_for_end(self, job: Job) -> int:
        """Return the exit status of a client that ends."""
        try:
            return self._running.pop(job).wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{job.name} does not end: see {job.file}") from None

    def kill_all(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()

    def _fill(self, slot: str) -> None:
        if all(job.slot != slot for job in self._running):
            self.start(slot)
