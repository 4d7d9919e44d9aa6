"""The figures of pyk, those of its peers, and the goals for their ratios. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import attrs


@attrs.frozen
class Goal:
    """A ``figure`` of ``client`` in a measurement is at most ``at_most`` times that of the peer."""

    measurement: str
    client: str
    figure: str
    at_most: float
    peer: str = "confluent"


P50, P99, CPU = "p50_microseconds", "p99_microseconds", "cpu_microseconds"
ACKNOWLEDGE, BUSY, TRAVEL = "send_and_wait", "send_and_wait, busy thread", "produce to consume"
TRANSACTION, TRANSACTION_OF_100 = "transaction, 1 record", "transaction, 100 records"

GOALS = (
    Goal(ACKNOWLEDGE, "pyk", P50, 1.2),
    Goal(ACKNOWLEDGE, "pyk", P99, 1.5),
    Goal(BUSY, "pyk", P50, 1.1),
    *(
        goal
        for client in ("pyk", "pyk async")
        for goal in (
            Goal(TRAVEL, client, P50, 1.0),
            Goal(TRAVEL, client, P99, 1.2),
            Goal(TRAVEL, client, CPU, 1.5),
        )
    ),
    *(
        goal
        for measurement in (TRANSACTION, TRANSACTION_OF_100)
        for client in ("pyk", "pyk async")
        for goal in (
            Goal(measurement, client, P50, 1.0),
            Goal(measurement, client, P99, 1.2),
            Goal(measurement, client, CPU, 1.0),
        )
    ),
)


@attrs.frozen
class Row:
    """One line of the result: medians over the rounds."""

    measurement: str
    client: str
    p50_microseconds: float
    p99_microseconds: float
    cpu_microseconds: float
    """For one record or transaction; producer and consumer together where both were measured."""
    runs: int


def row(measurement: str, client: str, runs: list[Mapping[str, float]]) -> Row:
    """Return the medians of the runs of one client."""
    p50, p99, cpu = (median(run[figure] for run in runs) for figure in (P50, P99, CPU))
    return Row(measurement, client, p50, p99, cpu, len(runs))


def ratio(goal: Goal, rows: Mapping[tuple[str, str], Row]) -> float | None:
    """Return a figure in units of the peer's, None where one of the two was not measured."""
    own, peer = rows.get((goal.measurement, goal.client)), rows.get((goal.measurement, goal.peer))
    if own is None or peer is None:
        return None
    value: float = getattr(own, goal.figure) / getattr(peer, goal.figure)
    return value
