"""Measure the Spark connector beside Spark's own: ``python -m benchmarks.spark [--runs N]``.

Both on one Apache Kafka, one core for Spark (``local[1]``), in turns: each round runs every case of
each connector in a fresh session, after a warm-up. Rows have 16-byte keys and 100-byte values.
"7 columns" and "value only" drain a topic of six partitions into a sink that does nothing; "sink"
writes generated rows. Writes ``benchmarks/results/spark.json``. Linux only: it reads ``/proc``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path
from statistics import median

import attrs

from benchmarks.spark import environment, jars
from support import apache_kafka

RESULTS = Path(__file__).resolve().parents[1] / "results" / "spark.json"
CONNECTORS = ("kafka", "pyk")


@attrs.frozen
class Goal:
    """pyk's rows per second, in units of those of Spark's own connector."""

    case: str
    at_least: float


GOALS = (Goal("7 columns", 1.5), Goal("value only", 3.0), Goal("sink", 0.9))


@attrs.frozen
class Row:
    """Medians over the measurements of one case of one connector."""

    connector: str
    case: str
    rows_per_second: float
    jvm_us_per_row: float
    python_us_per_row: float
    runs: int


Measurements = dict[tuple[str, str], list[dict[str, float]]]


def run(connector: str, bootstrap: str, *arguments: str) -> list[dict[str, float | str]]:
    command = [
        environment.python(), "-m", "benchmarks.spark.run", connector,
        "--bootstrap", bootstrap, *arguments,
    ]  # fmt: skip
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=900,
        env=environment.variables(),
    )
    if done.returncode:
        raise SystemExit(f"{connector} failed:\n{done.stderr[-3000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measure(bootstrap: str, options: argparse.Namespace) -> Measurements:
    found: Measurements = defaultdict(list)
    arguments = ["--records", str(options.records), "--cores", str(options.cores)]
    arguments += ["--topic", f"bench-{os.getpid()}"]
    run("kafka", bootstrap, *arguments, "--fill")
    for number in range(options.runs):
        for connector in CONNECTORS:
            print(f"round {number + 1} of {options.runs}: {connector}", flush=True)
            for result in run(connector, bootstrap, *arguments, "--only", options.only):
                found[connector, str(result.pop("case"))].append(result)  # type: ignore[arg-type]
    return found


def medians(found: Measurements) -> list[Row]:
    return [
        Row(
            connector=connector,
            case=case,
            runs=len(results),
            **{name: median(result[name] for result in results) for name in results[0]},
        )
        for (connector, case), results in found.items()
    ]


def show(rows: list[Row]) -> dict[str, float]:
    print(f"\n{'case':<14}{'connector':<11}{'M rows/s':>9}{'JVM µs/row':>12}{'Python µs/row':>15}")
    for one in sorted(rows, key=lambda row: (row.case, row.connector)):
        print(
            f"{one.case:<14}{one.connector:<11}{one.rows_per_second / 1e6:>9.2f}"
            f"{one.jvm_us_per_row:>12.2f}{one.python_us_per_row:>15.2f}"
        )
    speed = {(one.connector, one.case): one.rows_per_second for one in rows}
    ratios = {
        goal.case: speed["pyk", goal.case] / speed["kafka", goal.case]
        for goal in GOALS
        if ("pyk", goal.case) in speed and ("kafka", goal.case) in speed
    }
    print()
    for goal in GOALS:
        if goal.case in ratios:
            outcome = "reached" if ratios[goal.case] >= goal.at_least else "MISSED"
            print(f"{goal.case:<14}{ratios[goal.case]:>6.2f}  (≥ {goal.at_least:.1f}) {outcome}")
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name contains this word")
    parser.add_argument("--bootstrap", help="a running Apache Kafka with num.partitions=6")
    options = parser.parse_args()
    if why := apache_kafka.missing() or jars.missing():
        print(f"skipped: {why}")
        return
    if options.bootstrap:
        found = measure(options.bootstrap, options)
    else:
        with apache_kafka.ApacheKafka(config={"num.partitions": "6"}, jvm_options=()) as kafka:
            found = measure(kafka.bootstrap, options)
    rows = medians(found)
    ratios = show(rows)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(
        json.dumps({"rows": [attrs.asdict(one) for one in rows], "ratios": ratios}, indent=1)
    )
    print(f"\nwritten: {RESULTS.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
