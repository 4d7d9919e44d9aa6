"""Assignments of Java's client-side assignors for 90 random groups."""

from __future__ import annotations

import gzip
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from pyk.clients.consumer.group.classic.assignors import (
    Assignment,
    Assignor,
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    Subscription,
    TopicLayout,
)

VECTORS = Path(__file__).parent / "assignors.jsonl.gz"
GROUPS = [json.loads(line) for line in gzip.decompress(VECTORS.read_bytes()).splitlines()]


@pytest.mark.parametrize("assignor", [RangeAssignor(), RoundRobinAssignor()], ids=lambda a: a.name)
@pytest.mark.parametrize("group", GROUPS, ids=range(len(GROUPS)))
def test_range_and_round_robin_assign_as_java_does(
    group: dict[str, Any], assignor: Assignor
) -> None:
    assignment = assignor.assign(layouts(group), subscriptions(group))

    assert as_lists(assignment) == group["assignments"][assignor.name]


@pytest.mark.parametrize(
    "assignor", [StickyAssignor(), CooperativeStickyAssignor()], ids=lambda a: a.name
)
@pytest.mark.parametrize("group", GROUPS, ids=range(len(GROUPS)))
def test_sticky_assignors_balance_at_least_as_well_as_java(
    group: dict[str, Any], assignor: Assignor
) -> None:
    assignment = assignor.assign(layouts(group), subscriptions(group))

    assert imbalance(as_lists(assignment)) <= imbalance(group["assignments"][assignor.name])


def layouts(group: dict[str, Any]) -> dict[str, TopicLayout]:
    racks = group["nodeRacks"]
    return {
        topic: TopicLayout(
            count,
            tuple(
                frozenset([racks[node]] if racks and racks[node] else [])
                for name, _, node in group["leaders"]
                if name == topic
            ),
        )
        for topic, count in group["topics"].items()
    }


def subscriptions(group: dict[str, Any]) -> list[Subscription]:
    return [
        Subscription(
            member_id=member_id,
            topics=frozenset(member["topics"]),
            group_instance_id=member["instance"],
            rack=member["rack"],
        )
        for member_id, member in group["members"].items()
    ]


def as_lists(assignment: Assignment) -> dict[str, list[list[Any]]]:
    return {
        member_id: sorted(list(partition) for partition in partitions)
        for member_id, partitions in assignment.items()
    }


def imbalance(assignment: dict[str, list[list[Any]]]) -> int:
    loads = [len(partitions) for partitions in assignment.values()]
    return sum(abs(one - other) for one, other in combinations(loads, 2))
