"""Partitions that need no response now are not taken for stalled ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyk.clients.consumer.fetching.fetch_call import WantedPartition
from pyk.clients.consumer.fetching.fetch_plan import NodePlan
from pyk.clients.consumer.fetching.fetcher import _is_looked_after
from pyk.clients.topic_partition import TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
NOW = 10.0


def planned(*partitions: TopicPartition, is_full: bool = False) -> NodePlan:
    node_plan = NodePlan()
    node_plan.grant(1000)
    if is_full:
        node_plan.grant(0)  # the plan of a full node
    node_plan.wanted.update(dict.fromkeys(partitions, WantedPartition(5, 100)))
    return node_plan


def node(*in_flight: TopicPartition, is_running: bool = True, waits_until: float = 0.0) -> Any:
    return SimpleNamespace(
        is_running=is_running,
        plan_under_way=planned(*in_flight) if in_flight else None,
        waits_until=lambda: waits_until,
    )


@pytest.mark.parametrize(
    ("asked", "node_plan", "expected"),
    [
        (node(A0, A1), planned(A0), True),
        (node(A1), planned(A0), False),  # the request in flight leaves it out
        (node(is_running=False), planned(A0), False),
        (None, planned(A0), False),
        (node(waits_until=NOW + 1), planned(A0), True),  # the node backs off
        (node(waits_until=NOW), planned(A0), False),
        (None, planned(is_full=True), True),  # nothing is fetched until the application has read
        (None, planned(A1, is_full=True), False),  # others are
    ],
)
def test_a_partition_is_looked_after_while_it_is_requested_or_would_be(
    asked: Any, node_plan: NodePlan, expected: bool
) -> None:
    assigned: Any = SimpleNamespace(topic_partition=A0)

    assert _is_looked_after(assigned, asked, node_plan, NOW) is expected
