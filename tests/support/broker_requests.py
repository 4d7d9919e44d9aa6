"""Requests that tests of a broker send, with the fields that matter as arguments."""

from __future__ import annotations

import asyncio
from typing import Any

from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from pyk.protocol.records import read_batches
from support.raw_client import RawClient, batch

TOPIC = "orders"
GROUP = "readers"


def create_topic(name: str = TOPIC, partitions: int = 1) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[topic])


def produce(
    records: bytes | None, *, acks: int = -1, topic: str = TOPIC, partition: int = 0
) -> ProduceRequest:
    """Send it with version 12: from 13 on topics go by their ids."""
    data = PartitionProduceData(index=partition, records=records)
    return ProduceRequest(
        acks=acks,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )


def fetch(offset: int, *, topic: str = TOPIC, partition: int = 0, **more: Any) -> FetchRequest:
    """Send it with version 12: from 13 on topics go by their ids."""
    asked = FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=more.pop("max", 1 << 20)
    )
    topics = [FetchTopic(topic=topic, partitions=[asked])]
    return FetchRequest(**{"max_wait_ms": 0, "min_bytes": 1, "topics": topics, **more})


def list_offset(timestamp: int, *, topic: str = TOPIC) -> ListOffsetsRequest:
    partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])]
    )


def find_coordinator(group: str = GROUP) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(coordinator_keys=[group])


def commit(offset: int, *, group: str = GROUP, topic: str = TOPIC) -> OffsetCommitRequest:
    """Send it with version 9: from 10 on topics go by their ids."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    return OffsetCommitRequest(
        group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    )


def fetch_offset(*, group: str = GROUP, topic: str = TOPIC) -> OffsetFetchRequest:
    """Send it with version 9: from 10 on topics go by their ids."""
    topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])


def join(member_id: str = "", *, group: str = GROUP) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
    )


def sync(member_id: str, generation: int, assignment: bytes = b"all") -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=GROUP,
        member_id=member_id,
        generation_id=generation,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)],
    )


async def values(client: RawClient, topic: str = TOPIC) -> list[bytes | None]:
    """Return the values of all records of partition 0."""
    found: list[bytes | None] = []
    offset = 0
    while True:
        fetched = await client.ask(fetch(offset, topic=topic), 12)
        batches = list(read_batches(fetched.responses[0].partitions[0].records))
        if not batches:
            return found
        found += [record.value for each in batches for record in each if record.offset >= offset]
        offset = batches[-1].next_offset


async def produce_one(client: RawClient, value: bytes, **more: Any) -> Any:
    """Produce one record and return the result of its partition."""
    produced = await client.ask(produce(batch(value), **more), 12)
    return produced.responses[0].partition_responses[0]


async def until_led(client: RawClient, topic: str, *, partitions: int = 1) -> None:
    """Wait until the node leads these partitions of a topic, which may just have been created."""
    asked = [ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(partitions)]
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)]
    )
    async with asyncio.timeout(20):
        while any(each.error_code for each in (await client.ask(request)).topics[0].partitions):
            await asyncio.sleep(0.01)


async def coordinator_of(client: RawClient, group: str) -> str:
    """Return the address of a group's coordinator, once there is one."""
    async with asyncio.timeout(20):
        while True:
            (found,) = (await client.ask(find_coordinator(group))).coordinators
            if not found.error_code:
                return f"{found.host}:{found.port}"
            await asyncio.sleep(0.01)
