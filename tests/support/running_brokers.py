"""A broker in memory and in virtual time, for tests that call its handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.handlers.context import RequestContext
from pyk.reference_broker.partition import Partition
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock

TOPIC = "orders"
VERSION = 12
"""Of Produce and Fetch: the last with topic names."""


@asynccontextmanager
async def running_broker(
    partitions: int = 1, topic_configs: dict[str, object] | None = None, **config: object
) -> AsyncIterator[Broker]:
    """Run a broker with one topic; ``config`` has underscores for dots."""
    named = {name.replace("_", "."): value for name, value in config.items()}
    cluster = AsyncCluster(clock=current_clock(), network=MemoryNetwork(), config=named)
    async with cluster:
        await cluster.create_topic(TOPIC, partitions=partitions, configs=topic_configs)
        (broker,) = cluster._brokers.values()
        yield broker


def context(version: int = VERSION) -> RequestContext:
    return RequestContext(version=version, client_id="test", client_host="/memory")


class LaggingReplica:
    """What keeps the high watermark of a partition from following its log's end."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._stands_at = partition.high_watermark
        partition._advance_high_watermark = self._hold  # type: ignore[method-assign]

    def _hold(self) -> None:
        self._partition.log.high_watermark = self._stands_at

    def catch_up(self, offset: int | None = None) -> None:
        """Let the high watermark move, to the log's end if no offset is given."""
        self._stands_at = self._partition.log_end_offset if offset is None else offset
        self._hold()
        self._partition._notify()


def error_codes(message: Any, topics: str, partitions: str) -> list[int]:
    """Return the error code of each partition of a response."""
    return [
        each.error_code for topic in getattr(message, topics) for each in getattr(topic, partitions)
    ]
