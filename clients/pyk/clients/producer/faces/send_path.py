"""``send``, up to the accumulator: the part of a producer that runs once per record.

These are the base classes of the producers. Compiled, ``send`` is a method of a C class: a Python
method around it would double its cost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

from pyk.clients.engine.waiter import LoopOfCaller
from pyk.clients.producer.arguments import (
    NO_HEADERS,
    Headers,
    HeadersLike,
    as_bytes,
    as_headers,
    as_partition,
    as_topic,
    check_callback,
    serialized,
)
from pyk.clients.producer.batching.accumulator import RecordAccumulator
from pyk.clients.producer.batching.budget import RoomRequest
from pyk.clients.producer.batching.delivery import Delivery, RecordMetadata
from pyk.clients.producer.batching.partitioner import Partitioner, choose_partition
from pyk.clients.producer.batching.topic_batches import TopicBatches
from pyk.clients.producer.faces.record import WaitingRecord
from pyk.clients.timestamps import milliseconds
from pyk.protocol.records.murmur2 import partition_for_key
from pyk.runtime.clock import Clock
from pyk.runtime.system_clock import SystemClock

OnDelivery = Callable[[Delivery], object]
"""Called with the delivery once its outcome is known, as by ``Delivery.add_done_callback``."""

YIELD_EVERY = 256


class SendPath:
    """The ``send`` of both producers. They implement ``_send_slowly``: wait, then append."""

    def __init__(
        self,
        accumulator: RecordAccumulator,
        *,
        key_serializer: Any,
        value_serializer: Any,
        partitioner: Partitioner | None,
        clock: Clock,
        own_loop: LoopOfCaller | None = None,
    ) -> None:
        self._accumulator = accumulator
        self._topics = accumulator.topics
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer
        self._serializes = key_serializer is not None or value_serializer is not None
        self._partitioner = partitioner
        self._clock = clock
        # For an asyncio producer: on another loop, appended records would never be sent.
        self._own_loop = own_loop
        # Known by its type, it is asked without a Python call.
        self._system_clock = clock if isinstance(clock, SystemClock) else None

    def _send(  # noqa: PLR0917 - here and below: keywords would cost a tenth of the call
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        headers: HeadersLike | None,
        timestamp_ms: int | None,
        wakes: bool = True,
    ) -> Any:
        """Append a record, or leave it to ``_send_slowly``; return what either returns.

        Without ``wakes`` the caller wakes the sender afterwards, whatever happens.
        """
        if type(topic) is not str:
            topic = as_topic(topic)
        if partition is not None:
            partition = as_partition(partition)
        if self._serializes:
            key = serialized(self._key_serializer, topic, key, "key")
            value = serialized(self._value_serializer, topic, value, "value")
        if key is not None and type(key) is not bytes:
            key = as_bytes(key, "key")
        if value is not None and type(value) is not bytes:
            value = as_bytes(value, "value")
        given = NO_HEADERS if headers is None else as_headers(headers)
        timestamp = (
            self._now_ms() if timestamp_ms is None else milliseconds(timestamp_ms, "timestamp_ms")
        )
        delivery = None
        own_loop = self._own_loop
        if own_loop is None or own_loop.running() is own_loop.loop:
            delivery = self._append(topic, value, key, partition, given, timestamp, None, wakes)
        if delivery is None:
            term = self._accumulator.admission.term
            return self._send_slowly(
                WaitingRecord(topic, value, key, partition, given, timestamp, term)
            )
        return delivery

    def _append(  # noqa: PLR0917
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        headers: Headers,
        timestamp: int,
        room: RoomRequest | None = None,
        wakes: bool = True,
    ) -> Delivery | None:
        """Append at once; None if that has to wait for room or metadata."""
        batches = self._topics.get(topic)
        if batches is None:
            return None
        number = self._choose(batches, key, partition)
        if number >= batches.partition_count:
            return None
        return self._accumulator.append(
            batches, number, timestamp, key, value, headers, room, wakes
        )

    def _choose(self, batches: TopicBatches, key: bytes | None, partition: int | None) -> int:
        """Return the partition of a record, -1 for the one that is being filled."""
        if partition is not None:
            return partition
        if self._partitioner is not None:
            return choose_partition(self._partitioner, batches, key)
        if key is not None:
            return partition_for_key(key, batches.partition_count)
        return -1

    def _now_ms(self) -> int:
        if self._system_clock is not None:
            return self._system_clock.time_ms()
        return self._clock.time_ms()

    def _append_waiting(self, record: WaitingRecord, room: RoomRequest) -> Delivery | None:
        """Try again to append a record that had to wait."""
        return self._append(
            record.topic,
            record.value,
            record.key,
            record.partition,
            record.headers,
            record.timestamp,
            room,
        )

    def _send_slowly(self, record: WaitingRecord) -> Any:
        """Append the record once it can be; the producer knows how to wait."""
        raise NotImplementedError


class BlockingSendPath(SendPath):
    """``send`` and ``send_and_wait`` of :class:`~pyk.clients.Producer`."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._wake = self._accumulator.wake

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *,
        partition: int | None = None,
        headers: HeadersLike | None = None,
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Put a record into the buffer and return its :class:`Delivery`.

        Waits at most ``max_block_ms`` for room in the buffer and for the topic's metadata.
        """
        if on_delivery is not None:
            check_callback(on_delivery)
        delivery: Delivery = self._send(topic, value, key, partition, headers, timestamp_ms)
        if on_delivery is not None:
            delivery.add_done_callback(on_delivery)
        return delivery

    def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *,
        partition: int | None = None,
        headers: HeadersLike | None = None,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        """Send a record, wait until it is written, and return where."""
        try:
            # The sender is woken inside of the wait, which has the event loop by then.
            delivery: Delivery = self._send(
                topic, value, key, partition, headers, timestamp_ms, False
            )
            delivery._wait(None, self._wake)
            return delivery.result()
        finally:
            self._wake()  # for records that were not sent because of an error or a signal handler


class AsyncSendPath(SendPath):
    """``send`` of :class:`~pyk.clients.AsyncProducer`."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._sent = 0

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *,
        partition: int | None = None,
        headers: HeadersLike | None = None,
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Awaitable[Delivery]:
        """Put a record into the buffer and return its :class:`Delivery`, which may be awaited too.

        Waits at most ``max_block_ms`` for room in the buffer and for the topic's metadata.
        """
        return self._async_send(topic, value, key, partition, headers, timestamp_ms, on_delivery)

    def _send_now(  # noqa: PLR0917
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        headers: HeadersLike | None,
        timestamp_ms: int | None,
    ) -> Any:
        """Append a record and return its delivery, or a coroutine that waits and then does so.

        For callers that await the delivery at once, and so let other tasks run.
        """
        return self._send(topic, value, key, partition, headers, timestamp_ms)

    def _async_send(  # noqa: PLR0917
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        headers: HeadersLike | None,
        timestamp_ms: int | None,
        on_delivery: OnDelivery | None,
    ) -> Awaitable[Delivery]:
        if on_delivery is not None:
            check_callback(on_delivery)
        delivery = self._send(topic, value, key, partition, headers, timestamp_ms)
        if type(delivery) is not Delivery:
            waiting: Coroutine[Any, Any, Delivery] = delivery
            return waiting if on_delivery is None else self._and_call(waiting, on_delivery)
        if on_delivery is not None:
            delivery.add_done_callback(on_delivery)
        completed = CompletedSend.__new__(CompletedSend)
        completed._delivery = delivery
        # Otherwise a loop over send() would let no other task run until the buffer is full.
        self._sent += 1
        completed._must_yield = self._sent % YIELD_EVERY == 0
        return completed

    def _and_call(
        self, sending: Awaitable[Delivery], on_delivery: OnDelivery
    ) -> Coroutine[Any, Any, Delivery]:
        """Await a delivery, then add the callback; the producer is the coroutine's name."""
        raise NotImplementedError


class CompletedSend:
    """A ``send`` that is over already; awaiting it gives the delivery.

    It has all methods of a coroutine, so that it can be made a task.
    """

    __slots__ = ("_delivery", "_must_yield")

    _delivery: Delivery
    _must_yield: bool

    def __await__(self) -> Generator[Any, None, Delivery]:
        return self

    def __iter__(self) -> CompletedSend:
        return self

    def __next__(self) -> None:
        if self._must_yield:
            self._must_yield = False
            return
        raise StopIteration(self._delivery)

    def send(self, value: None) -> None:
        return self.__next__()

    def throw(self, *error: Any) -> None:
        raise error[1] if len(error) > 1 and error[1] is not None else error[0]

    def close(self) -> None:
        """Do nothing: the record is on its way."""
