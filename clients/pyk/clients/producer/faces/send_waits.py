"""What a ``send`` waits for before its record is taken: metadata and room."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from operator import itemgetter

from pyk.clients.arguments import checked_timeout
from pyk.clients.config import ProducerConfig
from pyk.clients.engine.client import Client
from pyk.clients.engine.metadata import MetadataImage, TopicMetadata
from pyk.clients.errors import (
    BufferExhaustedError,
    KafkaTimeoutError,
    UnknownTopicOrPartitionError,
)
from pyk.clients.producer.batching.accumulator import RecordAccumulator
from pyk.clients.producer.batching.waits import MetadataWait, Wait
from pyk.clients.wording import counted

RECORDS = "records"


class SendWaits:
    """Does the waits of one producer, on its event loop; ``max_block`` is in seconds.

    ``start`` connects, within the seconds that it is given.
    """

    def __init__(
        self,
        client: Client,
        accumulator: RecordAccumulator,
        config: ProducerConfig,
        start: Callable[[float], Awaitable[None]],
    ) -> None:
        self._client = client
        self._accumulator = accumulator
        self._config = config
        self._start = start
        self._adopted: Mapping[str, TopicMetadata] = {}
        # A record takes no longer than delivery_timeout_ms, the wait before it is taken included.
        limits = {name: getattr(config, name) for name in ("max_block_ms", "delivery_timeout_ms")}
        option, limit = min(limits.items(), key=itemgetter(1))
        self.max_block = limit / 1000
        self._limit = f"{option}={limit}"

    async def find(self, step: MetadataWait) -> None:
        """Wait for a topic's metadata, until it has the partition if one is named."""
        topic, partition, deadline = step.topic, step.partition, step.deadline
        self._client.check_place()
        await self._start(max(0.0, deadline - self._client.clock.now()))
        while True:
            version = self._client.metadata.version
            self._adopt(await self._topic(topic, deadline))
            self._client.topics.also_use(RECORDS, [topic])
            if not self._accumulator.lacks(topic, partition):
                return
            self._client.metadata_keeper.request_update()
            try:
                await self._client.metadata_keeper.updated(version, deadline)
            except KafkaTimeoutError as error:
                cause = error.__cause__ or _unknown_partition(step)  # unless brokers are away
                raise self._no_partition(step) from cause

    def _no_partition(self, step: MetadataWait) -> KafkaTimeoutError:
        count = self._accumulator.topics[step.topic].partition_count
        return KafkaTimeoutError(
            f"topic {step.topic!r} has no partition {step.partition}: it has "
            f"{counted(count, 'partition')}, and no more were added within {self._limit}",
            topic=step.topic,
            partition=step.partition,
            definite=True,
        )

    async def _topic(self, topic: str, deadline: float) -> TopicMetadata:
        try:
            return await self._client.topics.find(topic, deadline)
        except KafkaTimeoutError as error:
            cause = error.__cause__ or error
            raise KafkaTimeoutError(
                f"no metadata of topic {topic!r} within {self._limit}: {cause}",
                topic=topic,
                definite=True,
            ) from cause

    async def partitions_for(self, topic: str, timeout: float | None = None) -> set[int]:
        """Return the partitions of a topic."""
        self._client.check_place()
        seconds = checked_timeout(timeout)
        limit = self.max_block if seconds is None else seconds
        deadline = self._client.clock.now() + limit
        await self._start(limit)
        metadata = await self._client.topics.find(topic, deadline)
        return set(range(metadata.partition_count))

    def adopt(self, image: MetadataImage) -> None:
        """Apply new metadata to the topics with records, and forget those that are idle."""
        before, self._adopted = self._adopted, image.topics
        for name in self._accumulator.topics.keys() & image.topics.keys():
            if image.topics[name] is not before.get(name):
                self._adopt(image.topics[name])
        now, max_idle_ms = self._client.clock.now(), self._config.metadata_max_idle_ms
        if self._accumulator.forget_idle(now - max_idle_ms / 1000):
            self._client.topics.use(RECORDS, self._accumulator.topics)

    async def wait(self, step: Wait) -> None:
        """Wait for what a step needs; the caller that requested room cancels it."""
        if isinstance(step, MetadataWait):
            await self.find(step)
            return
        granted = asyncio.Event()
        self._accumulator.waits.request_room(step.room, granted.set)
        try:
            async with asyncio.timeout_at(step.deadline):
                await granted.wait()
        except TimeoutError:
            raise self.exhausted() from None

    def exhausted(self) -> BufferExhaustedError:
        """Return the error of a ``send`` that found no room in time."""
        return BufferExhaustedError(
            f"no room in the buffer within {self._limit}: "
            f"buffer_memory={self._config.buffer_memory} is taken by records that brokers have "
            "not acknowledged yet"
        )

    def _adopt(self, topic: TopicMetadata) -> None:
        if topic.partitions:
            available = [p.partition for p in topic.partitions if p.leader_id is not None]
            self._accumulator.topic(topic.name, topic.partition_count, available)


def _unknown_partition(step: MetadataWait) -> UnknownTopicOrPartitionError:
    return UnknownTopicOrPartitionError(
        f"topic {step.topic!r} has no partition {step.partition}",
        topic=step.topic,
        partition=step.partition,
    )
