"""Raw requests of the members of one group, by both protocols, to its coordinator."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    DescribedGroup,
)
from pyk.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pyk.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pyk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
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
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from pyk.protocol.persisted import decode_versioned, encode_versioned
from support.broker_requests import coordinator_of
from support.brokers import Kafka, make_topic
from support.raw_client import RawClient

E = ErrorCode
GROUP_RESOURCE = 32
Partitions = list[int]
MEMBER: dict[str, Any] = {"rebalance_timeout_ms": 60_000}


class Coordinator:
    """The coordinator of one group, asked about one topic of four partitions."""

    def __init__(self, client: RawClient, group: str, topic: str, topic_id: UUID) -> None:
        self.client = client
        self.group = group
        self.topic = topic
        self.topic_id = topic_id

    async def beat(
        self, member_id: str, epoch: int, owned: Partitions | None = None, **more: Any
    ) -> Any:
        topics = None
        if owned is not None:
            topics = [TopicPartitions(topic_id=self.topic_id, partitions=owned)] if owned else []
        request = ConsumerGroupHeartbeatRequest(
            **{
                "group_id": self.group,
                "member_id": member_id,
                "member_epoch": epoch,
                "topic_partitions": topics,
                **more,
            }
        )
        return await self.client.ask(request, 1)

    async def join(self, member_id: str, **more: Any) -> Any:
        subscription = {"subscribed_topic_names": [self.topic]}
        return await self.beat(member_id, 0, [], **{**MEMBER, **subscription, **more})

    async def assigned(self, member_id: str, epoch: int, owned: Partitions | None = None) -> Any:
        """Send heartbeats until one tells of an assignment; return that answer."""
        async with asyncio.timeout(20):
            while (answer := await self.beat(member_id, epoch, owned)).assignment is None:
                assert not answer.error_code, answer
                await asyncio.sleep(0.05)
        return answer

    async def describe(self, group: str | None = None) -> DescribedGroup:
        request = ConsumerGroupDescribeRequest(group_ids=[self.group if group is None else group])
        (described,) = (await self.client.ask(request, 1)).groups
        found: DescribedGroup = described
        return found

    async def configure(self, name: str, value: str) -> None:
        """Set a configuration of the group."""
        request = IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=GROUP_RESOURCE,
                    resource_name=self.group,
                    configs=[AlterableConfig(name=name, value=value)],
                )
            ]
        )
        (answer,) = (await self.client.ask(request, 1)).responses
        assert not answer.error_code, answer

    async def see_topic(self, topic: str | None = None) -> None:
        """Wait until the coordinator assigns a new topic, and leave no trace of the group."""
        names = [self.topic if topic is None else topic]
        async with asyncio.timeout(20):
            while not told(await self.join("probe", subscribed_topic_names=names)):
                await self.beat("probe", -1)
                await asyncio.sleep(0.05)
        await self.beat("probe", -1)
        await self.client.ask(DeleteGroupsRequest(groups_names=[self.group]), 2)

    async def commit(
        self, member_id: str, epoch: int, *, partition: int = 0, version: int = 9
    ) -> E:
        committed = OffsetCommitRequestPartition(partition_index=partition, committed_offset=5)
        request = OffsetCommitRequest(
            group_id=self.group,
            member_id=member_id,
            generation_id_or_member_epoch=epoch,
            topics=[OffsetCommitRequestTopic(name=self.topic, partitions=[committed])],
        )
        (topic,) = (await self.client.ask(request, version)).topics
        return E(topic.partitions[0].error_code)

    async def fetch(self, member_id: str | None, epoch: int) -> E:
        group = OffsetFetchRequestGroup(
            group_id=self.group,
            member_id=member_id,
            member_epoch=epoch,
            topics=[OffsetFetchRequestTopics(name=self.topic, partition_indexes=[0])],
        )
        (found,) = (await self.client.ask(OffsetFetchRequest(groups=[group]), 9)).groups
        return E(found.error_code)

    @contextlib.asynccontextmanager
    async def other_connection(self) -> AsyncIterator[Coordinator]:
        """Give the same coordinator over another connection, for a request that waits."""
        async with RawClient(":".join(self.client._address)) as client:
            yield Coordinator(client, self.group, self.topic, self.topic_id)

    # -- the classic protocol --------------------------------------------------------------------

    async def classic_join(
        self,
        member_id: str = "",
        *,
        owned: Partitions = (),  # type: ignore[assignment]
        protocols: Iterable[str] = ("range",),
        topics: Iterable[str] | None = None,
        metadata: bytes | None = None,
        version: int = 9,
        **more: Any,
    ) -> Any:
        """Send one JoinGroup, and return the answer."""
        subscription = ConsumerProtocolSubscription(
            topics=[self.topic] if topics is None else list(topics),
            owned_partitions=[TopicPartition(topic=self.topic, partitions=list(owned))],
        )
        metadata = encode_versioned(subscription, 3) if metadata is None else metadata
        request = JoinGroupRequest(
            **{
                "group_id": self.group,
                "member_id": member_id,
                "protocol_type": "consumer",
                "protocols": [
                    JoinGroupRequestProtocol(name=name, metadata=metadata) for name in protocols
                ],
                "session_timeout_ms": 30_000,
                "rebalance_timeout_ms": 60_000,
                **more,
            }
        )
        return await self.client.ask(request, version)

    async def classic_member(self, **more: Any) -> Any:
        """Join as a new dynamic member does: ask for an id, come back with it."""
        member_id = (await self.classic_join(**more)).member_id
        return await self.classic_join(member_id, **more)

    async def classic_sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, Partitions | bytes] | None = None,
        *,
        user_data: bytes | None = None,
        **more: Any,
    ) -> tuple[E, Partitions]:
        """Send SyncGroup, as the leader with ``assignments``; return error and partitions."""
        request = SyncGroupRequest(
            **{
                "group_id": self.group,
                "member_id": member_id,
                "generation_id": generation,
                "protocol_type": "consumer",
                "protocol_name": "range",
                "assignments": [
                    SyncGroupRequestAssignment(
                        member_id=each, assignment=self._encoded(partitions, user_data)
                    )
                    for each, partitions in (assignments or {}).items()
                ],
                **more,
            }
        )
        answer = await self.client.ask(request, 5)
        is_unreadable = bytes in map(type, (assignments or {}).values())
        if answer.error_code or not answer.assignment or is_unreadable:
            return E(answer.error_code), []
        assigned = decode_versioned(ConsumerProtocolAssignment, answer.assignment)
        return E.NONE, sorted(n for each in assigned.assigned_partitions for n in each.partitions)

    def _encoded(self, partitions: Partitions | bytes, user_data: bytes | None) -> bytes:
        if isinstance(partitions, bytes):
            return partitions
        message = ConsumerProtocolAssignment(
            assigned_partitions=[TopicPartition(topic=self.topic, partitions=partitions)],
            user_data=user_data,
        )
        return encode_versioned(message, 1)

    async def classic_beat(
        self, member_id: str, generation: int, instance_id: str | None = None
    ) -> E:
        request = HeartbeatRequest(
            group_id=self.group,
            member_id=member_id,
            generation_id=generation,
            group_instance_id=instance_id,
        )
        return E((await self.client.ask(request, 4)).error_code)

    async def classic_leave(self, *member_ids: str) -> list[E]:
        request = LeaveGroupRequest(
            group_id=self.group, members=[MemberIdentity(member_id=each) for each in member_ids]
        )
        answer = await self.client.ask(request, 5)
        return [E(each.error_code) for each in answer.members]


@contextlib.asynccontextmanager
async def coordinator_of_group(kafka: Kafka, group: str) -> AsyncIterator[Coordinator]:
    """Connect to the coordinator of a group, and create a topic of four partitions for it."""
    topic = await asyncio.to_thread(make_topic, kafka, "assigned", partitions=4)
    async with RawClient(kafka.bootstrap) as node_0:
        topic_id = await topic_id_of(node_0, topic)
        address = await coordinator_of(node_0, group)
    async with RawClient(address) as client:
        found = Coordinator(client, group, topic, topic_id)
        await found.configure("consumer.assignment.interval.ms", "0")
        await found.see_topic()
        yield found


async def topic_id_of(client: RawClient, topic: str) -> UUID:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    (metadata,) = (await client.ask(asked, 12)).topics
    found: UUID = metadata.topic_id
    return found


def told(answer: Any) -> Partitions:
    """Return the partitions of the topic in an answer's assignment, none if it has none."""
    if answer.assignment is None:
        return []
    return [n for topic in answer.assignment.topic_partitions for n in sorted(topic.partitions)]


def error_of(answer: Any) -> tuple[E, str | None]:
    return E(answer.error_code), answer.error_message
