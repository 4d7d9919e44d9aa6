"""Members of a consumer group get the answers that Apache Kafka 4.3.1 once gave.

``consumer_group_traces.json`` has requests that were drawn at random, and the answers: members
join, leave and come back, change what they subscribe to, give up in several heartbeats what they
are to give up, and say epochs that are out of date.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import pytest
import pytest_asyncio

from pyk.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from support.brokers import Kafka, make_topic
from support.raw_groups import Coordinator, coordinator_of_group, topic_id_of

TRACES: list[list[Any]] = json.loads(
    Path(__file__).with_name("consumer_group_traces.json").read_text()
)
STATIC = {"s": "one", "t": "one"}
EVERYTHING = {"rebalance_timeout_ms": 60_000, "server_assignor": "range"}


@attrs.frozen
class Topics:
    """The two topics of the traces, "a" with four partitions and "b" with three."""

    names: dict[str, str]
    ids: dict[str, UUID]

    def names_of(self, letters: list[str] | None) -> list[str] | None:
        return None if letters is None else [self.names[each] for each in letters]

    def partitions_of(self, named: dict[str, list[int]] | None) -> list[TopicPartitions] | None:
        if named is None:
            return None
        return [
            TopicPartitions(topic_id=self.ids[topic], partitions=numbers)
            for topic, numbers in named.items()
        ]

    def named(self, assigned: list[TopicPartitions]) -> dict[str, list[int]]:
        letters = {topic_id: letter for letter, topic_id in self.ids.items()}
        return {
            letters[each.topic_id]: sorted(each.partitions)
            for each in sorted(assigned, key=lambda each: letters[each.topic_id])
            if each.partitions
        }


@attrs.frozen
class Group:
    """A group whose targets are made at once, by the range assignor."""

    coordinator: Coordinator
    topics: Topics

    async def take(self, step: list[Any]) -> list[Any]:
        """Send the heartbeat of a step; return its error, its epoch, and the assignment."""
        answer = await self.coordinator.client.ask(self._heartbeat(*step), 1)
        assigned = answer.assignment and self.topics.named(answer.assignment.topic_partitions)
        return [answer.error_code, answer.member_epoch, assigned]

    def _heartbeat(
        self,
        member_id: str,
        epoch: int,
        owned: dict[str, list[int]] | None = None,
        subscription: list[str] | None = None,
        is_full: bool = False,
    ) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.coordinator.group,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=STATIC.get(member_id),
            topic_partitions=self.topics.partitions_of(owned),
            subscribed_topic_names=self.topics.names_of(subscription),
            **(EVERYTHING if is_full else {}),
        )


@pytest_asyncio.fixture
async def traced(kafka: Kafka, group: str) -> AsyncIterator[Group]:
    async with coordinator_of_group(kafka, group) as coordinator:
        other = await asyncio.to_thread(make_topic, kafka, "assigned-too", partitions=3)
        other_id = await topic_id_of(coordinator.client, other)
        await coordinator.see_topic(other)
        yield Group(
            coordinator,
            Topics(
                {"a": coordinator.topic, "b": other}, {"a": coordinator.topic_id, "b": other_id}
            ),
        )


@pytest.mark.parametrize("number", range(len(TRACES)))
async def test_answers_are_those_of_kafka(traced: Group, number: int) -> None:
    answers = [await traced.take(step) for step, _ in TRACES[number]]

    assert answers == [expected for _, expected in TRACES[number]]
