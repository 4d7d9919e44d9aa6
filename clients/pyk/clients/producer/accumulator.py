"""The records that a producer accepted and has not sent: one open batch a partition, and a budget.

Application threads append, the sender takes; both under one short lock, which is all that the two
share. Nothing crosses to the engine's loop per record: the sender is woken when a batch became
full, and when the first record of a batch starts a linger that ends before the sender would look
again.

A batch stays open, and grows, until it is full or the sender can really send it: closing it when
its linger ends would make many small batches where a broker is slow.

This module decides and blocks nobody: waiting is done by ``wake`` callbacks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random

from pyk.clients.engine.waiter import Engine
from pyk.clients.errors import KafkaError, RecordTooLargeError
from pyk.clients.producer.batch import ProducerBatch
from pyk.clients.producer.batch_delivery import Span
from pyk.clients.producer.budget import BufferBudget, RoomRequest, record_size
from pyk.clients.producer.delivery import Delivery, fresh_copy
from pyk.clients.producer.mutex import Mutex
from pyk.clients.producer.partitioner import next_sticky_partition
from pyk.clients.producer.row_source import Headers, RowSource
from pyk.clients.producer.topic_batches import TopicBatches
from pyk.protocol.records import RecordBatchBuilder

NEVER = float("inf")
AWAKE = float("-inf")


class FlushRequest:
    """A flush that waits for ``remaining`` batches; ``wake`` says that there are none any more."""

    __slots__ = ("remaining", "wake")

    def __init__(self, remaining: set[ProducerBatch], wake: Callable[[], object]) -> None:
        self.remaining = remaining
        self.wake = wake


class RecordAccumulator:
    """Where application threads and the sender meet.

    ``wakeup`` is called, from any thread and under no lock, when the sender should look. ``now``
    gives seconds of the engine's clock; ``linger`` is in seconds.
    """

    def __init__(
        self,
        *,
        batch_size: int,
        linger: float,
        buffer_memory: int,
        max_record_size: int,
        new_builder: Callable[[int], RecordBatchBuilder],
        is_adaptive: bool,
        now: Callable[[], float],
        random: Random,
        wakeup: Callable[[], object],
    ) -> None:
        self.batch_size = max(1, batch_size)
        self.budget = BufferBudget(buffer_memory)
        self.bulk_size = min(self.batch_size, buffer_memory)
        self._max_record_size = min(max_record_size, buffer_memory)
        self.topics: dict[str, TopicBatches] = {}
        self.new_builder = new_builder
        self.engine: Engine | None = None
        self._linger = linger
        self._is_adaptive = is_adaptive
        self._now = now
        self._random = random
        self._wakeup = wakeup
        self._refusal: KafkaError | None = None
        self._mutex = Mutex()
        self._must_wake = False
        self._full: list[ProducerBatch] = []  # closed, and the sender does not know yet
        self._lingering: deque[ProducerBatch] = deque()  # by creation; some are closed already
        self._unfinished: dict[ProducerBatch, None] = {}
        self._flushes: list[FlushRequest] = []
        self._wake_at = AWAKE  # when the sender looks by itself; AWAKE: it has yet to look

    def append(  # noqa: PLR0917 - keywords would cost a tenth of the call
        self,
        topic: TopicBatches,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        room: RoomRequest | None = None,
        wakes: bool = True,
    ) -> Delivery | None:
        """Append a record to the open batch of ``partition`` and return its delivery.

        Without ``wakes`` the caller calls :meth:`wake` afterwards, whatever happens.

        Partition -1 means any: the one that is being filled. None means that the buffer is full:
        get in line with :meth:`request_room` and come again with the room that is granted.
        """
        size = record_size(key, value, headers)
        if size > self._max_record_size:
            self.check_size(topic.name, size)
        self._mutex.check()
        try:
            try:
                self._mutex.acquire()
                if self._refusal is not None:
                    raise fresh_copy(self._refusal)
                if topic.is_forgotten or (room is None and not self.budget.has_room(size)):
                    return None
                delivery = self._place(topic, partition, timestamp, key, value, headers, size, room)
            finally:
                self._mutex.release()
            if wakes:
                self._wake_if_due()
        except BaseException:
            self._wake_if_due()  # the handler of a signal may have raised before
            raise
        return delivery

    def extend(
        self,
        topic: TopicBatches,
        partition: int,
        source: RowSource,
        start: int,
        room: RoomRequest | None = None,
    ) -> Span | None:
        """Fill one batch with records of ``source`` from ``start`` on, and return where they are.

        None means that the buffer is full: come again with room for :attr:`bulk_size`.
        """
        self._mutex.check()
        try:
            try:
                self._mutex.acquire()
                if self._refusal is not None:
                    raise fresh_copy(self._refusal)
                has_room = room is not None or self.budget.has_room(self.bulk_size)
                if topic.is_forgotten or not has_room:
                    return None
                span = self._fill(topic, partition, source, start)
            finally:
                self._mutex.release()
            self._wake_if_due()
        except BaseException:
            self._wake_if_due()
            raise
        if room is not None:
            self.cancel_room(room)  # what it took is charged record by record
        return span

    def check_size(self, topic: str, size: int) -> None:
        """Raise :class:`RecordTooLargeError` if a record of ``size`` bytes can never be sent."""
        if size <= self._max_record_size:
            return
        is_buffer = self._max_record_size == self.budget.total
        limit = "buffer_memory" if is_buffer else "max_request_size"
        raise RecordTooLargeError(
            f"a record of {size} bytes for topic {topic!r} exceeds "
            f"{limit}={self._max_record_size}; raise the limit (also the topic's "
            "max.message.bytes), or split the record",
            topic=topic,
        )

    def choose_partition(self, topic: TopicBatches) -> int:
        """Return the partition of ``topic`` that is being filled with records without a key."""
        try:
            self._mutex.acquire()
            return self._sticky_partition(topic)
        finally:
            self._mutex.release()

    def request_room(self, request: RoomRequest, wake: Callable[[], object]) -> None:
        """Get in line for room; ``wake`` is called once it is granted or refused.

        Call :meth:`cancel_room` in the end, also after an exception.
        """
        try:
            self._mutex.acquire()
            self.budget.request(request, wake)
            wakes = self.budget.grant()
            self._hurry()
        finally:
            self._mutex.release()
        _call_all(wakes)
        self._wake_if_due()  # nothing lingers while somebody waits for room

    def cancel_room(self, request: RoomRequest) -> None:
        """Leave the line, or give back what was granted and not used."""
        try:
            self._mutex.acquire()
            self.budget.cancel(request)
            wakes = self.budget.grant()
        finally:
            self._mutex.release()
        _call_all(wakes)

    def begin_flush(self, wake: Callable[[], object]) -> FlushRequest:
        """Let nothing linger until :meth:`end_flush`; call ``wake`` when all of now is settled.

        With nothing to wait for, ``remaining`` is empty and nobody is woken.
        """
        try:
            self._mutex.acquire()
            request = FlushRequest(set(self._unfinished), wake)
            self._flushes.append(request)
            self._hurry()
        finally:
            self._mutex.release()
        self._wake_if_due()
        return request

    def end_flush(self, request: FlushRequest) -> None:
        try:
            self._mutex.acquire()
            self._flushes.remove(request)
        finally:
            self._mutex.release()

    def refuse(self, error: KafkaError) -> None:
        """Accept nothing from now on: raise ``error`` to all who come and all who wait for room."""
        try:
            self._mutex.acquire()
            self._refusal = error
            wakes = self.budget.dismiss()
        finally:
            self._mutex.release()
        _call_all(wakes)

    def wake(self) -> None:
        """Wake the sender if it has to hear of what was appended without waking it."""
        self._wake_if_due()

    def _wake_if_due(self) -> None:
        """Wake the sender if it has to hear of something. Without the lock."""
        if self._must_wake:
            self._must_wake = False  # first: what happens from here on is told again
            try:
                self._wakeup()
            except BaseException:
                self._must_wake = True
                raise

    @property
    def refusal(self) -> KafkaError | None:
        """Why nothing is accepted any more."""
        return self._refusal

    def refuse_after_fork(self, error: KafkaError) -> None:
        """Refuse in a process that was forked off, where the lock may be held by nobody."""
        self._mutex = Mutex()
        self._refusal = error
        unknown = fresh_copy(error)
        unknown.definite = False  # the parent goes on with it
        for batch in self._unfinished:
            batch.result.abandon(unknown, batch.count)

    def forget_idle(self, used_before: float) -> list[str]:
        """Forget topics that nothing was sent to since, and return them."""
        try:
            self._mutex.acquire()
            idle = [topic for topic in self.topics.values() if topic.is_idle(used_before)]
            for topic in idle:
                topic.is_forgotten = True
                del self.topics[topic.name]
        finally:
            self._mutex.release()
        return [topic.name for topic in idle]

    def topic(self, name: str, partition_count: int, available: Sequence[int]) -> TopicBatches:
        """Take what metadata says of a topic and return its batches."""
        try:
            self._mutex.acquire()
            topic = self.topics.get(name)
            if topic is None:
                topic = TopicBatches(name, self._now())
            topic.update(partition_count, available)
            self.topics[name] = topic
        finally:
            self._mutex.release()
        return topic

    def has_records_for(self, topic: str) -> bool:
        """Return whether records of a topic are not settled yet."""
        batches = self.topics.get(topic)
        return batches is not None and any(batches.loads)

    @property
    def has_full_batches(self) -> bool:
        """Whether batches became full that the sender has not taken yet."""
        return bool(self._full)

    @property
    def unfinished_batches(self) -> int:
        return len(self._unfinished)

    @property
    def unfinished_records(self) -> int:
        """How many records are not settled yet."""
        return sum(batch.count for batch in list(self._unfinished))

    def take(self, now: float) -> tuple[list[ProducerBatch], list[ProducerBatch]]:
        """Return the batches that became full, and those that are open and due, to be closed when
        they can be sent. Each is returned once.

        From here to the next ``take``, the sender is woken for what happens;
        :attr:`next_linger_end` is when it should look by itself.
        """
        due = []
        try:
            self._mutex.acquire()
            full, self._full = self._full, []
            hurries = self._hurries()
            while self._lingering and (
                hurries or not self._lingering[0].is_open or self.next_linger_end <= now
            ):
                batch = self._lingering.popleft()
                if batch.is_open:
                    due.append(batch)
            self._wake_at = self.next_linger_end
        finally:
            self._mutex.release()
        return full, due

    @property
    def next_linger_end(self) -> float:
        """When the oldest batch that still lingers becomes due."""
        return self._lingering[0].created_at + self._linger if self._lingering else NEVER

    def close(self, batch: ProducerBatch) -> bool:
        """Close a batch to send it; False if it became full meanwhile and comes with ``take``."""
        try:
            self._mutex.acquire()
            if not batch.is_open:
                return False
            self._close(self.topics[batch.topic], batch)
            return True
        finally:
            self._mutex.release()

    def replace(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        """Let ``pieces`` stand for a batch that was split."""
        try:
            self._mutex.acquire()
            del self._unfinished[batch]
            self._unfinished.update(dict.fromkeys(pieces))
            self.topics[batch.topic].loads[batch.partition] += len(pieces) - 1
            for flush in self._flushes:
                if batch in flush.remaining:
                    flush.remaining.remove(batch)
                    flush.remaining.update(pieces)
        finally:
            self._mutex.release()

    def release(self, batch: ProducerBatch) -> None:
        """Give back the room of a batch whose result is known."""
        try:
            self._mutex.acquire()
            wakes = self._release(batch)
        finally:
            self._mutex.release()
        _call_all(wakes)

    # From here on the caller holds the lock.

    def _place(  # noqa: PLR0917
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
        is_sticky = partition < 0
        if is_sticky:
            partition = self._sticky_partition(topic)
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
                if room is None:
                    self.budget.available -= size
                else:
                    room.is_granted = False  # it is the batch's now
                if batch.size >= self.batch_size:
                    self._close_full(topic, batch)
                return delivery
            self._close_full(topic, batch)
            if is_sticky:
                partition = self._sticky_partition(topic)

    def _fill(self, topic: TopicBatches, partition: int, source: RowSource, start: int) -> Span:
        while True:
            number = self._sticky_partition(topic) if partition < 0 else partition
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
                return Span(start, count, batch.result, first_index)

    def _extend(self, batch: ProducerBatch, source: RowSource, start: int) -> int:
        size = batch.size
        try:
            return batch.extend(source, start)
        finally:
            batch.charged_bytes += batch.size - size
            self.budget.available -= batch.size - size

    def _sticky_partition(self, topic: TopicBatches) -> int:
        partition = topic.sticky_partition
        if partition < 0 or (
            topic.sticky_bytes >= self.batch_size and topic.open_batches[partition] is None
        ):
            loads = topic.loads if self._is_adaptive else None
            partition = next_sticky_partition(self._random, topic.available, loads)
            topic.sticky_partition = partition
            topic.sticky_bytes = 0
        return partition

    def _open(self, topic: TopicBatches, partition: int) -> ProducerBatch:
        batch = ProducerBatch(
            topic.places[partition],
            self.new_builder(self.batch_size),
            self._now(),
            self.engine,
        )
        self._wake_for(AWAKE if self._hurries() else batch.created_at + self._linger)
        topic.used_at = batch.created_at
        topic.loads[partition] += 1
        self._unfinished[batch] = None
        topic.open_batches[partition] = batch
        self._lingering.append(batch)
        return batch

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

    def _wake_for(self, due_at: float) -> None:
        if due_at < self._wake_at:
            self._hurry()

    def _hurry(self) -> None:
        """Have the sender woken once the lock is free."""
        self._must_wake = True
        self._wake_at = AWAKE

    def _hurries(self) -> bool:
        """Nothing lingers while somebody flushes or waits for room."""
        return bool(self._flushes) or self.budget.is_contended

    def _forget_if_empty(self, topic: TopicBatches, partition: int) -> None:
        """Undo :meth:`_open` for a record that could not be encoded."""
        batch = topic.open_batches[partition]
        if batch is not None and batch.count == 0:
            self._close(topic, batch)
            self._release(batch)

    def _release(self, batch: ProducerBatch) -> list[Callable[[], object]]:
        del self._unfinished[batch]
        self.topics[batch.topic].loads[batch.partition] -= 1
        self.budget.available += batch.charged_bytes
        wakes = self.budget.grant()
        for flush in self._flushes:
            if batch in flush.remaining:
                flush.remaining.remove(batch)
                if not flush.remaining:
                    wakes.append(flush.wake)
        return wakes


def _call_all(wakes: list[Callable[[], object]]) -> None:
    for wake in wakes:
        wake()
