"""Share groups as their coordinator answers requests about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from support.broker_requests import coordinator_of, produce
from support.brokers import Kafka, make_topic_of_node_0
from support.raw_client import RawClient, batch

E = ErrorCode
Partitions = list[int]


class Coordinator:
    """The coordinator of one group, asked about one topic of three partitions."""

    def __init__(self, client: RawClient, group: str, topic: str, topic_id: UUID) -> None:
        self.client = client
        self.group = group
        self.topic = topic
        self.topic_id = topic_id

    async def beat(self, member_id: str, epoch: int, **more: Any) -> Any:
        request = ShareGroupHeartbeatRequest(
            **{"group_id": self.group, "member_id": member_id, "member_epoch": epoch, **more}
        )
        return await self.client.ask(request, 1)

    async def join(self, member_id: str, **more: Any) -> Any:
        return await self.beat(member_id, 0, **{"subscribed_topic_names": [self.topic], **more})

    async def assigned(self, member_id: str, epoch: int, wanted: Partitions) -> int:
        """Send heartbeats until the member has these partitions; return its epoch."""
        held: Partitions = []
        async with asyncio.timeout(30):
            while held != wanted:
                answer = await self.beat(
                    member_id, epoch, subscribed_topic_names=[self.topic]
                )  # says everything, and so is told everything
                assert not answer.error_code, answer
                epoch, held = answer.member_epoch, told(answer)
                await asyncio.sleep(0.05)
        return epoch

    async def has_offsets(self) -> None:
        """Join until all partitions have an offset, and leave again."""
        epoch = (await self.join("first")).member_epoch
        await self.assigned("first", epoch, [0, 1, 2])
        await self.beat("first", -1)

    async def describe(self, group: str | None = None) -> DescribedGroup:
        request = ShareGroupDescribeRequest(group_ids=[self.group if group is None else group])
        (described,) = (await self.client.ask(request, 1)).groups
        found: DescribedGroup = described
        return found

    async def offsets(self, topic: str | None, *partitions: int, version: int = 1) -> Any:
        """Ask for offsets, of all topics without one; return the answer about the group."""
        topics = None
        if topic is not None:
            topics = [
                DescribeShareGroupOffsetsRequestTopic(topic_name=topic, partitions=list(partitions))
            ]
        group = DescribeShareGroupOffsetsRequestGroup(group_id=self.group, topics=topics)
        request = DescribeShareGroupOffsetsRequest(groups=[group])
        (found,) = (await self.client.ask(request, version)).groups
        return found

    async def starts(self) -> list[tuple[int, int, int]]:
        """Return number, start offset and lag of each partition with an offset."""
        found = await self.offsets(None)
        assert not found.error_code, found
        return sorted(
            (each.partition_index, each.start_offset, each.lag)
            for topic in found.topics
            for each in topic.partitions
        )

    async def alter(self, topic: str, **offsets: int) -> Any:
        partitions = [
            AlterShareGroupOffsetsRequestPartition(
                partition_index=int(number[1:]), start_offset=offset
            )
            for number, offset in offsets.items()
        ]
        topics = [AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=partitions)]
        request = AlterShareGroupOffsetsRequest(group_id=self.group, topics=topics)
        return await self.client.ask(request, 0)

    async def delete_offsets(self, *topics: str) -> Any:
        asked = [DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics]
        request = DeleteShareGroupOffsetsRequest(group_id=self.group, topics=asked)
        return await self.client.ask(request, 0)

    async def delete(self) -> E:
        response = await self.client.ask(DeleteGroupsRequest(groups_names=[self.group]), 2)
        return E(response.results[0].error_code)


@asynccontextmanager
async def coordinator_at(kafka: Kafka, group: str) -> AsyncIterator[Coordinator]:
    """Connect to the coordinator of a group, which may have a new topic of three partitions."""
    topic = await asyncio.to_thread(make_topic_of_node_0, kafka, "shared", partitions=3)
    async with RawClient(kafka.bootstrap) as node_0:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        (metadata,) = (await node_0.ask(asked, 12)).topics
        for partition in range(3):
            await produce_to(node_0, topic, partition, 5)
        address = await coordinator_of(node_0, group)
    async with RawClient(address) as client:
        found = Coordinator(client, group, topic, metadata.topic_id)
        async with asyncio.timeout(20):
            while (await found.beat("nobody", 1)).error_code != E.GROUP_ID_NOT_FOUND:
                await asyncio.sleep(0.05)  # until it is loaded
        yield found


async def produce_to(client: RawClient, topic: str, partition: int, count: int) -> None:
    async with asyncio.timeout(20):
        while True:
            request = produce(batch(*[b"x"] * count), topic=topic, partition=partition)
            (answer,) = (await client.ask(request, 12)).responses
            if not answer.partition_responses[0].error_code:
                return
            await asyncio.sleep(0.05)


def told(answer: Any) -> Partitions:
    """Return the partitions of the topic in an answer's assignment."""
    return [n for topic in answer.assignment.topic_partitions for n in sorted(topic.partitions)]


def error_of(answer: Any) -> tuple[E, str | None]:
    return E(answer.error_code), answer.error_message
