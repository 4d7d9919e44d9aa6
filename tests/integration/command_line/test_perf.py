"""``pyk perf`` from scripts and on a terminal."""

from __future__ import annotations

from pyk.reference_broker import Cluster
from support.pyk_command import run, run_on_terminal


def test_sending_and_reading_are_measured(kafka: Cluster, kafka_topic: str) -> None:
    b = ("-b", kafka.bootstrap, "--json")
    (sent,) = run("perf", "produce", kafka_topic, "-n", 500, "--size", 10, *b).json
    (read,) = run("perf", "consume", kafka_topic, "-n", 500, *b).json

    assert (sent["test"], sent["records"], read["test"], read["records"]) == (
        "produce", 500, "consume", 500,
    )  # fmt: skip
    assert sent["recordsPerSecond"] > 0
    assert 0 < sent["p50Ms"] <= sent["maxMs"]


def test_the_time_from_end_to_end_is_measured(kafka: Cluster, kafka_topic: str) -> None:
    (form,) = run("perf", "latency", kafka_topic, "-n", 5, "-b", kafka.bootstrap, "--json").json

    assert form["records"] == 5
    assert 0 < form["p50Ms"] <= form["p99Ms"] <= form["maxMs"]


def test_a_terminal_shows_a_histogram(kafka: Cluster, kafka_topic: str) -> None:
    shown = run_on_terminal("perf", "latency", kafka_topic, "-n", 3, "-b", kafka.bootstrap)

    assert shown.code == 0
    assert any(line.startswith("<") and "#" in line for line in shown.lines)
    assert any(line.startswith("Records per second") for line in shown.lines)


def test_sending_keeps_a_rate(kafka: Cluster, kafka_topic: str) -> None:
    words = ("perf", "produce", kafka_topic, "-n", 5, "--rate", 50, "--json")

    (form,) = run(*words, "-b", kafka.bootstrap).json

    assert form["records"] == 5
    assert form["seconds"] >= 0.08
