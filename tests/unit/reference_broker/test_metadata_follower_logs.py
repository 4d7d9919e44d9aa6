"""Partitions whose log cannot be opened at once, and shards that follow their partitions."""

from __future__ import annotations

from support.metadata_follower import OFFSETS, ORDERS, Follower, HeldPartition


def test_it_has_not_caught_up_while_an_old_log_has_the_name_of_a_new_one() -> None:
    follower = Follower()
    follower.replicas.occupied.add(ORDERS)

    follower.hold(HeldPartition(ORDERS))

    assert not follower.follower.caught_up().is_done
    assert ORDERS not in follower.replicas.held


def test_it_opens_the_new_log_and_has_caught_up_when_the_old_one_is_gone() -> None:
    follower = Follower()
    follower.replicas.occupied.add(ORDERS)
    follower.hold(HeldPartition(ORDERS))
    caught_up = follower.follower.caught_up()

    follower.replicas.occupied.clear()
    follower.replicas.when_free[ORDERS]()

    assert ORDERS in follower.replicas.held
    assert caught_up.is_done


def test_the_shard_of_a_partition_is_loaded_when_it_is_opened_and_not_again() -> None:
    follower = Follower()
    partition = HeldPartition(OFFSETS)

    follower.hold(partition)
    follower.hold(partition)

    assert follower.shard_calls == [("unload", OFFSETS), ("load", OFFSETS)]


def test_the_shard_of_a_recreated_partition_is_loaded_from_its_new_log() -> None:
    follower = Follower()
    follower.hold(HeldPartition(OFFSETS))
    follower.calls.clear()

    follower.hold(HeldPartition(OFFSETS))

    assert follower.shard_calls == [("unload", OFFSETS), ("load", OFFSETS)]


def test_the_shard_of_a_partition_that_is_gone_is_unloaded() -> None:
    follower = Follower()
    follower.hold(HeldPartition(OFFSETS))
    follower.calls.clear()

    follower.replicas.next[OFFSETS] = None
    follower.follower.follow(OFFSETS)

    assert follower.shard_calls == [("unload", OFFSETS)]


def test_no_shard_is_loaded_over_a_partition_that_another_broker_leads() -> None:
    follower = Follower()

    follower.hold(HeldPartition(OFFSETS, is_leader=False))

    assert follower.shard_calls == [("unload", OFFSETS)]


def test_other_partitions_have_no_shards() -> None:
    follower = Follower()

    follower.hold(HeldPartition(ORDERS))

    assert follower.shard_calls == []
