"""Skipped and reread: one reader jumped over a visible record, or went back.

A reader hands out a partition from its position on, offset by offset. It may begin somewhere else
only where the history says so, by an ``assign``; one during a poll concerns what that poll
returns. Holes are no jump: control records, and what was aborted, take offsets too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts
from pykcheck.history import Assign, Poll


def reading_order(facts: Facts) -> Iterator[Anomaly]:
    """Find readers that skip records, or read them again."""
    positions: dict[tuple[str, str], int] = {}
    for operation in sorted([*facts.polls, *facts.history.of(Assign)], key=_moment):
        if isinstance(operation, Poll):
            yield from _follow(facts, operation, positions)
        else:
            for partition in operation.partitions:
                positions.pop((operation.process, partition), None)


def _moment(operation: Poll | Assign) -> float:
    return operation.ended if isinstance(operation, Poll) else operation.order


def _follow(facts: Facts, poll: Poll, positions: dict[tuple[str, str], int]) -> Iterator[Anomaly]:
    for partition, offset, value in poll.records:
        reader = poll.process, partition
        expected = positions.get(reader, offset)
        if offset < expected:
            yield Anomaly(
                "reread",
                f"{poll.process} read {value!r} at {partition}@{offset} although it had come to "
                f"@{expected}",
            )
        elif offset > expected:
            yield from _jump(facts, poll, partition, expected, offset)
        positions[reader] = offset + 1
    for partition, position in poll.positions.items():
        reader = poll.process, partition
        expected = positions.get(reader, position)
        if position > expected:
            yield from _jump(facts, poll, partition, expected, position)
        positions[reader] = max(position, expected)


def _jump(
    facts: Facts, poll: Poll, partition: str, expected: int, offset: int
) -> Iterator[Anomaly]:
    log = facts.logs.by_partition[partition]
    there = log.visible_in_order if poll.is_read_committed else log.read_in_order
    first, end = bisect_left(there, expected), bisect_left(there, offset)
    for skipped in there[first:end]:
        yield Anomaly(
            "skipped",
            f"{poll.process} went from {partition}@{expected} to @{offset} without "
            f"{log.values[skipped]!r} at @{skipped}",
        )
