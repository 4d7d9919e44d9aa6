"""The asyncio producer."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from pyk.clients import offsets as offset_types
from pyk.clients import producer
from pyk.clients.arguments import checked_timeout
from pyk.clients.config import ProducerConfig
from pyk.clients.engine.context import EXIT_SECONDS, AsyncContext
from pyk.clients.engine.environment import ClientEnvironment
from pyk.clients.engine.steps import run_awaited
from pyk.clients.payload import K, V
from pyk.clients.producer.arguments import HeadersLike
from pyk.clients.producer.batching.delivery import Delivery, RecordMetadata
from pyk.clients.producer.batching.waits import Steps
from pyk.clients.producer.faces.core import ProducerCore
from pyk.clients.producer.faces.face import ProducerFace
from pyk.clients.producer.faces.record import WaitingRecord
from pyk.clients.producer.faces.send_path import AsyncSendPath, OnDelivery
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

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

    async def send_batch(self, topic: str, records: Iterable[Any]) -> producer.BatchDelivery:
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

        Without a limit of its own it ends with ``delivery_timeout_ms`` at the latest. An open
        transaction is aborted; without a ``timeout`` that is tried for ``request_timeout_ms``, and
        a commit that was called before is waited for as long as ``max_block_ms``. A second call
        waits for the first.
        """
        await self._core.close(checked_timeout(timeout))

    async def partitions_for(self, topic: str, timeout: float | None = None) -> set[int]:
        """Return the numbers of a topic's partitions; waits for metadata (``max_block_ms``)."""
        return await self._core.send_waits.partitions_for(topic, checked_timeout(timeout))

    # -- transactions ------------------------------------------------------------------------------

    async def init_transactions(
        self, timeout: float | None = None, *, keep_prepared_txn: bool = False
    ) -> producer.PreparedTransaction | None:
        """Get the producer id of ``transactional_id``; abort what an earlier producer left open.

        Connecting does it, so entering the context manager does: a second call returns at once.
        Raises :class:`KafkaTimeoutError` after ``timeout`` seconds (``max_block_ms``), as all calls
        about transactions do: the call goes on, and made again it waits on.

        With ``keep_prepared_txn`` what was left open stays, and is returned (None if nothing was):
        :meth:`complete_transaction` ends it, before anything else. That call comes before all
        others. It needs ``transaction_two_phase_commit_enable``, and raises
        :class:`UnsupportedVersionError` on brokers without that (KIP-939).
        """
        limit = checked_timeout(timeout)
        return await self._core.init_transactions(limit, keeps_prepared=keep_prepared_txn)

    async def begin_transaction(self, timeout: float | None = None) -> None:
        """Begin a transaction: what is sent from now on becomes visible with its commit.

        Raises :class:`StateError` inside of a transaction, and :class:`ProducerFencedError` if
        another producer with this ``transactional_id`` has taken over.
        """
        await self._core.transactions.begin(checked_timeout(timeout))

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group_metadata: offset_types.ConsumerGroupMetadata,
        timeout: float | None = None,
    ) -> None:
        """Commit offsets of a group with the transaction: of the *next* record in each partition.

        ``group_metadata`` is ``consumer.group_metadata()``: a group that has given the consumer's
        partitions to another member refuses (KIP-447). Raises :class:`TransactionAbortableError`.
        """
        from pyk.clients.producer.transactions.offsets import checked_group, offsets_of

        await self._core.transactions.send_offsets(
            offsets_of(offsets), checked_group(group_metadata), checked_timeout(timeout)
        )

    async def commit_transaction(self, timeout: float | None = None) -> None:
        """Wait until all records of the transaction are written, and commit it.

        Raises :class:`TransactionAbortableError` if one of them failed: call
        :meth:`abort_transaction`. After a :class:`KafkaTimeoutError` the outcome is open: call it
        again.
        """
        await self._core.transactions.commit(checked_timeout(timeout))

    async def abort_transaction(self, timeout: float | None = None) -> None:
        """Abort the transaction: no reader with ``read_committed`` sees a record of it.

        Records that were not sent yet fail with :class:`TransactionAbortedError`.
        """
        await self._core.transactions.abort(checked_timeout(timeout))

    async def prepare_transaction(
        self, timeout: float | None = None
    ) -> producer.PreparedTransaction:
        """Write all records of the transaction, and return what any process needs to end it.

        The transaction stays open: :meth:`complete_transaction` ends it.
        """
        return await self._core.transactions.prepare(checked_timeout(timeout))

    async def complete_transaction(
        self,
        prepared: producer.PreparedTransaction,
        *,
        commit: bool = True,
        timeout: float | None = None,
    ) -> None:
        """End a prepared transaction, perhaps that of a producer in another process.

        Ending it again in the same way is harmless. Raises :class:`PreparedTransactionEndedError`
        if it was ended otherwise (it timed out, or somebody else has ended it), or if it has ended
        and its producer has gone on with another transaction.
        """
        await self._core.complete_transaction(prepared, commit, checked_timeout(timeout))

    def transaction(self, *consumers: producer.ReadingClient) -> producer.AsyncTransaction:
        """Return a context manager: begin, commit at the end, abort after an exception.

        What it gives has ``send_offsets(consumer)``. After an abort, these consumers and those of
        ``send_offsets`` read again what was not committed.
        """
        return producer.AsyncTransaction(self._core, consumers)

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
        return await run_awaited(steps, self._core.send_waits.wait)
