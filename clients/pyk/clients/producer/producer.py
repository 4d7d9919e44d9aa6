"""The blocking producer."""

from __future__ import annotations

import logging
import os
import random as randomness
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, Unpack

from pyk.clients.arguments import checked_timeout
from pyk.clients.config import ProducerConfig, ProducerOptions
from pyk.clients.config.signature import with_options_of
from pyk.clients.engine.context import BlockingContext
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import KafkaError, KafkaTimeoutError, StateError
from pyk.clients.payload import K, V
from pyk.clients.producer.batch_delivery import BatchDelivery
from pyk.clients.producer.batch_send import RoomWait, send_records
from pyk.clients.producer.budget import RoomRequest
from pyk.clients.producer.core import CLOSE_SECONDS, EXIT_SECONDS, ProducerCore
from pyk.clients.producer.delivery import Delivery, RecordMetadata
from pyk.clients.producer.record import WaitingRecord
from pyk.clients.producer.send_path import BlockingSendPath, HeadersLike, OnDelivery
from pyk.clients.producer.stats import ProducerStats
from pyk.protocol.io import Clock, Network

log = logging.getLogger(__name__)

# A wait keeps its own time; this is for a loop that a user's callback holds up.
GRACE_SECONDS = 0.5


@with_options_of(ProducerConfig, ProducerOptions)
class Producer(BlockingSendPath, BlockingContext, Generic[K, V]):
    """Writes records to topics; :class:`AsyncProducer` is the same, awaited.

    Any number of threads may share one. Delivery callbacks run on the producer's own thread, or
    inside ``flush``, ``result`` and the like of whoever waits for the producer, never inside
    ``send``. They must not call what waits (``flush``, ``close``, ``result``).
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] | None = None,
        *,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
        **options: Unpack[ProducerOptions],
    ) -> None:
        """Check the options; nothing is connected yet.

        Raises :class:`ConfigurationError` for an option that is unknown or out of range.
        ``clock``, ``network`` and ``random`` are ways to the world, for tests.
        """
        config = ProducerConfig.from_kwargs(bootstrap_servers, **options)
        self._set_up(config, clock, network, random)

    @classmethod
    def from_properties(
        cls,
        source: str | os.PathLike[str] | Mapping[str, object],
        /,
        **overrides: Unpack[ProducerOptions],
    ) -> Self:
        """Return a producer configured by Kafka's dotted names, from a file or a mapping."""
        producer = cls.__new__(cls)
        producer._set_up(ProducerConfig.from_properties(source, **overrides))
        return producer

    if TYPE_CHECKING:

        def send(
            self,
            topic: str,
            value: V | None = None,
            key: K | None = None,
            *,
            partition: int | None = None,
            headers: HeadersLike | None = None,
            timestamp_ms: int | None = None,
            on_delivery: OnDelivery | None = None,
        ) -> Delivery:
            """Put a record into the buffer and return its :class:`Delivery`.

            Waits for room in the buffer and for the topic's metadata, at most ``max_block_ms``
            together: :class:`BufferExhaustedError` or :class:`KafkaTimeoutError`. ``timestamp_ms``
            (milliseconds since 1970) is the wall clock if it is not given. ``on_delivery`` is
            called with the delivery once its outcome is known, on the producer's own thread.
            """
            ...

    def send_and_wait(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        *,
        partition: int | None = None,
        headers: HeadersLike | None = None,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        """Send a record, wait until it is written, and return where."""
        return self.send(
            topic, value, key, partition=partition, headers=headers, timestamp_ms=timestamp_ms
        ).result()

    def send_batch(self, topic: str, records: Iterable[Any]) -> BatchDelivery:
        """Put many records into the buffer and return the fate of all, and of each.

        ``records`` are values, ``(key, value)`` tuples or mappings of ``send``'s arguments, or an
        Arrow table with the columns ``value`` and, if need be, ``key``, ``headers``, ``partition``
        and ``timestamp``, whose keys and values pass by the serializers. In each partition the
        records keep their order. Waits like :meth:`send`; if it waits too long, the records that
        found no room fail in the result.
        """
        core = self._core
        steps = send_records(core, topic, records)
        try:
            step = next(steps)
            while True:
                deadline = core.client.clock.now() + core.max_block
                try:
                    if isinstance(step, RoomWait):
                        room: RoomRequest | None = self._room(step.size, deadline)
                    else:
                        self._thread.call(core.find(step.topic, step.partition, deadline))
                        room = None
                except KafkaError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(room)
        except StopIteration as end:
            deliveries: BatchDelivery = end.value
            return deliveries

    def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, else the first ``send``.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``request_timeout_ms``).
        """
        self._thread.call(self._core.start(timeout))

    def flush(self, timeout: float | None = None) -> None:
        """Wait until what was sent so far is delivered or has failed.

        Raises :class:`KafkaTimeoutError` after ``timeout`` seconds; the producer goes on.
        """
        patience = _with_grace(timeout)  # Raises before there is a coroutine to leave behind.
        self._thread.call(self._core.flush(timeout), patience)

    def close(self, timeout: float | None = None) -> None:
        """Deliver what was sent, then end; what is not settled in ``timeout`` seconds is given up.

        Without a limit of its own it ends with ``delivery_timeout_ms`` at the latest. The end of
        the program closes what was forgotten, and waits 5 seconds for it.
        """
        if self._thread.guard.is_forked or self._core.is_closed:
            return
        patience = CLOSE_SECONDS
        try:
            self._thread.call(self._core.close(timeout), _with_grace(timeout))
        except KafkaTimeoutError as error:
            patience = GRACE_SECONDS
            log.warning("Ending a producer whose thread is held up by a callback: %s", error)
        finally:
            self._thread.close(patience)

    def partitions_for(self, topic: str, timeout: float | None = None) -> set[int]:
        """Return the numbers of a topic's partitions; waits for metadata (``max_block_ms``)."""
        return self._thread.call(self._core.partitions_for(topic, timeout))

    def stats(self) -> ProducerStats:
        """Return how the producer stands at this moment."""
        return self._core.stats()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; after an error of the application in 5 seconds at most, so that it shows soon."""
        self.close(None if kind is None else EXIT_SECONDS)

    def __repr__(self) -> str:
        return self._core.config.name_of(self)

    def _set_up(
        self,
        config: ProducerConfig,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
    ) -> None:
        self._thread = LoopThread("producer", at_exit=self._close_at_exit)
        core = ProducerCore(
            config,
            name=config.name_of(self),
            thread=self._thread,
            clock=clock,
            network=network,
            random=random,
        )
        super().__init__(
            core.accumulator,
            key_serializer=config.key_serializer,
            value_serializer=config.value_serializer,
            partitioner=config.partitioner,
            clock=core.client.clock,
        )
        self._core = core

    def _close_at_exit(self) -> None:
        """Deliver what is left by a program that ends without closing its producer."""
        self.close(EXIT_SECONDS)

    def _send_slowly(self, record: WaitingRecord) -> Delivery:
        core, room = self._core, None
        deadline = core.client.clock.now() + core.max_block
        try:
            while True:
                delivery = self._append_waiting(record, room)
                if delivery is not None:
                    room = None
                    return delivery
                if core.lacks(record.topic, record.partition):
                    self._thread.call(core.find(record.topic, record.partition, deadline))
                elif room is None:
                    room = self._room(record.size, deadline)
        finally:
            if room is not None:
                core.accumulator.cancel_room(room)

    def _room(self, size: int, deadline: float) -> RoomRequest:
        """Wait in line for room in the buffer, on this thread."""
        accumulator = self._core.accumulator
        if self._thread.is_here():
            raise StateError(
                "the buffer is full, and a callback that waits for room keeps the producer from "
                "making any: send from another thread, or raise buffer_memory"
            )
        turn = self._thread.new_waiter()
        room = accumulator.request_room(size, turn.set)
        try:
            is_in_time = turn.wait(deadline - self._core.client.clock.now())
        except BaseException:
            accumulator.cancel_room(room)
            raise
        if not is_in_time:
            accumulator.cancel_room(room)
            raise self._core.exhausted()
        return room


def _with_grace(timeout: float | None) -> float | None:
    seconds = checked_timeout(timeout)
    return None if seconds is None else seconds + GRACE_SECONDS
