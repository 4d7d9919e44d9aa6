"""The asyncio producer."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from pyk.clients.arguments import checked_timeout
from pyk.clients.config import ProducerConfig
from pyk.clients.engine.context import AsyncContext
from pyk.clients.engine.environment import ClientEnvironment
from pyk.clients.engine.steps import run_awaited
from pyk.clients.payload import K, V
from pyk.clients.producer.arguments import HeadersLike
from pyk.clients.producer.batching.delivery import Delivery, RecordMetadata
from pyk.clients.producer.batching.waits import Steps
from pyk.clients.producer.bulk.batch_delivery import BatchDelivery
from pyk.clients.producer.faces.core import EXIT_SECONDS, ProducerCore
from pyk.clients.producer.faces.face import ProducerFace
from pyk.clients.producer.faces.record import WaitingRecord
from pyk.clients.producer.faces.send_path import AsyncSendPath, OnDelivery

R = TypeVar("R")


class AsyncProducer(ProducerFace[K, V], AsyncSendPath, AsyncContext):
    """Writes records to topics.

    ``await producer.send(…)`` puts a record into the buffer, waiting only while that is full or the
    topic is not known yet, and returns a :class:`Delivery`; ``await delivery`` returns where the
    record was written. Options are Kafka's, with ``_`` for ``.``; the table is
    :class:`~pyk.clients.config.ProducerConfig`.

    Use it on one event loop only. Tests can replace ``clock``, ``network`` and ``random``.
    """

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
        ) -> Awaitable[Delivery]:
            """Put a record into the buffer; awaiting it returns the :class:`Delivery`.

            Awaits room in the buffer and the topic's metadata, at most ``max_block_ms`` together:
            :class:`BufferExhaustedError` or :class:`KafkaTimeoutError`. ``timestamp_ms``
            (milliseconds since 1970) is the wall clock if it is not given. ``on_delivery`` is
            called with the delivery once its outcome is known.
            """
            ...

    async def send_and_wait(
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
        sent = self._send_now(topic, value, key, partition, headers, timestamp_ms)
        delivery: Delivery = sent if type(sent) is Delivery else await sent
        return await delivery

    async def send_batch(self, topic: str, records: Iterable[Any]) -> BatchDelivery:
        """Put many records into the buffer and return the outcome of all, and of each.

        ``records`` are values, ``(key, value)`` tuples or mappings of ``send``'s arguments, or an
        Arrow table with the columns ``value`` and, if need be, ``key``, ``headers``, ``partition``
        and ``timestamp``, whose keys and values bypass the serializers. In each partition the
        records keep their order. Waits like :meth:`send`; if it waits too long, the records that
        found no room fail in the result.
        """
        return await self._run(self._core.batch_send.steps(topic, records))

    async def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, otherwise the first ``send``.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``request_timeout_ms``).
        """
        await self._core.start(checked_timeout(timeout))

    async def flush(self, timeout: float | None = None) -> None:
        """Wait until all records that were sent so far are delivered or have failed.

        Raises :class:`KafkaTimeoutError` after ``timeout`` seconds; the producer goes on.
        """
        await self._core.flush(checked_timeout(timeout))

    async def close(self, timeout: float | None = None) -> None:
        """Deliver all records, then end; those not settled within ``timeout`` seconds fail.

        Without a limit of its own it ends with ``delivery_timeout_ms`` at the latest. A second call
        waits for the first.
        """
        await self._core.close(checked_timeout(timeout))

    async def partitions_for(self, topic: str, timeout: float | None = None) -> set[int]:
        """Return the numbers of a topic's partitions; waits for metadata (``max_block_ms``)."""
        return await self._core.partitions_for(topic, checked_timeout(timeout))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; after an error of the application within 5 seconds, so that the error shows
        soon."""
        await self.close(None if kind is None else EXIT_SECONDS)

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None:
            core.warn_unclosed()

    def _set_up(self, config: ProducerConfig, **environment: Unpack[ClientEnvironment]) -> None:
        core = ProducerCore(config, name=config.name_of(self), **environment)
        AsyncSendPath.__init__(
            self,
            core.accumulator,
            key_serializer=config.key_serializer,
            value_serializer=config.value_serializer,
            partitioner=config.partitioner,
            clock=core.client.clock,
            own_loop=core.own_loop,
        )
        self._core = core

    async def _send_slowly(self, record: WaitingRecord) -> Delivery:
        return await self._run(self._core.record_send.steps(self._append_waiting, record))

    async def _and_call(self, sending: Awaitable[Delivery], on_delivery: OnDelivery) -> Delivery:
        delivery = await sending
        delivery.add_done_callback(on_delivery)
        return delivery

    # What Python's warning about a forgotten await names.
    _send_slowly.__qualname__ = _and_call.__qualname__ = "AsyncProducer.send"

    async def _run(self, steps: Steps[R]) -> R:
        self._core.client.check_place()
        return await run_awaited(steps, self._core.wait)
