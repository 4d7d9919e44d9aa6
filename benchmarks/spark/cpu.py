"""CPU seconds of a Spark application by kind of process. Linux only: it reads ``/proc``."""

from __future__ import annotations

import os
from pathlib import Path

import attrs

TICKS = os.sysconf("SC_CLK_TCK")


@attrs.frozen
class Cpu:
    """User + system seconds so far of the JVM, and of Spark's Python workers."""

    jvm: float
    python: float

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(self.jvm - other.jvm, self.python - other.python)


def children_cpu() -> Cpu:
    """Return the CPU seconds of the child processes: a JVM, and the Python workers below it."""
    jvm = python = 0.0
    for pid in _descendants(os.getpid()):
        try:
            name, seconds = _read(pid)
        except OSError:
            continue  # ended in between
        if name == "java":
            jvm += seconds
        else:
            python += seconds
    return Cpu(jvm, python)


def _read(pid: int) -> tuple[str, float]:
    text = Path(f"/proc/{pid}/stat").read_text()
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    return name, (int(fields[11]) + int(fields[12])) / TICKS


def _descendants(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text()
            except OSError:
                continue
            parent = int(text[text.rindex(")") + 2 :].split()[1])
            parents.setdefault(parent, []).append(int(folder.name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
