"""Members of a group that handle records with ``process()``, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

import attrs

from pyk.clients import AsyncConsumer, TopicPartition
from support.consuming import make_consumer

Place = tuple[int, int]
"""Partition and offset."""


@attrs.define
class Processor:
    """A consumer whose handlers take some time; records that are ``stuck`` never end."""

    consumer: AsyncConsumer[Any, Any]
    seconds: float
    stuck: Collection[Place]
    log: list[Place]
    options: dict[str, Any]
    duration: Callable[[], float] | None = None
    """How long a handler takes, instead of ``seconds``."""
    failure: Callable[[], bool] = bool
    """Whether a handler fails."""
    handled: list[Place] = attrs.Factory(list)
    cancelled: list[Place] = attrs.Factory(list)
    running: int = 0
    task: asyncio.Task[None] = attrs.field(init=False)

    async def run(self) -> None:
        async with self.consumer:
            await self.consumer.process(self.handle, **self.options)

    async def handle(self, record: Any) -> None:
        place = (record.partition, record.offset)
        self.running += 1
        try:
            seconds = self.seconds if self.duration is None else self.duration()
            await asyncio.sleep(1e9 if place in self.stuck else seconds)
            if self.failure():
                raise LookupError("no such customer")
        except asyncio.CancelledError:
            self.cancelled.append(place)
            raise
        finally:
            self.running -= 1
        self.handled.append(place)
        self.log.append(place)

    async def wake(self) -> None:
        """End as an application does that lets its handlers finish."""
        self.consumer.wakeup()
        await self.task

    async def cancel(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})

    async def crash(self) -> None:
        """End without leaving the group, and without a commit."""
        await self.consumer._core.client.close(0)
        await self.cancel()
        assert self.task.cancelled() or self.task.exception()


class Processors:
    """Members of one group at one cluster."""

    def __init__(self, cluster: Any, **options: Any) -> None:
        self.cluster = cluster
        self.options = {"group_id": "g", "topics": ["orders"], **options}
        self.handled: list[Place] = []

    def member(
        self,
        *,
        seconds: float,
        stuck: Collection[Place] = (),
        duration: Callable[[], float] | None = None,
        failure: Callable[[], bool] = bool,
        **options: Any,
    ) -> Processor:
        consumer = make_consumer(self.cluster, **self.options)
        log = self.handled
        member = Processor(consumer, seconds, stuck, log, options, duration, failure)
        member.task = asyncio.create_task(member.run())
        return member

    async def committed(self) -> dict[TopicPartition, int]:
        partitions = [TopicPartition("orders", number) for number in range(4)]
        async with make_consumer(self.cluster, group_id="g") as observer:
            found = await observer.committed(partitions)
        return {p: offset.offset for p, offset in found.items() if offset is not None}


async def records_of(cluster: Any, topic: str, count: int) -> list[Any]:
    """Return at least so many records of the first partition of a topic."""
    found: list[Any] = []
    async with make_consumer(cluster) as consumer:
        consumer.assign([(topic, 0)])
        while len(found) < count:
            found += await consumer.poll(60)
    return found
