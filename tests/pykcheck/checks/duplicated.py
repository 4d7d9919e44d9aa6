"""Duplicated: what was sent once, or made from one record, is in the logs more than once.

1. A value that was seen at two offsets, by readers or in acknowledgements.
2. Two visible values that were made from the same source.
3. A record that two committed transactions of one group both consumed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts


def duplicated(facts: Facts) -> Iterator[Anomaly]:
    """Find values that are there twice."""
    yield from _at_two_offsets(facts)
    yield from _made_twice(facts)
    yield from _consumed_twice(facts)


def _at_two_offsets(facts: Facts) -> Iterator[Anomaly]:
    for value, places in facts.logs.offsets.items():
        if len(places) > 1:
            where = ", ".join(f"{partition}@{offset}" for partition, offset in places)
            yield Anomaly("duplicated", f"{value!r} is at {where}")


def _made_twice(facts: Facts) -> Iterator[Anomaly]:
    made: dict[str, list[str]] = defaultdict(list)
    for send in facts.sends:
        if send.source is not None and facts.logs.is_visible(send):
            made[send.source].append(send.value)
    for source, values in made.items():
        if len(values) > 1:
            yield Anomaly("duplicated", f"{source!r} was made into {values}, all visible")


def _consumed_twice(facts: Facts) -> Iterator[Anomaly]:
    consumed: dict[tuple[str, str, int], str] = {}
    for transaction in facts.transactions.values():
        if not transaction.is_committed:
            continue
        committed = {
            (commit.group, partition): offset
            for commit in transaction.offset_commits
            for partition, offset in commit.offsets.items()
        }
        for poll in transaction.polls:
            for partition, offset, _ in poll.records:
                group = poll.group
                if group is None or offset >= committed.get((group, partition), 0):
                    continue
                first = consumed.setdefault((group, partition, offset), transaction.name)
                if first != transaction.name:
                    yield Anomaly(
                        "duplicated",
                        f"group {group} consumed {partition}@{offset} in the committed "
                        f"transactions {first} and {transaction.name}",
                    )
