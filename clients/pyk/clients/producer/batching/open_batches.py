"""The batches of a producer that are not settled: at most one per partition is open. Pure.

A batch stays open, and grows, until it is full or the sender can really send it: closing it when
its linger ends would make many small batches where a broker is slow.

It belongs to the accumulator, whose lock guards all of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyk.clients.producer.arguments import Headers
from pyk.clients.producer.batching.batch import ProducerBatch, new_batch
from pyk.clients.producer.batching.budget import BufferBudget, RoomRequest
from pyk.clients.producer.batching.delivery import Delivery
from pyk.clients.producer.batching.flushes import Flushes, Wake
from pyk.clients.producer.batching.row_source import RowSource, RowSpan
from pyk.clients.producer.batching.topic_batches import TopicBatches
from pyk.protocol.records import RecordBatchBuilder
from pyk.runtime.clock import Clock
from pyk.runtime.system_clock import SystemClock

if TYPE_CHECKING:
    from random import Random

    from pyk.clients.engine.waiter import Engine

NEVER = float("inf")
AWAKE = float("-inf")


class OpenBatches:
    """Fills batches, and decides when the sender has to look at them.

    ``linger`` is in seconds. ``must_wake`` is set when the sender has to be woken.
    """

    __slots__ = (
        "_clock",
        "_full",
        "_is_adaptive",
        "_linger",
        "_lingering",
        "_new_builder",
        "_random",
        "_system_clock",
        "_wake_at",
        "batch_size",
        "budget",
        "engine",
        "flushes",
        "must_wake",
        "topics",
        "unfinished",
    )

    def __init__(
        self,
        *,
        batch_size: int,
        linger: float,
        budget: BufferBudget,
        new_builder: Callable[[int], RecordBatchBuilder],
        is_adaptive: bool,
        clock: Clock,
        random: Random,
        engine: Engine | None = None,
    ) -> None:
        self.batch_size = max(1, batch_size)
        self.budget = budget
        self.flushes = Flushes()
        self.topics: dict[str, TopicBatches] = {}
        self.unfinished: dict[ProducerBatch, None] = {}
        self.engine = engine
        self.must_wake = False
        self._linger = linger
        self._new_builder = new_builder
        self._is_adaptive = is_adaptive
        self._clock = clock
        # Known by its type, it is asked without a Python call.
        self._system_clock = clock if isinstance(clock, SystemClock) else None
        self._random = random
        self._full: list[ProducerBatch] = []  # closed, and the sender does not know yet
        self._lingering: deque[ProducerBatch] = deque()  # by creation; some are closed already
        self._wake_at = AWAKE  # when the sender looks by itself; AWAKE: it has yet to look

    def update_topic(
        self, name: str, partition_count: int, available: Sequence[int]
    ) -> TopicBatches:
        """Apply the metadata of a topic and return its batches."""
        topic = self.topics.get(name)
        if topic is None:
            topic = TopicBatches(name, self.now())
        topic.update(partition_count, available)
        self.topics[name] = topic  # other threads see it from now on
        return topic

    def has_full(self) -> bool:
        """Return whether batches became full that the sender has not taken yet."""
        return bool(self._full)

    def now(self) -> float:
        if self._system_clock is not None:
            return self._system_clock.now()
        return self._clock.now()

    # -- filling -----------------------------------------------------------------------------------

    def append(  # noqa: PLR0917 - keywords would cost a tenth of the call
        self,
        topic: TopicBatches,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        size: int,
        room: RoomRequest | None,
    ) -> Delivery:
        """Append a record to the open batch of ``partition``, -1 for the one that is being filled.

        It takes ``size`` bytes of the budget, or the ``room`` that was granted for it.
        """
        is_sticky = partition < 0
        if is_sticky:
            partition = self.sticky_partition(topic)
        while True:
            try:
                batch = topic.open_batches[partition]
                if batch is None:
                    batch = self._open(topic, partition)
                delivery = batch.append(timestamp, key, value, headers)
            except BaseException:
                self._forget_if_empty(topic, partition)
                raise
            if delivery is not None:
                batch.charged_bytes += size
                if room is not None and room.is_granted:
                    room.is_granted = False  # it is the batch's now
                else:
                    self.budget.available -= size
                if batch.size >= self.batch_size:
                    self._close_full(topic, batch)
                return delivery
            self._close_full(topic, batch)
            if is_sticky:
                partition = self.sticky_partition(topic)

    def fill(self, topic: TopicBatches, partition: int, source: RowSource, start: int) -> RowSpan:
        """Fill one batch with records of ``source`` from ``start`` on; return where they are."""
        while True:
            number = self.sticky_partition(topic) if partition < 0 else partition
            try:
                batch = topic.open_batches[number]
                if batch is None:
                    batch = self._open(topic, number)
                first_index = batch.count
                count = self._extend(batch, source, start)
            except BaseException:
                self._forget_if_empty(topic, number)
                raise
            if count < source.count - start or batch.size >= self.batch_size:
                self._close_full(topic, batch)
            if count:
                return RowSpan(start, count, batch.result, first_index)

    def sticky_partition(self, topic: TopicBatches) -> int:
        """Return the partition of ``topic`` that is being filled with records without a key."""
        partition = topic.sticky_partition
        if partition < 0 or (
            topic.sticky_bytes >= self.batch_size and topic.open_batches[partition] is None
        ):
            partition = topic.next_sticky_partition(self._random, self._is_adaptive)
        return partition

    def _extend(self, batch: ProducerBatch, source: RowSource, start: int) -> int:
        size = batch.size
        try:
            return batch.extend(source, start)
        finally:
            batch.charged_bytes += batch.size - size
            self.budget.available -= batch.size - size

    def _open(self, topic: TopicBatches, partition: int) -> ProducerBatch:
        now = self.now()
        batch = new_batch(
            topic.name,
            partition,
            topic.topic_partitions[partition],
            self._new_builder(self.batch_size),
            now,
            self.engine,
        )
        self._wake_for(AWAKE if self._hurries() else now + self._linger)
        topic.used_at = now
        topic.loads[partition] += 1
        self.unfinished[batch] = None
        topic.open_batches[partition] = batch
        self._lingering.append(batch)
        return batch

    def _forget_if_empty(self, topic: TopicBatches, partition: int) -> None:
        """Undo :meth:`_open` for a record that could not be encoded."""
        batch = topic.open_batches[partition]
        if batch is not None and batch.count == 0:
            self._close(topic, batch)
            self.release(batch)

    # -- for the sender ----------------------------------------------------------------------------

    def take(self, now: float) -> tuple[list[ProducerBatch], list[ProducerBatch]]:
        """Return the batches that became full, and those that are open and due; each once.

        From here to the next ``take``, the sender is woken for changes.
        """
        full, self._full = self._full, []
        due = self._take_due(now)
        self._wake_at = self.next_linger_end()
        return full, due

    def _take_due(self, now: float) -> list[ProducerBatch]:
        due = []
        hurries = self._hurries()
        while self._lingering:
            batch: ProducerBatch = self._lingering[0]
            if batch.is_open and not hurries and batch.created_at + self._linger > now:
                break
            self._lingering.popleft()
            if batch.is_open:
                due.append(batch)
        return due

    def next_linger_end(self) -> float:
        """Return when the oldest batch that still lingers becomes due."""
        if not self._lingering:
            return NEVER
        oldest: ProducerBatch = self._lingering[0]
        return oldest.created_at + self._linger

    def close(self, batch: ProducerBatch) -> bool:
        """Close a batch to send it; False if it became full meanwhile and comes with ``take``."""
        if not batch.is_open:
            return False
        self._close(self.topics[batch.topic], batch)
        return True

    def replace(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        """Replace a batch that was split by its ``pieces``."""
        del self.unfinished[batch]
        self.unfinished.update(dict.fromkeys(pieces))
        self.topics[batch.topic].loads[batch.partition] += len(pieces) - 1
        self.flushes.replace(batch, pieces)

    def release(self, batch: ProducerBatch) -> list[Wake]:
        """Release the room of a batch whose result is known; return the callbacks to run."""
        del self.unfinished[batch]
        topic = self.topics[batch.topic]
        topic.loads[batch.partition] -= 1
        self.budget.available += batch.charged_bytes
        wakes = self.budget.grant()
        self.flushes.settled(batch, wakes)
        return wakes

    def hurry(self) -> None:
        """Let the sender be woken once the lock is free."""
        self.must_wake = True
        self._wake_at = AWAKE

    def _hurries(self) -> bool:
        """Return whether a caller flushes or waits for room: then nothing lingers."""
        return bool(self.flushes.requests) or self.budget.is_contended()

    def _wake_for(self, due_at: float) -> None:
        if due_at < self._wake_at:
            self.hurry()

    def _close(self, topic: TopicBatches, batch: ProducerBatch) -> None:
        batch.is_open = False
        topic.open_batches[batch.partition] = None
        if batch.partition == topic.sticky_partition:
            topic.sticky_bytes += batch.size

    def _close_full(self, topic: TopicBatches, batch: ProducerBatch) -> None:
        self._wake_for(AWAKE)
        self._close(topic, batch)
        if batch.partition == topic.sticky_partition:
            topic.sticky_bytes = self.batch_size  # the next record would not have fitted: move on
        self._full.append(batch)
