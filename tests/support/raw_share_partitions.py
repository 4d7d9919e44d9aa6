"""Share partitions as their leader answers requests about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
)
from pyk.protocol.messages.initialize_share_group_state import PartitionData as NewState
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.share_acknowledge import (
    AcknowledgementBatch as SaidBatch,
)
from pyk.protocol.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pyk.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from pyk.protocol.records import read_batches
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from support.broker_requests import list_offset, produce, until_led
from support.brokers import Kafka, make_topic_of_node_0
from support.raw_client import RawClient, batch

E = ErrorCode
Acquired = list[tuple[int, int, int]]


class Partition:
    """Partition 0 of a topic, at its leader, with two share sessions on one connection."""

    def __init__(self, client: RawClient, group: str, topic: str, topic_id: UUID) -> None:
        self.client = client
        self.group = group
        self.topic = topic
        self.topic_id = topic_id

    async def append(self, *counts: int) -> None:
        for count in counts:
            await self.client.ask(produce(batch(*[b"x"] * count), topic=self.topic), 12)

    async def until_end(self, offset: int) -> None:
        """Wait until the log has records up to ``offset``: markers come late."""
        async with asyncio.timeout(20):
            while True:
                (topic,) = (await self.client.ask(list_offset(-1, topic=self.topic))).topics
                if topic.partitions[0].offset == offset:
                    return
                await asyncio.sleep(0.05)

    async def fetch(
        self,
        epoch: int,
        *said: tuple[int, int, list[int]],
        member: str | None = "a",
        topics: list[tuple[UUID, int]] | None = None,
        version: int = 2,
        forget: bool = False,
        **more: Any,
    ) -> Any:
        batches = [
            AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in said
        ]
        if topics is None:
            topics = [(self.topic_id, 0)] if epoch == 0 or said else []
        fields = {
            "group_id": self.group,
            "member_id": member,
            "share_session_epoch": epoch,
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            "topics": [
                FetchTopic(
                    topic_id=topic_id,
                    partitions=[
                        FetchPartition(partition_index=number, acknowledgement_batches=batches)
                    ],
                )
                for topic_id, number in topics
            ],
            **more,
        }
        if forget:
            fields["forgotten_topics_data"] = [
                ForgottenTopic(topic_id=self.topic_id, partitions=[0])
            ]
        return await self.client.ask(ShareFetchRequest(**fields), version)

    async def acquire(self, epoch: int, *said: Any, **more: Any) -> Acquired:
        """Fetch until something is acquired, or 500 ms are over; return it."""
        response = await self.fetch(epoch, *said, **more)
        assert not response.error_code, response
        return acquired(response)

    async def first(self, member: str = "a", **more: Any) -> Acquired:
        """Open a session; Kafka may say at first that it does not know the state."""
        async with asyncio.timeout(20):
            while True:
                response = await self.fetch(0, member=member, **more)
                if code(response) in (0, E.INVALID_REQUEST):
                    return acquired(response)
                await asyncio.sleep(0.1)

    async def acknowledge(
        self,
        epoch: int,
        *said: tuple[int, int, list[int]],
        member: str | None = "a",
        topic_id: UUID | None = None,
        number: int = 0,
        version: int = 2,
        **more: Any,
    ) -> Any:
        batches = [
            SaidBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in said
        ]
        partition = AcknowledgePartition(partition_index=number, acknowledgement_batches=batches)
        topic = AcknowledgeTopic(topic_id=topic_id or self.topic_id, partitions=[partition])
        fields = {
            "group_id": self.group,
            "member_id": member,
            "share_session_epoch": epoch,
            "topics": [topic],
            **more,
        }
        return await self.client.ask(ShareAcknowledgeRequest(**fields), version)


@asynccontextmanager
async def partition_at(kafka: Kafka, group: str) -> AsyncIterator[Partition]:
    """Connect to the leader of a new partition, whose state for a share group has begun."""
    topic = await asyncio.to_thread(make_topic_of_node_0, kafka, "shared")
    async with RawClient(kafka.bootstrap) as client:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        (metadata,) = (await client.ask(asked, 12)).topics
        await until_led(client, topic)
        await initialize(client, group, metadata.topic_id)
        yield Partition(client, group, topic, metadata.topic_id)


async def initialize(
    client: RawClient, group: str, topic_id: UUID, *, epoch: int = 1, start: int = 0
) -> None:
    """Begin the state of a share partition, as a group coordinator does."""
    key = str(SharePartitionKey(group, topic_id, 0))
    state = NewState(partition=0, state_epoch=epoch, start_offset=start)
    request = InitializeShareGroupStateRequest(
        group_id=group, topics=[InitializeStateData(topic_id=topic_id, partitions=[state])]
    )
    async with asyncio.timeout(30):
        while True:
            find = FindCoordinatorRequest(key_type=2, coordinator_keys=[key])
            (found,) = (await client.ask(find, 6)).coordinators
            if not found.error_code:
                async with RawClient(f"{found.host}:{found.port}") as coordinator:
                    (topic,) = (await coordinator.ask(request)).results
                if not topic.partitions[0].error_code:
                    return
            await asyncio.sleep(0.2)


def acquired(response: Any) -> Acquired:
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for topic in response.responses
        for partition in topic.partitions
        for each in partition.acquired_records
    ]


def offsets(response: Any) -> list[int]:
    (topic,) = response.responses
    data = topic.partitions[0].records
    return [record.offset for each in read_batches(data) for record in each]


def code(response: Any) -> int:
    if response.error_code or not response.responses:
        return int(response.error_code)
    return int(response.responses[0].partitions[0].error_code)


def told(response: Any) -> list[tuple[int, str | None, int, str | None]]:
    """Return the errors and messages of all partitions."""
    return [
        (
            partition.error_code,
            partition.error_message,
            getattr(partition, "acknowledge_error_code", 0),
            getattr(partition, "acknowledge_error_message", None),
        )
        for topic in response.responses
        for partition in topic.partitions
    ]
