"""Ranges of records with the same state are combined as Kafka combines them: table of cases."""

from __future__ import annotations

import pytest

from pyk.reference_broker.coordinator.share.state_batches import combine
from support.state_ranges import ranges


@pytest.mark.parametrize(
    ("known", "changed", "start", "combined"),
    [
        # Alone, apart, and neighbours of the same and of another state
        (["0-9x1a"], [], -1, ["0-9x1a"]),
        (["0-9x1a"], ["20-29x1a"], -1, ["0-9x1a", "20-29x1a"]),
        (["0-9x1a"], ["10-19x1a"], -1, ["0-19x1a"]),
        (["0-9x1a"], ["10-19x1k"], -1, ["0-9x1a", "10-19x1k"]),
        # The same state
        (["0-9x1a"], ["5-14x1a"], -1, ["0-14x1a"]),
        (["0-9x1a"], ["2-4x1a"], -1, ["0-9x1a"]),
        # The later one has been delivered more often
        (["0-9x1a"], ["0-9x2a"], -1, ["0-9x2a"]),
        (["0-9x1a"], ["0-4x2a"], -1, ["0-4x2a", "5-9x1a"]),
        (["0-9x1a"], ["0-14x2a"], -1, ["0-14x2a"]),
        (["0-9x1a"], ["3-5x2a"], -1, ["0-2x1a", "3-5x2a", "6-9x1a"]),
        (["0-9x1a"], ["5-9x2a"], -1, ["0-4x1a", "5-9x2a"]),
        (["0-9x1a"], ["5-14x2a"], -1, ["0-4x1a", "5-14x2a"]),
        (["0-9x1a"], ["0-8x2a"], -1, ["0-8x2a", "9-9x1a"]),
        (["0-9x1a"], ["1-9x2a"], -1, ["0-0x1a", "1-9x2a"]),
        (["0-9x1a"], ["9-14x2a"], -1, ["0-8x1a", "9-14x2a"]),
        # What is acknowledged, or was delivered more often, stays
        (["0-9x1k"], ["9-9x1a"], -1, ["0-9x1k"]),
        (["0-9x1k"], ["9-10x1a"], -1, ["0-9x1k", "10-10x1a"]),
        (["0-9x2a"], ["3-5x1a"], -1, ["0-9x2a"]),
        (["0-9x1k"], ["5-14x1a"], -1, ["0-9x1k", "10-14x1a"]),
        (["0-9x1r"], ["0-14x1k"], -1, ["0-9x1r", "10-14x1k"]),
        # Before the start offset nothing is kept
        (["0-9x1a", "10-19x1k"], [], 10, ["10-19x1k"]),
        (["0-9x1a"], [], 4, ["4-9x1a"]),
        (["0-9x1a"], ["5-14x2a"], 8, ["8-14x2a"]),
        (["5-9x1a"], [], 2, ["5-9x1a"]),
        # In any order
        (["10-19x1a"], ["0-4x1k"], -1, ["0-4x1k", "10-19x1a"]),
        (["10-19x1a"], ["0-4x1k", "5-12x1a"], -1, ["0-4x1k", "5-19x1a"]),
    ],
)
def test_ranges_of_records_are_combined(
    known: list[str], changed: list[str], start: int, combined: list[str]
) -> None:
    assert combine(ranges(*known), ranges(*changed), start) == tuple(ranges(*combined))


def test_neighbours_stay_divided_where_kafka_leaves_them_so() -> None:
    known = ranges("0-4x1k", "5-9x1a")

    assert combine(known, ranges("5-9x1k"), -1) == tuple(ranges("0-4x1k", "5-9x1k"))
