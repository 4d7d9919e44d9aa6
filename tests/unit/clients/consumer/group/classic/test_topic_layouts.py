from __future__ import annotations

import attrs

from pyk.clients.consumer.group.classic.topic_layouts import TopicLayouts
from pyk.clients.engine.metadata import MetadataImage, Node, PartitionMetadata, TopicMetadata
from pyk.protocol.errors import ErrorCode

PARTITIONS = tuple(PartitionMetadata(n, n, 0, replicas=(n, n + 1)) for n in (0, 1))
IMAGE = MetadataImage(
    nodes={n: Node(n, f"broker{n}", 9092, f"rack{n}") for n in (0, 1, 2)},
    topics={"orders": TopicMetadata("orders", None, PARTITIONS)},
)
WITHOUT_NODE_2 = attrs.evolve(IMAGE, nodes={n: IMAGE.nodes[n] for n in (0, 1)})
UNKNOWN = attrs.evolve(
    IMAGE,
    topics={
        "orders": TopicMetadata(
            "orders", None, PARTITIONS, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
    },
)


def make_layouts(*, uses_racks: bool) -> TopicLayouts:
    layouts = TopicLayouts()
    layouts.watch(frozenset({"orders", "payments"}), uses_racks=uses_racks)
    return layouts


def test_only_topics_that_are_known_have_a_layout() -> None:
    layouts = make_layouts(uses_racks=False).observe(IMAGE, 0.0)

    assert {name: layout.partition_count for name, layout in layouts.items()} == {"orders": 2}


def test_a_topic_has_its_layout_until_it_is_unknown_for_five_seconds() -> None:
    layouts = make_layouts(uses_racks=False)
    there = layouts.observe(IMAGE, 0.0)

    assert layouts.observe(UNKNOWN, 1.0) == there
    assert layouts.observe(UNKNOWN, 5.9) == there
    assert layouts.observe(UNKNOWN, 6.0) == {}
    assert layouts.observe(IMAGE, 7.0) == there


def test_racks_are_part_of_a_layout_only_where_a_member_has_one() -> None:
    assert make_layouts(uses_racks=False).observe(IMAGE, 0.0)["orders"].racks == ()
    assert make_layouts(uses_racks=True).observe(IMAGE, 0.0)["orders"].racks == (
        frozenset({"rack0", "rack1"}),
        frozenset({"rack1", "rack2"}),
    )


def test_a_broker_that_is_away_for_a_while_changes_no_layout() -> None:
    for uses_racks in (False, True):
        layouts = make_layouts(uses_racks=uses_racks)

        assert layouts.observe(IMAGE, 0.0) == layouts.observe(WITHOUT_NODE_2, 1.0)
