"""The batches and the partitioning state of one topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.batching.partitioner import next_sticky_partition
from pyk.clients.topic_partition import TopicPartition

if TYPE_CHECKING:
    from random import Random


class TopicBatches:
    """The partitions of one topic, each with the batch that is open.

    The lists change when metadata changes; nothing is rebuilt per record.
    """

    __slots__ = (
        "available",
        "is_forgotten",
        "loads",
        "name",
        "open_batches",
        "partition_count",
        "sticky_bytes",
        "sticky_partition",
        "topic_partitions",
        "used_at",
    )

    def __init__(self, name: str, used_at: float) -> None:
        self.name = name
        self.used_at = used_at
        self.is_forgotten = False
        self.partition_count = 0
        self.available: list[int] = []  # partitions with a leader; all, while none has one
        self.topic_partitions: list[TopicPartition] = []
        self.open_batches: list[ProducerBatch | None] = []
        self.loads: list[int] = []  # unfinished batches of each partition
        self.sticky_partition = -1
        self.sticky_bytes = 0

    def update(self, partition_count: int, available: Sequence[int]) -> None:
        """Apply metadata. Batches of partitions that are gone stay until they settle."""
        known = len(self.topic_partitions)
        self.topic_partitions.extend(
            TopicPartition(self.name, n) for n in range(known, partition_count)
        )
        missing = partition_count - known
        self.open_batches.extend([None] * missing)
        self.loads.extend([0] * missing)
        self.partition_count = partition_count
        self.available = list(available) or list(range(partition_count))
        if self.sticky_partition not in self.available:
            self.sticky_partition = -1

    def is_idle(self, used_before: float) -> bool:
        return self.used_at < used_before and not any(self.loads)

    def next_sticky_partition(self, random: Random, is_adaptive: bool) -> int:
        """Move records that name no partition on to another one, and return it."""
        loads = self.loads if is_adaptive else None
        self.sticky_partition = next_sticky_partition(random, self.available, loads)
        self.sticky_bytes = 0
        return self.sticky_partition
