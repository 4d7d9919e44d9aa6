"""Topics that do not exist, are forbidden, are deleted, or are created again."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any

import pytest

from pyk.clients import AsyncAdmin, AsyncConsumer, SubscriptionPattern, TopicPartition
from pyk.clients.errors import (
    CommitFailedError,
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
    TopicRecreatedError,
    UnknownTopicOrPartitionError,
)
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker import AsyncCluster
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.consuming import (
    eventually_polled,
    fetching,
    make_consumer,
    network_of,
    produce,
    read,
    reference_cluster,
)
from support.environments import client_options

CONSUMER_LOG = "pyk.clients.consumer.faces.subscription_calls"
WITH_AND_WITHOUT_GROUP = pytest.mark.parametrize(
    "options", [{"group_id": "g"}, {}], ids=["group", "no group"]
)


def admin_of(cluster: AsyncCluster) -> AsyncAdmin:
    return AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster)))


async def delete(cluster: AsyncCluster, topic: str) -> None:
    async with admin_of(cluster) as admin:
        await admin.delete_topics([topic])


async def raised_within(consumer: AsyncConsumer[Any, Any], seconds: float) -> list[KafkaError]:
    """Poll for a time and return the errors."""
    errors: list[KafkaError] = []
    until = current_clock().now() + seconds
    while current_clock().now() < until:
        try:
            await consumer.poll(0.1)
        except KafkaError as error:
            errors.append(error)
    return errors


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == CONSUMER_LOG and record.levelno == logging.WARNING
    ]


# -- forbidden -------------------------------------------------------------------------------------


@virtual_time
async def test_a_forbidden_topic_is_raised_again_and_again_and_read_once_it_is_granted():
    async with fetching() as (cluster, _):
        topic = cluster.add_topic("secret", [1])
        topic.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        cluster.append([b"a"], topic="secret")
        async with make_consumer(cluster, topics=["secret"]) as reader:
            errors = await raised_within(reader, 10)

            assert len(errors) >= 5
            assert {type(error) for error in errors} == {TopicAuthorizationFailedError}
            assert errors[0].topic == "secret"
            assert any("secret" in problem for problem in reader.health().problems)
            topic.error_code = ErrorCode.NONE
            assert await read_in_spite_of_errors(reader, 1, timeout=2) == [b"a"]
            assert reader.health().is_healthy


async def unsubscribe_and_assign(reader: AsyncConsumer[Any, Any]) -> None:
    await reader.unsubscribe()
    assert reader.health().topics == {}
    reader.assign([("orders", 0)])


async def unsubscribe_and_subscribe(reader: AsyncConsumer[Any, Any]) -> None:
    await reader.unsubscribe()
    reader.subscribe(["orders"])


async def subscribe_to_another(reader: AsyncConsumer[Any, Any]) -> None:
    reader.subscribe(["orders"])


async def assign_another(reader: AsyncConsumer[Any, Any]) -> None:
    reader.assign([("orders", 0)])


@pytest.mark.parametrize(
    ("options", "read_another"),
    [
        ({"topics": ["secret"]}, subscribe_to_another),
        ({"topics": ["secret"]}, unsubscribe_and_subscribe),
        ({"topics": ["secret"]}, unsubscribe_and_assign),
        ({}, assign_another),
    ],
)
@virtual_time
async def test_a_forbidden_topic_is_forgotten_with_its_positions(options, read_another):
    async with fetching(leaders=(1,)) as (cluster, _):
        cluster.add_topic("secret", [1]).error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        cluster.append([b"a"])
        async with make_consumer(cluster, **options) as reader:
            if not options:
                reader.assign([("secret", 0)])
            await asyncio.sleep(5)
            assert list(reader.health().topics) == ["secret"]

            await read_another(reader)

            assert reader.health().topics == {}
            assert [record.value for record in await reader.poll(5)] == [b"a"]


@virtual_time
async def test_a_forbidden_topic_does_not_keep_others_from_being_read():
    async with fetching() as (cluster, _):
        cluster.add_topic("secret", [1]).error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        cluster.append([b"a"])
        async with make_consumer(cluster, topics=["secret", "orders"]) as reader:
            assert await read_in_spite_of_errors(reader, 1, timeout=2) == [b"a"]


@virtual_time
async def test_a_forbidden_group_is_raised_and_joined_once_it_is_granted():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 1)
        async with make_consumer(cluster, topics=["orders"], group_id="g") as consumer:
            with cluster.faults.on("FindCoordinator").error("GROUP_AUTHORIZATION_FAILED"):
                errors = await raised_within(consumer, 10)
                assert len(errors) >= 3
                assert {type(error) for error in errors} == {GroupAuthorizationFailedError}

            assert await read_in_spite_of_errors(consumer, 1, timeout=4) == [b"0"]


async def read_in_spite_of_errors(
    consumer: AsyncConsumer[Any, Any], count: int, *, timeout: float
) -> list[Any]:
    values: list[Any] = []
    until = current_clock().now() + timeout
    while len(values) < count:
        assert current_clock().now() < until
        try:
            values += [record.value for record in await consumer.poll(0.1)]
        except KafkaError:
            continue
    return values


# -- missing ---------------------------------------------------------------------------------------


@WITH_AND_WITHOUT_GROUP
@virtual_time
async def test_a_mistyped_topic_is_a_warning_once_a_minute_and_shows_in_health(options, caplog):
    async with reference_cluster(auto_create_topics_enable="false") as cluster:
        await cluster.create_topic("orders")
        async with make_consumer(cluster, topics=["ordres"], **options) as consumer:
            assert await raised_within(consumer, 130) == []

            assert warnings(caplog) == ["topic 'ordres' does not exist: is its name right?"] * 3
            assert any("'ordres'" in problem for problem in consumer.health().problems)
            await cluster.create_topic("ordres")
            await produce(cluster, "ordres", 1)
            assert await read(consumer, 1) == [b"0"]
            assert consumer.health().is_healthy


@virtual_time
async def test_a_pattern_that_matches_nothing_is_a_warning_and_shows_in_health(caplog):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        async with make_consumer(cluster, group_id="g") as consumer:
            consumer.subscribe(pattern="order-.*")
            await consumer.poll(10)

            assert len(warnings(caplog)) == 1
            assert "no topic matches the pattern 'order-.*'" in warnings(caplog)[0]
            assert any("'order-.*'" in problem for problem in consumer.health().problems)


@pytest.mark.parametrize(
    "options", [{}, {"group_id": "g"}, {"group_id": "g", "group_protocol": "consumer"}]
)
@virtual_time
async def test_a_subscription_pattern_finds_topics_that_are_created_later(options):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders1")
        await cluster.create_topic("others")
        async with make_consumer(cluster, metadata_max_age_ms=1000, **options) as consumer:
            consumer.subscribe(pattern=SubscriptionPattern("orders[[:digit:]]"))
            await eventually_polled(consumer, lambda: consumer.assignment() == {("orders1", 0)})

            await cluster.create_topic("orders2")

            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 2)
            assert consumer.subscription() == {"orders1", "orders2"}


# -- deleted ---------------------------------------------------------------------------------------


@WITH_AND_WITHOUT_GROUP
@virtual_time
async def test_a_deleted_topic_is_given_up_and_does_not_disturb_the_others(options, caplog):
    async with reference_cluster(auto_create_topics_enable="false") as cluster:
        await cluster.create_topic("orders")
        await cluster.create_topic("doomed", partitions=2)
        async with make_consumer(cluster, topics=["orders", "doomed"], **options) as consumer:
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 3)
            await produce(cluster, "doomed", 4, partitions=2)
            await read(consumer, 4)
            await delete(cluster, "doomed")

            assert await raised_within(consumer, 100) == []

            assert consumer.assignment() == {TopicPartition("orders", 0)}
            assert "topic 'doomed' does not exist any more" in warnings(caplog)[0]
            assert len(warnings(caplog)) == 2
            await produce(cluster, "orders", 1)
            assert await read(consumer, 1, timeout=2) == [b"0"]


@virtual_time
async def test_a_deleted_topic_that_was_assigned_by_hand_is_raised_now_and_then():
    async with reference_cluster(auto_create_topics_enable="false") as cluster:
        await cluster.create_topic("orders")
        await cluster.create_topic("doomed")
        async with make_consumer(cluster, request_timeout_ms=10_000) as consumer:
            consumer.assign([("orders", 0), ("doomed", 0)])
            await consumer.poll(1)
            await delete(cluster, "doomed")

            errors = await raised_within(consumer, 60)

            assert 3 <= len(errors) <= 6
            assert {type(error) for error in errors} == {UnknownTopicOrPartitionError}
            problems = consumer.health().problems
            assert any("doomed-0" in one and "does not exist" in one for one in problems)


@virtual_time
async def test_a_partition_that_the_topic_does_not_have_is_named():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=3)
        async with make_consumer(cluster) as consumer:
            consumer.assign([("orders", 7)])
            await consumer.poll(3)

            (problem,) = consumer.health().problems
            assert "topic 'orders' has no partition 7: it has 3 partitions" in problem


# -- created again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["earliest", "latest"])
@WITH_AND_WITHOUT_GROUP
@virtual_time
async def test_a_topic_that_was_created_again_is_read_from_its_beginning(options, policy):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        async with make_consumer(
            cluster, topics=["orders"], auto_offset_reset=policy, **options
        ) as consumer:
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 1)
            await consumer.poll(1)
            await produce(cluster, "orders", 5)
            assert len(await read(consumer, 5)) == 5
            await delete(cluster, "orders")
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 9)

            values = await read(consumer, 9, timeout=5)

            assert values == [b"%d" % number for number in range(9)]
            if options:
                await consumer.poll(1)
                await asyncio.sleep(6)
                committed = await consumer.committed([("orders", 0)])
                assert [offset.offset for offset in committed.values() if offset] == [9]


@pytest.mark.parametrize("policy", ["earliest", "latest"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_each_record_of_a_topic_that_was_created_again_is_read_by_one_member(
    protocol, policy
):
    async with reference_cluster(group_consumer_heartbeat_interval_ms="5000") as cluster:
        await cluster.create_topic("orders", partitions=4)
        times_read = Counter[tuple[int, int]]()

        async def be_member() -> None:
            async with make_consumer(
                cluster,
                topics=["orders"],
                group_id="g",
                group_protocol=protocol,
                auto_offset_reset=policy,
                metadata_max_age_ms=1000,
            ) as consumer:
                async for record in consumer:
                    times_read[record.partition, record.offset] += 1

        members = []
        for _ in range(2):  # so that each gets other partitions of the new topic
            members.append(asyncio.create_task(be_member()))
            await asyncio.sleep(11)
        await asyncio.sleep(12)
        await delete(cluster, "orders")
        await cluster.create_topic("orders", partitions=4)
        for _ in range(100):
            await produce(cluster, "orders", 4, partitions=4)
            await asyncio.sleep(0.1)
        await asyncio.sleep(20)
        for member in members:
            member.cancel()
        await asyncio.wait(members)

    assert times_read == {(number, at): 1 for number in range(4) for at in range(100)}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_a_topic_that_was_created_again_with_as_many_records_is_committed(protocol):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 5)
        async with make_consumer(
            cluster, topics=["orders"], group_id="g", group_protocol=protocol
        ) as consumer:
            assert len(await read(consumer, 5)) == 5
            await consumer.commit()
            await delete(cluster, "orders")
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 5)
            assert len(await read(consumer, 5, timeout=60)) == 5
            await consumer.poll(10)

            committed = await consumer.committed([("orders", 0)])

            assert [offset.offset for offset in committed.values() if offset] == [5]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_records_from_before_a_topic_was_created_again_are_not_committed(protocol):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 5)
        async with make_consumer(
            cluster,
            topics=["orders"],
            group_id="g",
            group_protocol=protocol,
            enable_auto_commit=False,
        ) as consumer:
            before = await polled(consumer)
            await consumer.commit(before[3])
            await delete(cluster, "orders")
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 9)
            after = await polled(consumer)

            for argument in (before[4], before):
                with pytest.raises(CommitFailedError, match="created again") as refused:
                    await consumer.commit(argument)
                assert refused.value.definite
            await consumer.commit(after[0])
            committed = await consumer.committed([("orders", 0)])

    assert [offset.offset for offset in committed.values() if offset] == [1]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_a_topic_that_was_created_again_keeps_no_other_of_a_commit_from_being_stored(
    protocol,
):
    async with reference_cluster() as cluster:
        for topic in ("orders", "bills"):
            await cluster.create_topic(topic)
            await produce(cluster, topic, 5)
        async with make_consumer(
            cluster,
            topics=["orders", "bills"],
            group_id="g",
            group_protocol=protocol,
            enable_auto_commit=False,
            metadata_max_age_ms=500,
        ) as consumer:
            assert len(await read(consumer, 10)) == 10
            loading = cluster.faults.on("OffsetCommit").error("COORDINATOR_LOAD_IN_PROGRESS")

            async def recreate() -> None:
                await delete(cluster, "bills")
                await cluster.create_topic("bills")
                await asyncio.sleep(5)
                loading.remove()

            recreating = asyncio.create_task(recreate())
            with pytest.raises(CommitFailedError, match="bills-0 was not committed") as some:
                await consumer.commit()
            await recreating
            committed = await consumer.committed([("orders", 0), ("bills", 0)])

    assert not some.value.definite
    assert {p: one.offset for p, one in committed.items() if one} == {("orders", 0): 5}


@virtual_time
async def test_records_of_a_topic_that_was_created_again_keep_no_others_from_being_committed():
    async with reference_cluster() as cluster:
        for topic in ("orders", "bills"):
            await cluster.create_topic(topic)
            await produce(cluster, topic, 5)
        async with make_consumer(
            cluster, topics=["orders", "bills"], group_id="g", enable_auto_commit=False
        ) as consumer:
            records: list[Any] = []
            while len(records) < 10:
                records += await consumer.poll(5)
            await delete(cluster, "bills")
            await cluster.create_topic("bills")
            await produce(cluster, "bills", 1)
            await polled(consumer)

            with pytest.raises(CommitFailedError, match="bills-0 was not committed") as some:
                await consumer.commit(records)
            committed = await consumer.committed([("orders", 0), ("bills", 0)])

    assert not some.value.definite
    assert {p: one.offset for p, one in committed.items() if one} == {("orders", 0): 5}


async def polled(consumer: AsyncConsumer[Any, Any]) -> Any:
    """Return the records of the first poll that brings some."""
    while not (records := await consumer.poll(5)):
        pass
    return records


@virtual_time
async def test_without_a_policy_a_topic_that_was_created_again_is_raised_until_a_seek():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        async with make_consumer(cluster, auto_offset_reset="none") as consumer:
            consumer.assign([("orders", 0)])
            consumer.seek(("orders", 0), 0)
            await produce(cluster, "orders", 5)
            await read(consumer, 5)
            await delete(cluster, "orders")
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 9)

            for _ in range(2):
                with pytest.raises(TopicRecreatedError, match="created again"):
                    await consumer.poll(5)
            consumer.seek(("orders", 0), 0)
            assert len(await read(consumer, 9)) == 9


@virtual_time
async def test_a_commit_for_a_partition_that_does_not_exist_says_so_soon():
    async with (
        reference_cluster(auto_create_topics_enable="false") as cluster,
        make_consumer(cluster, group_id="g") as consumer,
    ):
        began = current_clock().now()

        with pytest.raises(UnknownTopicOrPartitionError) as caught:
            await consumer.commit({TopicPartition("ordres", 3): 5})

        assert caught.value.topic_partition == TopicPartition("ordres", 3)
        assert current_clock().now() - began < 5


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({"group_protocol": "consumer"}, 0.5),
        ({"group_protocol": "consumer"}, 1.5),
        ({"group_protocol": "classic"}, 5.2),
        ({"group_protocol": "classic"}, 6.0),
    ],
    ids=str,
)
@virtual_time
async def test_a_topic_that_is_created_again_does_not_get_the_offsets_of_the_one_before(
    options, seconds
):
    async with reference_cluster(auto_create_topics_enable="false") as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 5)
        consumer = make_consumer(
            cluster, topics=["orders"], group_id="g", auto_offset_reset="earliest", **options
        )
        async with consumer:
            assert len(await read(consumer, 5)) == 5
            values = asyncio.create_task(read(consumer, 9, timeout=60))
            await delete(cluster, "orders")
            await asyncio.sleep(seconds)
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 9)

            assert await values == [b"%d" % number for number in range(9)]
