"""Fuzz all targets, one after another: ``python -m hostile.fuzz MINUTES [TARGET …]``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .engine import HAS_ATHERIS, harm_of
from .targets import CORPORA, TARGETS, corpus_name

FOLDER = Path(".fuzz")  # inputs that earlier runs kept; without it, targets start with seeds
MOST_LINES = 60  # of the output of a target that failed


def main(minutes: float, names: list[str]) -> int:
    """Return the exit status: 1 if an input did harm, 2 if a target could not run."""
    if not HAS_ATHERIS:
        print("== fuzz: atheris is not to be had for this Python: damaging seeds blindly instead")
    shares = sum(TARGETS[name].share for name in names)
    print(f"== fuzz: {len(names)} targets, {minutes:g} minutes in all")
    status = 0
    for name in names:
        seconds = max(1, round(minutes * 60 * TARGETS[name].share / shares))
        print(f"{name:18}{seconds:5} s  ", end="", flush=True)
        status = max(status, report(name, fuzz(name, seconds)))
    return status


def fuzz(name: str, seconds: int) -> subprocess.CompletedProcess[str]:
    folder = FOLDER / corpus_name(name)
    harm_of(folder).unlink(missing_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "hostile.fuzz.engine", name, str(folder), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        errors="replace",
    )


def report(name: str, done: subprocess.CompletedProcess[str]) -> int:
    """Print the result of a target, and return its part of the exit status."""
    harm = harm_of(FOLDER / corpus_name(name))
    inputs = re.findall(r"number_of_executed_units: (\d+)", done.stdout)
    places = re.findall(r"cov: (\d+)", done.stdout)
    print(f"{inputs[-1] if inputs else 'no':>9} inputs", end="")
    print(f", {places[-1]} places in the code" if places else "", end=": ")
    if done.returncode == 0:
        print("nothing found")
        return 0
    print("FOUND HARM" if harm.exists() else "FAILED")
    lines = [line for line in done.stdout.splitlines() if not line.startswith("INFO: Instr")]
    print("\n".join(lines[-MOST_LINES:]))
    if not harm.exists():
        return 2
    print(f"\nKeep the input as a line of {CORPORA.name}/{corpus_name(name)}.txt, for `make test`:")
    print(repr(harm.read_bytes()))
    return 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:] or list(TARGETS)))
