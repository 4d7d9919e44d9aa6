"""Stale commits: committed offsets that go back, skip records, or are not what was committed.

1. A commit that went through is followed by one of a lower offset.
2. Everything below a committed offset was handed out to the group before: in a transaction that was
   not aborted, if it was in one. Otherwise nobody will ever process it.
3. Reading the committed offsets of a group brings at least what was committed before, and nothing
   that nobody committed: what an aborted transaction wanted to commit does not count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from pykcheck.anomaly import Anomaly, Facts
from pykcheck.history import NEVER, CommitOffsets, Poll, ReadOffsets

GroupPartition = tuple[str, str]


@dataclass(slots=True)
class _Commit:
    """An offset that a group committed, or may have, for one partition."""

    process: str
    offset: int
    asked: float
    answered: float
    """When it certainly held; ``NEVER`` if nobody knows."""


def stale_commit(facts: Facts) -> Iterator[Anomaly]:
    """Find committed offsets that are behind, or ahead of what was processed."""
    commits = _commits(facts)
    handed_out = _handed_out(facts)
    for key, committed in commits.items():
        yield from _backward(key, committed)
        claims = [(each.offset, each.asked, each.process) for each in committed]
        yield from _skipping(facts, key, claims, handed_out[key])
    reads: dict[GroupPartition, list[ReadOffsets]] = defaultdict(list)
    for read in facts.history.of(ReadOffsets):
        for partition in read.offsets:
            reads[read.group, partition].append(read)
    for key, readings in reads.items():
        yield from _wrong_answers(key, commits.get(key, []), readings)


def _commits(facts: Facts) -> dict[GroupPartition, list[_Commit]]:
    """Return what may have been committed, in the order in which it was asked for."""
    commits: dict[GroupPartition, list[_Commit]] = defaultdict(list)
    for commit in facts.history.of(CommitOffsets):
        answered = commit.completed if commit.is_ok else NEVER
        if commit.transaction is not None:
            transaction = facts.transactions[commit.transaction]
            if transaction.is_aborted:
                continue
            answered = transaction.commit_answered if commit.is_ok else NEVER
        if not commit.has_failed:
            for partition, offset in commit.offsets.items():
                each = _Commit(commit.process, offset, commit.invoked, answered)
                commits[commit.group, partition].append(each)
    return commits


def _handed_out(facts: Facts) -> dict[GroupPartition, dict[int, float]]:
    """Return when each record was first handed out to a group, where that counts."""
    moments: dict[GroupPartition, dict[int, float]] = defaultdict(dict)
    for poll in facts.history.of(Poll):
        if poll.group is None:
            continue
        if poll.transaction is not None:
            transaction = facts.transactions.get(poll.transaction)
            if transaction is None or transaction.is_aborted:
                continue
        for partition, offset, _ in poll.records:
            seen = moments[poll.group, partition]
            seen[offset] = min(poll.completed, seen.get(offset, NEVER))
    return moments


def _backward(key: GroupPartition, commits: list[_Commit]) -> Iterator[Anomaly]:
    """Find a commit that was asked for when one of a higher offset had been answered."""
    answered = sorted(
        (each for each in commits if each.answered < NEVER), key=lambda each: each.answered
    )
    highest: _Commit | None = None
    position = 0
    for commit in commits:
        while position < len(answered) and answered[position].answered < commit.asked:
            if highest is None or answered[position].offset > highest.offset:
                highest = answered[position]
            position += 1
        if highest is not None and commit.answered < NEVER and commit.offset < highest.offset:
            yield Anomaly(
                "stale commit",
                f"{commit.process} committed {commit.offset} for {key[1]} of group {key[0]} after "
                f"{highest.process} had committed {highest.offset}",
            )


def _skipping(
    facts: Facts,
    key: GroupPartition,
    claims: list[tuple[int, float, str]],
    handed_out: dict[int, float],
) -> Iterator[Anomaly]:
    group, partition = key
    visible = facts.logs.by_partition[partition].visible_in_order
    # For each visible record: which one up to there was handed out last, and when.
    latest: list[tuple[float, int]] = []
    for offset in visible:
        moment = handed_out.get(offset, NEVER), offset
        latest.append(max(latest[-1], moment) if latest else moment)
    reported: set[int] = set()
    for committed, asked, process in claims:
        below = bisect_left(visible, committed) - 1
        if below >= 0 and latest[below][0] > asked and latest[below][1] not in reported:
            offset = latest[below][1]
            reported.add(offset)
            yield Anomaly(
                "stale commit",
                f"{process} committed {committed} for {partition} of group {group}, which "
                f"skips @{offset}: nobody had processed it",
            )


def _wrong_answers(
    key: GroupPartition, commits: list[_Commit], reads: list[ReadOffsets]
) -> Iterator[Anomaly]:
    group, partition = key
    first_asked: dict[int, float] = {}
    for each in commits:
        first_asked[each.offset] = min(each.asked, first_asked.get(each.offset, NEVER))
    answered = sorted((each.answered, each.offset) for each in commits if each.answered < NEVER)
    position, highest = 0, 0
    for read in sorted(reads, key=lambda each: each.invoked):
        while position < len(answered) and answered[position][0] < read.invoked:
            highest = max(highest, answered[position][1])
            position += 1
        offset = read.offsets[partition]
        if offset < highest:
            what = f"although {highest} had been committed"
        elif first_asked.get(offset, NEVER) > read.completed:
            what = "which nobody had committed"
        else:
            continue
        yield Anomaly(
            "stale commit",
            f"{read.process} read {offset} as the offset of {partition} of group {group}, {what}",
        )
