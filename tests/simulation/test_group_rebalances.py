"""Members of a group share all partitions, as members and partitions come and go."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from pyk.clients import AsyncAdmin, RebalanceListener
from pyk.clients.errors import (
    FencedInstanceIdError,
    InconsistentGroupProtocolError,
    UnreleasedInstanceIdError,
)
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consumer_groups import PARTITIONS, Group, Recorder, of_both_protocols
from support.consuming import (
    eventually_polled,
    make_consumer,
    network_of,
    produce,
    read,
    reference_cluster,
)
from support.environments import client_options

KINDS: dict[str, dict[str, Any]] = {
    "range": {"partition_assignment_strategy": "range"},
    "roundrobin": {"partition_assignment_strategy": "roundrobin"},
    "sticky": {"partition_assignment_strategy": "sticky"},
    "cooperative-sticky": {"partition_assignment_strategy": "cooperative-sticky"},
    "consumer": {"group_protocol": "consumer"},
}


@pytest.mark.parametrize("kind", KINDS)
@virtual_time
async def test_members_share_the_partitions_and_each_record_is_read_once(kind):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        group = Group(cluster, **KINDS[kind])
        members = [group.member() for _ in range(3)]
        await eventually(lambda: sorted(len(m.consumer.assignment()) for m in members) == [1, 1, 2])

        await produce(cluster, "orders", 200, partitions=4)
        await eventually(lambda: sum(len(m.processed) for m in members) == 200)

        assert max(Counter(one for m in members for one in m.processed).values()) == 1
        for member in members:
            await member.leave()


@pytest.mark.parametrize("kind", KINDS)
@virtual_time
async def test_members_that_come_and_go_lose_and_repeat_nothing(kind):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 2000, partitions=4)
        group = Group(cluster, **KINDS[kind])

        first = group.member(seconds_per_record=0.01)
        await eventually(lambda: len(first.processed) > 100)
        second = group.member(seconds_per_record=0.01)
        await eventually(lambda: len(second.processed) > 100)
        await first.leave()
        third = group.member(seconds_per_record=0.01)
        members = [first, second, third]
        await eventually(lambda: len({one for m in members for one in m.processed}) == 2000)

        # A member that is cancelled has not finished the record in its hands; no other repeats.
        repeated = Counter(one for m in members for one in m.processed)
        assert sum(repeated.values()) == 2000
        await second.leave()
        await third.leave()
        assert await group.committed() == dict.fromkeys(PARTITIONS, 500)


@pytest.mark.parametrize("kind", ["range", "cooperative-sticky", "consumer"])
@virtual_time
async def test_a_partition_is_never_in_two_hands(kind):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 4000, partitions=4)
        group = Group(cluster, **KINDS[kind])
        members = [group.member(seconds_per_record=0.05) for _ in range(3)]
        chance = random.Random(7)

        for _ in range(400):
            await asyncio.sleep(0.1)
            hands = Counter(m.in_hand[0] for m in members if m.in_hand is not None)
            assert all(count == 1 for count in hands.values()), hands
            if chance.random() < 0.05:
                await members.pop(chance.randrange(len(members))).leave()
                members.append(group.member(seconds_per_record=0.05))

        for member in members:
            await member.leave()


@virtual_time
async def test_a_cooperative_member_keeps_reading_while_another_joins():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        listener = Recorder()
        consumer = make_consumer(
            cluster, group_id="g", partition_assignment_strategy="cooperative-sticky"
        )
        async with consumer:
            consumer.subscribe(["orders"], listener=listener)
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 4)
            other = Group(cluster, partition_assignment_strategy="cooperative-sticky").member()
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 2)

            assert listener.events[:2] == [("assigned", 4), ("revoked", 2)]
            await other.leave()
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 4)
            assert listener.events[-1] == ("assigned", 2)


@of_both_protocols
@virtual_time
async def test_a_static_member_may_restart_without_a_rebalance(protocol):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        listener = Recorder()
        options = {"group_id": "g", "group_protocol": protocol}
        stays = make_consumer(cluster, group_instance_id="stays", **options)
        async with stays:
            stays.subscribe(["orders"], listener=listener)
            group = Group(cluster, group_instance_id="restarts", **options)
            restarts = group.member()
            await eventually_polled(stays, lambda: len(stays.assignment()) == 2)
            await eventually_polled(stays, lambda: len(restarts.consumer.assignment()) == 2)
            before = list(listener.events)
            owned = restarts.consumer.assignment()
            await restarts.leave()
            restarts = group.member()
            await eventually_polled(stays, lambda: len(restarts.consumer.assignment()) == 2)
            await stays.poll(20)

            assert restarts.consumer.assignment() == owned
            assert listener.events == before
            await restarts.leave()


@of_both_protocols
@pytest.mark.parametrize(
    ("instance", "leave_group", "is_gone"),
    [(None, None, True), (None, False, False), ("i", None, False), ("i", True, True)],
)
@virtual_time
async def test_a_consumer_that_closes_leaves_its_partitions_or_keeps_them_for_a_while(
    instance, leave_group, is_gone, protocol
):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        options = {"group_id": "g", "topics": ["orders"], "group_protocol": protocol}
        stays = make_consumer(cluster, **options)
        closes = make_consumer(cluster, group_instance_id=instance, **options)
        async with stays, closes:
            await asyncio.gather(*(eventually_shared(each) for each in (stays, closes)))

            await closes.close(leave_group=leave_group)

            began = current_clock().now()
            await eventually_polled(stays, lambda: len(stays.assignment()) == 4)
            assert (current_clock().now() - began < 10) == is_gone


@of_both_protocols
@pytest.mark.parametrize("way", ["busy", "unsubscribed"])
@virtual_time
async def test_a_static_member_that_is_away_gives_its_partitions_to_others_when_it_closes(
    way, protocol
):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        options = {"group_id": "g", "topics": ["orders"], "group_protocol": protocol}
        stays = make_consumer(cluster, **options)
        closes = make_consumer(
            cluster, group_instance_id="i", max_poll_interval_ms=10_000, **options
        )
        async with stays, closes:
            await asyncio.gather(*(eventually_shared(each) for each in (stays, closes)))
            if way == "busy":
                await eventually_polled(stays, lambda: closes.health().group_state == "away")
            else:
                await closes.unsubscribe()
            assert len(stays.assignment()) == 2

            await closes.close(leave_group=True)

            began = current_clock().now()
            await eventually_polled(stays, lambda: len(stays.assignment()) == 4)
            assert current_clock().now() - began < 10


async def eventually_shared(consumer):
    await eventually_polled(consumer, lambda: len(consumer.assignment()) == 2)


@virtual_time
async def test_a_newer_member_of_the_same_name_fences_the_older():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        older = make_consumer(cluster, group_id="g", topics=["orders"], group_instance_id="i")
        async with older:
            await eventually_polled(older, lambda: len(older.assignment()) == 4)
            newer = Group(cluster, group_instance_id="i").member()
            await eventually(lambda: len(newer.consumer.assignment()) == 4)

            for _ in range(3):
                with pytest.raises(FencedInstanceIdError):
                    await read(older, 1)
            assert older.assignment() == set()
            await newer.leave()


@virtual_time
async def test_a_coordinator_gives_a_name_to_a_newer_member_once_the_older_has_gone():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        options = {"group_id": "g", "topics": ["orders"], "group_protocol": "consumer"}
        older = make_consumer(cluster, group_instance_id="i", **options)
        newer = make_consumer(cluster, group_instance_id="i", **options)
        async with older, newer:
            await eventually_polled(older, lambda: len(older.assignment()) == 4)
            with pytest.raises(UnreleasedInstanceIdError):
                await newer.poll(10)
            assert len(older.assignment()) == 4

            await older.close()

            await eventually_polled(newer, lambda: len(newer.assignment()) == 4)


@virtual_time
async def test_members_without_a_common_strategy_get_an_error():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        other = Group(cluster, partition_assignment_strategy="range").member()
        await eventually(lambda: len(other.consumer.assignment()) == 4)

        consumer = make_consumer(
            cluster, group_id="g", topics=["orders"], partition_assignment_strategy="roundrobin"
        )
        async with consumer:
            with pytest.raises(InconsistentGroupProtocolError):
                await read(consumer, 1)
        await other.leave()


@virtual_time
async def test_many_members_settle_in_few_generations():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        group = Group(cluster, partition_assignment_strategy="cooperative-sticky")
        members = []
        for _ in range(30):
            members.append(group.member())
            await asyncio.sleep(0.5)
        await eventually(lambda: sum(len(m.consumer.assignment()) for m in members) == 4)
        generation = members[0].consumer._core.group.membership.standing.identity.generation_id  # type: ignore[union-attr]
        for member in members[:29]:
            await member.leave()
        await eventually(lambda: len(members[29].consumer.assignment()) == 4)

        assert generation < 100
        await members[29].leave()


@virtual_time
async def test_topics_that_match_a_pattern_are_read_as_they_appear():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders-eu", partitions=2)
        await cluster.create_topic("other")
        consumer = make_consumer(cluster, group_id="g", metadata_max_age_ms=2_000)
        async with consumer:
            consumer.subscribe(pattern="orders-.*")
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 2)
            assert consumer.subscription() == {"orders-eu"}

            await cluster.create_topic("orders-us", partitions=3)
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 5)
            await produce(cluster, "orders-us", 3, partitions=3)
            assert sorted(await read(consumer, 3)) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("options", [{"group_id": "g"}, {}], ids=["group", "no group"])
@virtual_time
async def test_partitions_that_are_added_to_a_topic_are_read_from_their_beginning(options):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        consumer = make_consumer(
            cluster,
            topics=["orders"],
            metadata_max_age_ms=2_000,
            auto_offset_reset="earliest" if options else "latest",
            **options,
        )
        async with consumer:
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 2)
            async with AsyncAdmin(
                cluster.bootstrap, **client_options(network_of(cluster))
            ) as admin:
                await admin.create_partitions({"orders": 4})
            await produce(cluster, "orders", 4, partitions=4)

            assert sorted(await read(consumer, 4)) == [b"0", b"1", b"2", b"3"]


@virtual_time
async def test_an_error_of_the_listener_passes_out_of_poll_and_the_rebalance_goes_on():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 4, partitions=4)
        consumer = make_consumer(cluster, group_id="g")

        class Breaks(RebalanceListener):
            def on_partitions_assigned(self, partitions: Any) -> None:
                raise RuntimeError("broken listener")

        async with consumer:
            consumer.subscribe(["orders"], listener=Breaks())
            with pytest.raises(RuntimeError, match="broken listener"):
                await read(consumer, 1)
            assert len(await read(consumer, 4)) == 4
