"""Run all benchmarks one after the other: clients, latency, Java's client, brokers, Spark."""

from __future__ import annotations

import subprocess
import sys

SUITES = (
    "benchmarks.clients",
    "benchmarks.latency",
    "benchmarks.java",
    "benchmarks.broker",
    "benchmarks.spark",
)


def main() -> int:
    for suite in SUITES:
        print(f"== {suite}", flush=True)
        if status := subprocess.run(
            [sys.executable, "-m", suite, *sys.argv[1:]], check=False
        ).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
