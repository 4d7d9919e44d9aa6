"""Topics that do not exist, are forbidden, or are deleted."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, SubscriptionPattern, TopicPartition
from pyk.clients.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from pyk.protocol.errors import ErrorCode
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.consuming import (
    delete_topic,
    eventually_polled,
    fetching,
    make_consumer,
    produce,
    read,
    reference_cluster,
)

CONSUMER_LOG = "pyk.clients.consumer.faces.subscription_calls"
WITH_AND_WITHOUT_GROUP = pytest.mark.parametrize(
    "options", [{"group_id": "g"}, {}], ids=["group", "no group"]
)


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
            await delete_topic(cluster, "doomed")

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
            await delete_topic(cluster, "doomed")

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
