"""Find out how many tasks Spark runs at once (``spark.default.parallelism``), where possible.

Spark passes none of its configuration to a source in Python, so this module reads the command line
of the JVM that started this process, where the operating system shows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

UNKNOWN = 64
"""Assumed if the number is unknown: a task too many costs less than an idle core."""
NAMES = {
    "--master": "spark.master",
    "--num-executors": "spark.executor.instances",
    "--executor-cores": "spark.executor.cores",
    "--total-executor-cores": "spark.cores.max",
}
LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\d+)?\])?")
LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]")
MOST_ANCESTORS = 8


@cache
def default_parallelism() -> int:
    """Return how many tasks Spark runs at once, or :data:`UNKNOWN`."""
    found = (parallelism_of(command, os.cpu_count() or 1) for command in _commands_above())
    return next((number for number in found if number is not None), UNKNOWN)


def parallelism_of(command: Sequence[str], cpus: int) -> int | None:
    """Return the parallelism that the command line of a Spark driver sets, None if it sets none."""
    settings = _settings(command)
    number = settings.get("spark.default.parallelism") or settings.get("spark.cores.max") or ""
    if number.isdigit():
        return int(number)
    master = settings.get("spark.master", "")
    local, cluster = LOCAL.fullmatch(master), LOCAL_CLUSTER.fullmatch(master)
    if local is not None:
        return cpus if local[1] == "*" else int(local[1] or 1)
    if cluster is not None:
        return int(cluster[1]) * int(cluster[2])
    executors, cores = (settings.get(f"spark.executor.{one}", "") for one in ("instances", "cores"))
    return int(executors) * int(cores) if executors.isdigit() and cores.isdigit() else None


def _settings(command: Sequence[str]) -> dict[str, str]:
    """Return Spark's settings in a command line; of two with one name the last wins."""
    settings = {}
    for flag, value in pairwise(command):
        if flag == "--conf" and "=" in value:
            name, _, text = value.partition("=")
            settings[name] = text
        elif flag in NAMES:
            settings[NAMES[flag]] = value
    return settings


def _commands_above() -> Iterator[list[str]]:
    """Yield the command lines of the ancestors of this process, its parent first (Linux)."""
    pid = os.getppid()
    for _ in range(MOST_ANCESTORS):
        folder = Path("/proc", str(pid))
        try:
            yield (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            status = (folder / "stat").read_text()
        except OSError:
            return
        pid = int(status[status.rindex(")") + 2 :].split()[1])
