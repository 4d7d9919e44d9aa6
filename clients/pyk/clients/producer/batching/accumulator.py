"""The records that a producer accepted and has not sent: an open batch per partition, and a budget.

Application threads append, the sender takes; both under one short lock, the only thing that the two
share. Nothing crosses to the engine's loop per record: the sender is woken when a batch became
full, and when the first record of a batch starts a linger that ends before the sender would look
again.

This module decides and never blocks: waiting is done by ``wake`` callbacks. The code under the lock
is in :mod:`pyk.clients.producer.batching.open_batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyk.clients.errors import KafkaError, RecordTooLargeError
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.producer.arguments import Headers
from pyk.clients.producer.batching.admission import Admission
from pyk.clients.producer.batching.batch_drain import BatchDrain
from pyk.clients.producer.batching.budget import BufferBudget, RoomRequest, record_size
from pyk.clients.producer.batching.buffer_waits import BufferWaits
from pyk.clients.producer.batching.delivery import Delivery
from pyk.clients.producer.batching.mutex import Mutex
from pyk.clients.producer.batching.open_batches import OpenBatches
from pyk.clients.producer.batching.row_source import RowSource, RowSpan
from pyk.clients.producer.batching.topic_batches import TopicBatches
from pyk.protocol.records import RecordBatchBuilder
from pyk.runtime.clock import Clock

if TYPE_CHECKING:
    from random import Random

    from pyk.clients.engine.waiter import Engine


class RecordAccumulator:
    """The open batches of all partitions, shared by application threads and the sender.

    Applications append here and wait by :attr:`waits`; the sender has :attr:`drain`.
    :attr:`wakeup` is called, from any thread and under no lock, when the sender should look;
    ``linger`` is in seconds; ``engine`` is the event loop that settles the records.
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
        clock: Clock,
        random: Random,
        wakeup: Callable[[], object] = lambda: None,
        engine: Engine | None = None,
    ) -> None:
        self.budget = BufferBudget(buffer_memory)
        self.bulk_size = min(max(1, batch_size), buffer_memory)
        self.new_builder = new_builder
        self.wakeup = wakeup
        self._max_record_size = min(max_record_size, buffer_memory)
        self._mutex = Mutex()
        self.admission = Admission(self.budget, self._mutex)
        """Whether records are taken."""
        self._batches = OpenBatches(
            batch_size=batch_size,
            linger=linger,
            budget=self.budget,
            new_builder=new_builder,
            is_adaptive=is_adaptive,
            clock=clock,
            random=random,
            engine=engine,
        )
        self.topics = self._batches.topics
        self.drain = BatchDrain(self._batches, self._mutex)
        """The sender's side."""
        self.waits = BufferWaits(self._batches, self._mutex, self.wake)
        """For callers that wait for room, or for a flush."""

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
        get in line for ``room`` by :attr:`waits`, and come again.
        """
        size = record_size(key, value, headers)
        if size > self._max_record_size:
            self.check_size(topic.name, size)
        self._mutex.check()
        try:
            try:
                self._mutex.acquire()
                self._check(room)
                has_room = room is not None and room.is_granted
                if topic.is_forgotten or not (has_room or self.budget.has_room(size)):
                    return None
                delivery = self._batches.append(
                    topic, partition, timestamp, key, value, headers, size, room
                )
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
    ) -> RowSpan | None:
        """Fill one batch with records of ``source`` from ``start`` on, and return where they are.

        None means that the buffer is full: get in line for ``room`` of :attr:`bulk_size`.
        """
        self._mutex.check()
        try:
            try:
                self._mutex.acquire()
                self._check(room)
                has_room = room is not None and room.is_granted
                if topic.is_forgotten or not (has_room or self.budget.has_room(self.bulk_size)):
                    return None
                span = self._batches.fill(topic, partition, source, start)
            finally:
                self._mutex.release()
            self._wake_if_due()
        except BaseException:
            self._wake_if_due()
            raise
        if room is not None and room.is_granted:
            self.waits.cancel_room(room)  # what it took is charged record by record
        return span

    def _check(self, room: RoomRequest | None) -> None:
        """Raise why a record is not taken. With the lock."""
        admission = self.admission
        if admission.refusal is not None:
            raise copy_to_raise(admission.refusal)
        if room is not None:
            admission.check_term(room.term)

    def check_size(self, topic: str, size: int) -> None:
        """Raise :class:`RecordTooLargeError` if a record of ``size`` bytes can never be sent."""
        if size <= self._max_record_size:
            return
        is_buffer = self._max_record_size == self.budget.total
        limit = "buffer_memory" if is_buffer else "max_request_size"
        error = RecordTooLargeError(
            f"a record of {size} bytes for topic {topic!r} exceeds "
            f"{limit}={self._max_record_size}; raise the limit (also the topic's "
            "max.message.bytes), or split the record",
            topic=topic,
        )
        self.admission.failed(error, self.admission.term)
        raise error

    def check_thread(self) -> None:
        """Raise ``RuntimeError`` if this thread is in the middle of a call to the accumulator."""
        self._mutex.check()

    def choose_partition(self, topic: TopicBatches) -> int:
        """Return the partition of ``topic`` that is being filled with records without a key."""
        self._mutex.check()
        try:
            self._mutex.acquire()
            return self._batches.sticky_partition(topic)
        finally:
            self._mutex.release()

    def wake(self) -> None:
        """Wake the sender if it has to learn of records that were appended without waking it."""
        self._wake_if_due()

    def _wake_if_due(self) -> None:
        """Wake the sender if it has to learn of something. Without the lock."""
        batches = self._batches
        if batches.must_wake:
            batches.must_wake = False  # first: later changes set it again
            try:
                self.wakeup()
            except BaseException:
                batches.must_wake = True
                raise

    def refuse_after_fork(self, error: KafkaError) -> None:
        """Raise in a forked child, where the thread that holds the lock may not exist."""
        self._mutex = self.drain.mutex = self.waits.mutex = self.admission.mutex = Mutex()
        self.admission.refusal, self.admission.is_ended = error, True
        unknown = copy_to_raise(error)
        unknown.definite = False  # the parent goes on with it
        for batch in self._batches.unfinished:
            batch.result.abandon(unknown, batch.count)

    def forget_idle(self, used_before: float) -> list[str]:
        """Forget topics without a record since then, and return them."""
        self._mutex.check()
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
        """Apply the metadata of a topic and return its batches."""
        self._mutex.check()
        try:
            self._mutex.acquire()
            return self._batches.update_topic(name, partition_count, available)
        finally:
            self._mutex.release()

    def lacks(self, topic: str, partition: int | None) -> bool:
        """Return whether metadata has to come before a record can be appended."""
        batches = self.topics.get(topic)
        return batches is None or (partition is not None and partition >= batches.partition_count)

    def has_records_for(self, topic: str) -> bool:
        """Return whether records of a topic are not settled yet."""
        batches = self.topics.get(topic)
        return batches is not None and any(batches.loads)
