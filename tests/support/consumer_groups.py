"""Members of a consumer group at the reference broker, each read by a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import attrs
import pytest

from pyk.clients import AsyncConsumer, RebalanceListener, TopicPartition
from support.consuming import make_consumer

PARTITIONS = [TopicPartition("orders", number) for number in range(4)]

of_both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def member_options(protocol: str) -> dict[str, Any]:
    """Return the options of a member that soon finds out what its coordinator thinks."""
    if protocol == "consumer":
        return {"group_protocol": protocol}
    return {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000}


def heartbeat_of(consumer: AsyncConsumer[Any, Any]) -> str:
    """Return the name of the request by which a consumer says that it is alive."""
    is_classic = consumer._core.config.group_protocol == "classic"
    return "Heartbeat" if is_classic else "ConsumerGroupHeartbeat"


@attrs.define
class Member:
    """A consumer that a task of its own reads, and the records that it has processed."""

    consumer: AsyncConsumer[Any, Any]
    processed: list[tuple[int, int]] = attrs.Factory(list)
    """Partition and offset of each record, when the loop body was done with it."""
    in_hand: tuple[int, int] | None = None
    seconds_per_record: float = 0.0
    task: asyncio.Task[None] | None = None

    def begin(self) -> Member:
        self.task = asyncio.create_task(self._run())
        return self

    async def _run(self) -> None:
        async with self.consumer:
            async for record in self.consumer:
                self.in_hand = (record.partition, record.offset)
                await asyncio.sleep(self.seconds_per_record)
                self.processed.append(self.in_hand)
                self.in_hand = None

    async def leave(self) -> None:
        """Close the consumer as an application does when it ends."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait({self.task})

    async def crash(self) -> None:
        """End without leaving the group."""
        await self.consumer._core.client.close(0)
        await self.leave()


class Group:
    """Members of one group at one cluster."""

    def __init__(self, cluster: Any, **options: Any) -> None:
        self.cluster = cluster
        self.options = {"group_id": "g", "topics": ["orders"], **options}

    def member(self, *, seconds_per_record: float = 0.0, **options: Any) -> Member:
        consumer = make_consumer(self.cluster, **{**self.options, **options})
        return Member(consumer, seconds_per_record=seconds_per_record).begin()

    async def committed(self) -> dict[TopicPartition, int]:
        async with make_consumer(self.cluster, group_id="g") as observer:
            found = await observer.committed(PARTITIONS)
        return {p: offset.offset for p, offset in found.items() if offset is not None}


class Recorder(RebalanceListener):
    """A listener that remembers how many partitions came and went, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

    async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append(("assigned", len(partitions)))

    async def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append(("revoked", len(partitions)))

    async def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append(("lost", len(partitions)))
