"""Topics that come, and that are created again, while a consumer group has members."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from uuid import UUID

import pytest_asyncio

from pyk.clients import Admin, NewTopic
from pyk.protocol.messages.consumer_group_describe import Member
from support.brokers import Kafka, every_node_knows, make_topic
from support.raw_groups import Coordinator, coordinator_of_group, told, topic_id_of
from support.real_time import eventually


@pytest_asyncio.fixture
async def coordinator(kafka: Kafka, group: str) -> AsyncIterator[Coordinator]:
    async with coordinator_of_group(kafka, group) as found:
        yield found


async def member(coordinator: Coordinator, member_id: str) -> Member:
    (found,) = [
        each for each in (await coordinator.describe()).members if each.member_id == member_id
    ]
    return found


async def until_told(
    coordinator: Coordinator, member_id: str, epoch: int, wanted: list[int]
) -> list[UUID]:
    """Let a member follow the answers to its heartbeats until it is to have these partitions;
    return the ids of their topics."""
    owned: list[int] | None = None
    async with asyncio.timeout(20):
        while True:
            answer = await coordinator.beat(member_id, epoch, owned)
            assert not answer.error_code, answer
            epoch = answer.member_epoch
            if answer.assignment is not None:
                owned = told(answer)
                if owned == wanted:
                    return [each.topic_id for each in answer.assignment.topic_partitions]
            await asyncio.sleep(0.05)


async def test_a_classic_member_that_joins_again_leaves_the_patterns_of_others_alone(
    kafka: Kafka, coordinator: Coordinator
) -> None:
    joined = await coordinator.join(
        "x", subscribed_topic_names=None, subscribed_topic_regex=re.escape(coordinator.topic)
    )
    if told(joined) != [0, 1, 2, 3]:  # Kafka resolves patterns in the background
        await until_told(coordinator, "x", joined.member_epoch, [0, 1, 2, 3])
    classic = await coordinator.classic_member()
    before = await coordinator.describe()

    await asyncio.to_thread(make_topic, kafka, "another")
    await coordinator.classic_join(classic.member_id)

    assert (await coordinator.describe()).group_epoch == before.group_epoch
    (target,) = (await member(coordinator, "x")).target_assignment.topic_partitions
    assert target.topic_name == coordinator.topic


async def test_partitions_of_a_topic_that_was_created_again_are_free_at_once(
    kafka: Kafka, coordinator: Coordinator
) -> None:
    await coordinator.join("a", server_assignor="range")
    await coordinator.join("b", server_assignor="range")
    await coordinator.beat("a", 2, [0, 1, 2, 3])
    epoch = (await coordinator.beat("a", 2, [0, 1])).member_epoch
    await until_told(coordinator, "b", 3, [2, 3])
    former_id = coordinator.topic_id
    coordinator.topic_id = await recreated(kafka, coordinator)

    topic_ids = await until_told(coordinator, "b", epoch, [2, 3])

    assert topic_ids == [coordinator.topic_id] != [former_id]
    a = await member(coordinator, "a")
    assert a.member_epoch == epoch, "it does not know yet"
    assert [each.partitions for each in a.target_assignment.topic_partitions] == [[0, 1]]


async def recreated(kafka: Kafka, coordinator: Coordinator) -> UUID:
    """Delete the topic of a coordinator, create it again, and return its new id."""

    def recreate() -> None:
        with Admin(kafka.bootstrap) as admin:
            admin.delete_topics([coordinator.topic])
            eventually(lambda: coordinator.topic not in admin.list_topics())
            admin.create_topics([NewTopic(coordinator.topic, 4)])
        eventually(lambda: every_node_knows(kafka, coordinator.topic))

    await asyncio.to_thread(recreate)
    return await topic_id_of(coordinator.client, coordinator.topic)
