"""G1c, cycle of information flow: transactions that each saw what the other wrote.

The edges of the graph are: one transaction read what another wrote; one was committed, and answered
so, before another began. Each edge leads from a decision to commit to a later one, so a cycle shows
that something was seen before it was decided. Edges between writes are left out, as Kafka does not
isolate them, and so are those from a read to a later write, as a reader may lag.

Real time would need an edge between every two transactions. Instead a chain of nodes, one for each
begin in the order of time, carries it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts
from pykcheck.graph import components
from pykcheck.history import NEVER
from pykcheck.transactions import Transaction


def information_cycle(facts: Facts) -> Iterator[Anomaly]:
    """Find sets of transactions of which each flows into every other."""
    committed = [each for each in facts.transactions.values() if each.is_committed]
    edges = _reads(facts, committed)
    _add_real_time(edges, committed)
    for component in components(edges):
        names = sorted(committed[node].name for node in component if node < len(committed))
        if len(component) > 1:
            yield Anomaly("G1c cycle", f"information flows in a circle among {names}")


def _reads(facts: Facts, committed: list[Transaction]) -> list[list[int]]:
    numbers = {transaction.name: number for number, transaction in enumerate(committed)}
    edges: list[list[int]] = [[] for _ in committed]
    for reader, transaction in enumerate(committed):
        writers = {
            facts.writers[value].transaction
            for poll in transaction.polls
            if poll.is_read_committed
            for _, _, value in poll.records
            if value in facts.writers
        }
        for name in writers:
            writer = None if name is None else numbers.get(name)
            if writer is not None and writer != reader:
                edges[writer].append(reader)
    return edges


def _add_real_time(edges: list[list[int]], committed: list[Transaction]) -> None:
    """Add the chain: a transaction leads to the first begin after its end, and each to the next."""
    in_order = sorted(range(len(committed)), key=lambda number: committed[number].started)
    begins = [committed[number].started for number in in_order]
    first = len(committed)
    edges.extend([first + position + 1] for position in range(len(begins)))
    edges.append([])
    for position, number in enumerate(in_order):
        edges[first + position].append(number)
    for number, transaction in enumerate(committed):
        answered = transaction.commit_answered
        if answered != NEVER:
            edges[number].append(first + bisect_right(begins, answered))
