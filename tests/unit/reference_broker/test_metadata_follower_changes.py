"""What a broker does because of committed metadata, and in which turns of its loop."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.messages.metadata_records import ConfigRecord
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.controller.image import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from pyk.reference_broker.coordinator.group.kind import GROUPS
from pyk.reference_broker.metadata_follower import CHANGES_IN_A_TURN, PARTITIONS_IN_A_TURN
from pyk.reference_broker.storage import TransactionMarker
from support.metadata_follower import OFFSETS, ORDERS, Follower, HeldPartition


def started() -> Follower:
    follower = Follower()
    follower.start()
    return follower


# -- at the start ----------------------------------------------------------------------------------


def test_metadata_are_only_replayed_while_their_log_is_loaded() -> None:
    follower = Follower()
    topic_id = follower.create("orders")
    follower.delete(topic_id)
    follower.create("bills")

    assert follower.calls == []
    assert set(follower.image.topics) == {"bills"}


def test_all_partitions_are_opened_after_a_crash() -> None:
    follower = Follower()
    follower.create("orders", 2)
    follower.create(GROUPS.topic)

    list(follower.follower.follow_all(is_clean=False))

    assert follower.calls[:2] == [("configure", None), ("expect logs", None)]
    assert follower.followed == [ORDERS, TopicPartition("orders", 1), OFFSETS]
    assert follower.replicas.unused == []


def test_only_internal_topics_are_opened_after_a_clean_shutdown() -> None:
    follower = Follower()
    follower.create("orders", 2)
    follower.create(GROUPS.topic)

    list(follower.follower.follow_all(is_clean=True))

    assert follower.followed == [OFFSETS]
    assert follower.replicas.unused == [ORDERS, TopicPartition("orders", 1)]


def test_others_can_run_while_the_partitions_of_a_topic_are_opened() -> None:
    follower = Follower()
    follower.create("orders", 3 * PARTITIONS_IN_A_TURN)

    assert follower.start() == 4


def test_unused_partitions_are_followed_and_then_what_waits_for_them() -> None:
    follower = started()
    bills = TopicPartition("bills", 0)
    follower.replicas.unused = [ORDERS, bills]
    follower.replicas.failing = {ORDERS}

    follower.follower.follow_unused(lambda: follower.calls.append(("then", None)))

    assert follower.calls == [("follow", ORDERS), ("follow", bills), ("then", None)]


@pytest.mark.parametrize(
    ("name", "topic_id", "is_in_image"),
    [
        (ORDERS, UUID(int=1000), True),
        (ORDERS, None, True),
        (ORDERS, UUID(int=7), False),
        (TopicPartition("orders", 1), UUID(int=1000), False),
        (TopicPartition("orders", 1), None, False),
        (TopicPartition("bills", 0), None, False),
    ],
)
def test_a_log_belongs_to_a_partition_by_name_and_topic_id(
    name: TopicPartition, topic_id: UUID | None, is_in_image: bool
) -> None:
    follower = started()
    follower.create("orders")

    assert follower.follower.is_in_image(name, topic_id) is is_in_image


# -- changes ---------------------------------------------------------------------------------------


def test_a_deleted_topic_is_retired_at_once_and_its_logs_are_deleted() -> None:
    follower = started()
    topic_id = follower.create("orders", 2)
    follower.calls.clear()
    names = [ORDERS, TopicPartition("orders", 1)]

    follower.delete(topic_id)

    assert follower.calls == [
        *((call, name) for name in names for call in ("retire", "unload")),
        *(("delete", (name, topic_id)) for name in names),
        ("forget deleted topics", None),
    ]


def test_shards_look_once_for_what_belongs_to_topics_that_are_deleted_together() -> None:
    follower = started()
    topic_ids = [follower.create(name) for name in ("orders", "bills")]
    follower.calls.clear()

    follower.delete(*topic_ids)
    follower.create("others")

    assert follower.calls.count(("forget deleted topics", None)) == 1


@pytest.mark.parametrize(
    ("resource_type", "calls"),
    [
        (TOPIC_RESOURCE, [("configure", "orders")]),
        (BROKER_RESOURCE, [("configure", None)]),
        (GROUP_RESOURCE, []),
    ],
)
def test_a_configuration_reaches_what_it_configures(resource_type: int, calls: list[Any]) -> None:
    follower = started()

    follower.commit(
        ConfigRecord(
            resource_type=resource_type, resource_name="orders", name="retention.ms", value="1"
        )
    )

    assert follower.calls == calls


# -- partitions ------------------------------------------------------------------------------------


def test_a_marker_in_a_partition_of_a_shard_ends_the_transaction_there() -> None:
    follower = Follower()
    partition = HeldPartition(OFFSETS)
    follower.hold(partition)
    (listener,) = partition.marker_listeners
    follower.hold(partition)
    follower.hold(HeldPartition(ORDERS))
    assert partition.marker_listeners == [listener]

    listener(TransactionMarker(7, 0, 0, is_commit=True), 5)

    assert follower.calls[-1] == ("end transaction", (OFFSETS, 7, True))
    assert follower.replicas.held[ORDERS].marker_listeners == []


def test_a_partition_that_comes_to_be_led_gets_its_shard() -> None:
    follower = Follower()
    partition = HeldPartition(OFFSETS, is_leader=False)
    follower.hold(partition)
    follower.calls.clear()

    partition.is_leader = True
    follower.replicas.held[OFFSETS] = HeldPartition(OFFSETS, is_leader=False)
    follower.hold(partition)

    assert follower.shard_calls == [("unload", OFFSETS), ("load", OFFSETS)]


def test_the_shard_of_a_partition_that_is_lost_by_a_failure_is_unloaded() -> None:
    follower = Follower()
    follower.hold(HeldPartition(OFFSETS))
    follower.calls.clear()
    follower.replicas.failing = {OFFSETS}

    follower.follower.follow(OFFSETS)

    assert follower.shard_calls == [("unload", OFFSETS)]


def test_partitions_of_a_failed_directory_and_their_shards_are_not_served_any_more() -> None:
    follower = started()

    follower.follower.went_offline(iter([ORDERS, OFFSETS]))

    assert follower.calls == [
        ("go offline", (ORDERS, OFFSETS)),
        ("unload", ORDERS),
        ("unload", OFFSETS),
    ]


# -- turns -----------------------------------------------------------------------------------------


def test_changes_are_followed_turn_by_turn_in_their_order() -> None:
    follower = started()
    count = 2 * CHANGES_IN_A_TURN + 1
    follower.create("orders", count)
    caught_up = follower.follower.caught_up()
    assert len(follower.followed) == CHANGES_IN_A_TURN

    follower.advance(1)
    assert len(follower.followed) == 2 * CHANGES_IN_A_TURN
    assert not caught_up.is_done
    follower.advance(1)

    assert follower.followed == [TopicPartition("orders", number) for number in range(count)]
    assert caught_up.is_done


def test_a_follower_that_nothing_waits_for_has_caught_up() -> None:
    follower = started()
    follower.create("orders")

    assert follower.follower.caught_up().is_done


def test_a_turn_that_had_room_leaves_the_next_one_all_of_it() -> None:
    follower = started()
    follower.create("bills")
    follower.advance(1)
    follower.calls.clear()

    follower.create("orders", CHANGES_IN_A_TURN)

    assert len(follower.followed) == CHANGES_IN_A_TURN


def test_nothing_is_waited_for_once_the_broker_ends() -> None:
    follower = started()
    follower.replicas.occupied.add(ORDERS)
    follower.create("orders", CHANGES_IN_A_TURN + 1)
    caught_up = follower.follower.caught_up()
    assert not caught_up.is_done
    follower.calls.clear()

    follower.follower.stop()

    assert caught_up.is_done
    follower.advance(1)
    assert follower.calls == []
