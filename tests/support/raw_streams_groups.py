"""Raw requests of the members of one streams group to its coordinator."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
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
from pyk.protocol.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
)
from pyk.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from support.broker_requests import coordinator_of
from support.brokers import Kafka, make_topic
from support.raw_client import RawClient

E = ErrorCode
GROUP_RESOURCE = 32
Tasks = Mapping[str, Sequence[int]]
"""Partitions by subtopology."""


class StreamsCoordinator:
    """The coordinator of one streams group, whose application reads one topic and keeps a store."""

    def __init__(self, client: RawClient, group: str, topic: str, store: str) -> None:
        self.client = client
        self.group = group
        self.topic = topic
        self.store = store
        self._interval_ms = 5_000

    def topology(self, *sources: str, epoch: int = 0, store: str = "", **more: Any) -> Topology:
        """Return a topology of one subtopology with a store."""
        subtopology = Subtopology(
            **{
                "subtopology_id": "0",
                "source_topics": list(sources or [self.topic]),
                "state_changelog_topics": [TopicInfo(name=store or self.store)],
                **more,
            }
        )
        return Topology(epoch=epoch, subtopologies=[subtopology])

    async def beat(self, member: str, epoch: int, **more: Any) -> StreamsGroupHeartbeatResponse:
        request = StreamsGroupHeartbeatRequest(
            **{"group_id": self.group, "member_id": member, "member_epoch": epoch, **more}
        )
        response: StreamsGroupHeartbeatResponse = await self.client.ask(request, 0)
        return response

    async def join(self, member: str, **more: Any) -> StreamsGroupHeartbeatResponse:
        """Let a member join, with a process of its own unless said otherwise."""
        values = {
            "topology": self.topology(),
            "process_id": f"process-of-{member}",
            "rebalance_timeout_ms": 60_000,
            **owning({}),
            **more,
        }
        return await self.beat(member, 0, **values)

    async def describe(self, group: str | None = None, **more: Any) -> DescribedGroup:
        request = StreamsGroupDescribeRequest(
            group_ids=[self.group if group is None else group], **more
        )
        (described,) = (await self.client.ask(request, 0)).groups
        found: DescribedGroup = described
        return found

    async def apply(self, name: str, value: str) -> None:
        """Set a configuration of the group, and wait until the coordinator has it."""
        self._interval_ms += 1
        interval = ("streams.heartbeat.interval.ms", str(self._interval_ms))
        for each in ((name, value), interval):  # set last, it is seen last
            assert await self.configure(*each) == (E.NONE, None)
        async with asyncio.timeout(20):
            while (await self.join("probe")).heartbeat_interval_ms != self._interval_ms:
                await self._forget_probe()
                await asyncio.sleep(0.05)
        await self._forget_probe()

    async def _forget_probe(self) -> None:
        await self.beat("probe", -1)
        await self.delete()

    async def configure(self, name: str, value: str) -> tuple[E, str | None]:
        """Set a configuration of the group; return the error."""
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
        return E(answer.error_code), answer.error_message

    async def assign_at_once(self) -> None:
        """Have tasks assigned with every heartbeat that changes something."""
        for name in ("streams.initial.rebalance.delay.ms", "streams.assignment.interval.ms"):
            assert await self.configure(name, "0") == (E.NONE, None)

    async def see(self, *topics: str) -> None:
        """Wait until the coordinator knows topics and settings, and leave no trace of the group."""
        probe, answer = self.topology(*topics), None
        try:
            async with asyncio.timeout(20):
                answer = await self.join("probe", topology=probe)
                while answer.error_code or answer.status:
                    await self._forget_probe()
                    await asyncio.sleep(0.05)
                    answer = await self.join("probe", topology=probe)
        except TimeoutError as error:
            raise AssertionError(f"the last answer was {answer}") from error
        await self._forget_probe()

    async def delete(self) -> E:
        answer = await self.client.ask(DeleteGroupsRequest(groups_names=[self.group]), 2)
        return E(answer.results[0].error_code)

    async def commit(
        self, member: str, epoch: int, *, partition: int = 0, version: int = 9, topic: str = ""
    ) -> E:
        committed = OffsetCommitRequestPartition(partition_index=partition, committed_offset=5)
        request = OffsetCommitRequest(
            group_id=self.group,
            member_id=member,
            generation_id_or_member_epoch=epoch,
            topics=[OffsetCommitRequestTopic(name=topic or self.topic, partitions=[committed])],
        )
        (answered,) = (await self.client.ask(request, version)).topics
        return E(answered.partitions[0].error_code)

    async def fetch(self, member: str | None, epoch: int) -> E:
        group = OffsetFetchRequestGroup(
            group_id=self.group,
            member_id=member,
            member_epoch=epoch,
            topics=[OffsetFetchRequestTopics(name=self.topic, partition_indexes=[0])],
        )
        (found,) = (await self.client.ask(OffsetFetchRequest(groups=[group]), 9)).groups
        return E(found.error_code)


@contextlib.asynccontextmanager
async def connected_to_coordinator(kafka: Kafka, group: str) -> AsyncIterator[RawClient]:
    """Connect to the coordinator of a group."""
    async with RawClient(kafka.bootstrap) as node_0:
        address = await coordinator_of(node_0, group)
    async with RawClient(address) as client:
        yield client


@contextlib.asynccontextmanager
async def streams_coordinator(kafka: Kafka, group: str) -> AsyncIterator[StreamsCoordinator]:
    """Connect to the coordinator of a new group, with a topic of four partitions and a store."""
    topic = await asyncio.to_thread(make_topic, kafka, "text", partitions=4)
    store = await asyncio.to_thread(make_topic, kafka, "counts", partitions=4)
    async with connected_to_coordinator(kafka, group) as client:
        coordinator = StreamsCoordinator(client, group, topic, store)
        await coordinator.assign_at_once()
        await coordinator.see(topic)
        yield coordinator


def owning(active: Tasks, standby: Tasks | None = None) -> dict[str, list[TaskIds]]:
    """Return what a heartbeat says of the tasks of its member."""
    return {
        "active_tasks": _listed(active),
        "standby_tasks": _listed(standby or {}),
        "warmup_tasks": [],
    }


def _listed(tasks: Tasks) -> list[TaskIds]:
    return [
        TaskIds(subtopology_id=subtopology_id, partitions=list(partitions))
        for subtopology_id, partitions in tasks.items()
    ]


def named(tasks: Sequence[Any] | None) -> dict[str, list[int]] | None:
    """Return tasks of a response by subtopology, None if it has none to tell."""
    if tasks is None:
        return None
    return {
        each.subtopology_id: sorted(each.partitions)
        for each in sorted(tasks, key=lambda one: one.subtopology_id)
    }


def statuses(answer: StreamsGroupHeartbeatResponse) -> list[tuple[int, str]]:
    return [(each.status_code, each.status_detail) for each in answer.status or ()]
