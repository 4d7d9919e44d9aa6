"""Nodes that cannot be reached are remembered, and reported now and then."""

from __future__ import annotations

from pyk.clients.engine.reachability import Reachability
from pyk.clients.errors import NodeUnavailableError

REFUSED = NodeUnavailableError("refused", node_id=1)


def test_the_first_failure_is_logged_and_then_one_a_minute() -> None:
    nodes = Reachability()

    told = [second for second in range(130) if nodes.failed(1, REFUSED, float(second))]

    assert told == [0, 60, 120]
    found = nodes.of(1)
    assert found is not None
    assert (found.since, found.error) == (0.0, REFUSED)


def test_a_node_that_comes_and_goes_is_not_reported_more_often() -> None:
    nodes = Reachability()
    told = 0

    for second in range(60):
        told += nodes.failed(1, REFUSED, float(second))
        nodes.reached(1)

    assert told == 1
    assert nodes.all() == ()


def test_a_node_that_left_the_cluster_is_forgotten() -> None:
    nodes = Reachability()
    nodes.failed(1, REFUSED, 0.0)
    nodes.failed(2, REFUSED, 0.0)

    nodes.keep({2, 3})

    assert [node.node_id for node in nodes.all()] == [2]
