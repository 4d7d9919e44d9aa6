"""The blocking producer."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from pyk.clients import offsets as offset_types
from pyk.clients import producer
from pyk.clients.arguments import checked_timeout
from pyk.clients.config import ProducerConfig
from pyk.clients.engine.context import EXIT_SECONDS, BlockingContext
from pyk.clients.engine.environment import ClientEnvironment
from pyk.clients.engine.steps import run
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import ClosedError, KafkaTimeoutError, StateError
from pyk.clients.interpreter import check_interpreter
from pyk.clients.payload import K, V
from pyk.clients.producer.arguments import HeadersLike
from pyk.clients.producer.batching.delivery import Delivery, RecordMetadata
from pyk.clients.producer.batching.waits import MetadataWait, Steps, Wait
from pyk.clients.producer.faces.core import CLOSE_SECONDS, CLOSED, ProducerCore
from pyk.clients.producer.faces.face import ProducerFace
from pyk.clients.producer.faces.record import WaitingRecord
from pyk.clients.producer.faces.send_path import BlockingSendPath, OnDelivery
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

R = TypeVar("R")

log = logging.getLogger(__name__)

# A wait has its own timeout; this is for a loop that a callback of the user holds up.
GRACE_SECONDS = 0.05
# The same for ``close``, whose last steps begin when its time is over.
CLOSING_GRACE_SECONDS = 0.3


class Producer(ProducerFace[K, V], BlockingSendPath, BlockingContext):
    """Writes records to topics; :class:`AsyncProducer` is its asyncio twin.

    Any number of threads may share one. Delivery callbacks run on the producer's own thread, or
    inside calls that wait for the producer, such as ``flush`` and ``result``, never inside
    ``send``, ``send_batch`` or ``add_done_callback``: so they may take locks that are held around
    these. They must not call methods that wait (``flush``, ``close``, ``result``).
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
            ...

    def send_batch(self, topic: str, records: Iterable[Any]) -> producer.BatchDelivery:
        """Put many records into the buffer and return the outcome of all, and of each.

        ``records`` are values, ``(key, value)`` tuples or mappings of ``send``'s arguments, or an
        Arrow table with the columns ``value`` and, if need be, ``key``, ``headers``, ``partition``
        and ``timestamp``, whose keys and values bypass the serializers. In each partition the
        records keep their order. Waits like :meth:`send`; if it waits too long, the records that
        found no room fail in the result.
        """
        return self._run(self._core.batch_send.steps(topic, records))

    def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, otherwise the first ``send``.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``request_timeout_ms``).
        """
        self._thread.call(self._core.start(checked_timeout(timeout)))

    def flush(self, timeout: float | None = None) -> None:
        """Wait until all records that were sent so far are delivered or have failed.

        Raises :class:`KafkaTimeoutError` after ``timeout`` seconds; the producer goes on.
        """
        limit = checked_timeout(timeout)
        patience = None if limit is None else limit + GRACE_SECONDS
        self._thread.call(self._core.flush(limit), patience)

    def close(self, timeout: float | None = None) -> None:
        """Deliver all records, then end; those not settled within ``timeout`` seconds fail.

        Without a limit of its own it ends with ``delivery_timeout_ms`` at the latest. An open
        transaction is aborted; without a ``timeout`` that is tried for ``request_timeout_ms``, and
        a commit that was called before is waited for as long as ``max_block_ms``. A second call
        waits for the first. The end of the program closes a producer that is still open, and waits
        5 seconds for it. Raises :class:`StateError` inside a delivery callback, without closing.
        """
        _close(self._core, self._thread, checked_timeout(timeout))

    def partitions_for(self, topic: str, timeout: float | None = None) -> set[int]:
        """Return the numbers of a topic's partitions; waits for metadata (``max_block_ms``)."""
        waits = self._core.send_waits
        return self._thread.call(waits.partitions_for(topic, checked_timeout(timeout)))

    # -- transactions ------------------------------------------------------------------------------

    def init_transactions(
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
        call = self._core.init_transactions(limit, keeps_prepared=keep_prepared_txn)
        return self._thread.call(call)

    def begin_transaction(self, timeout: float | None = None) -> None:
        """Begin a transaction: what is sent from now on becomes visible with its commit.

        Raises :class:`StateError` inside of a transaction, and :class:`ProducerFencedError` if
        another producer with this ``transactional_id`` has taken over.
        """
        self._thread.call(self._core.transactions.begin(checked_timeout(timeout)))

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group_metadata: offset_types.ConsumerGroupMetadata,
        timeout: float | None = None,
    ) -> None:
        """Commit offsets of a group with the transaction: of the *next* record in each partition.

        ``group_metadata`` is ``consumer.group_metadata()``: a group that has given the consumer's
        partitions to another member refuses (KIP-447). Raises :class:`TransactionAbortableError`.
        """
        check_interpreter("a client cannot be used")
        from pyk.clients.producer.transactions.offsets import checked_group, offsets_of

        self._thread.call(
            self._core.transactions.send_offsets(
                offsets_of(offsets), checked_group(group_metadata), checked_timeout(timeout)
            )
        )

    def commit_transaction(self, timeout: float | None = None) -> None:
        """Wait until all records of the transaction are written, and commit it.

        Raises :class:`TransactionAbortableError` if one of them failed: call
        :meth:`abort_transaction`. After a :class:`KafkaTimeoutError` the outcome is open: call it
        again.
        """
        self._thread.call(self._core.transactions.commit(checked_timeout(timeout)))

    def abort_transaction(self, timeout: float | None = None) -> None:
        """Abort the transaction: no reader with ``read_committed`` sees a record of it.

        Records that were not sent yet fail with :class:`TransactionAbortedError`.
        """
        self._thread.call(self._core.transactions.abort(checked_timeout(timeout)))

    def prepare_transaction(self, timeout: float | None = None) -> producer.PreparedTransaction:
        """Write all records of the transaction, and return what any process needs to end it.

        The transaction stays open: :meth:`complete_transaction` ends it.
        """
        return self._thread.call(self._core.transactions.prepare(checked_timeout(timeout)))

    def complete_transaction(
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
        limit = checked_timeout(timeout)
        self._thread.call(self._core.complete_transaction(prepared, commit, limit))

    def transaction(self, *consumers: producer.ReadingClient) -> producer.Transaction:
        """Return a context manager: begin, commit at the end, abort after an exception.

        What it gives has ``send_offsets(consumer)``. After an abort, these consumers and those of
        ``send_offsets`` read again what was not committed.
        """
        check_interpreter("a client cannot be used")
        return producer.Transaction(self._core, self._thread, consumers)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; after an error of the application within 5 seconds, so that the error shows
        soon."""
        self.close(None if kind is None else EXIT_SECONDS)

    def __del__(self) -> None:
        """Deliver the remaining records in the background, and end."""
        core = getattr(self, "_core", None)
        if core is None or self._thread.is_closed or self._thread.guard.is_forked:
            return
        core.warn_unclosed()
        if not sys.is_finalizing():
            self._thread.end_after(core.close)

    def _set_up(self, config: ProducerConfig, **environment: Unpack[ClientEnvironment]) -> None:
        thread = LoopThread("producer")
        core = ProducerCore(config, name=config.name_of(self), thread=thread, **environment)
        BlockingSendPath.__init__(
            self,
            core.accumulator,
            key_serializer=config.key_serializer,
            value_serializer=config.value_serializer,
            partitioner=config.partitioner,
            clock=core.client.clock,
        )
        # Neither may refer to the producer, or one that is dropped would stay for ever.
        thread.at_exit = functools.partial(_close, core, thread, EXIT_SECONDS)
        thread.at_end = core.abort
        # The handler of a signal may wait in the middle of a send, whose lock the loop needs.
        thread.at_wait = core.accumulator.check_thread
        self._thread = thread
        self._core = core

    def _send_slowly(self, record: WaitingRecord) -> Delivery:
        return self._run(self._core.record_send.steps(self._append_waiting, record))

    def _run(self, steps: Steps[R]) -> R:
        return run(steps, self._wait)

    def _wait(self, step: Wait) -> None:
        """Wait without driving: the application may hold locks around ``send`` that its callbacks
        take."""
        core, thread = self._core, self._thread
        seconds = step.deadline - core.client.clock.now()
        if isinstance(step, MetadataWait):
            finding = core.send_waits.find(step)
            thread.call(finding, max(0.0, seconds) + GRACE_SECONDS, may_drive=False)
            return
        if thread.is_here():
            raise StateError(
                "the buffer is full, and a callback that waits for room keeps the producer from "
                "making any: send from another thread, or raise buffer_memory"
            )
        granted = thread.new_waiter()
        core.accumulator.waits.request_room(step.room, granted.set)
        if not thread.wait_aside(granted, seconds):
            raise core.send_waits.exhausted()


def _close(core: ProducerCore, thread: LoopThread, timeout: float | None) -> None:
    """Deliver all records, then end the thread; every record is settled in any case."""
    if thread.guard.is_forked or thread.has_ended:
        return
    thread.check_caller()
    if thread.loop is None:  # it never began
        core.end(ClosedError(CLOSED))
        thread.close()
        return
    patience = CLOSE_SECONDS
    limit = None if timeout is None else timeout + CLOSING_GRACE_SECONDS
    try:
        thread.call(core.close(timeout), limit)
    except KafkaTimeoutError as error:
        patience = GRACE_SECONDS
        log.warning("Ending a producer whose thread is held up by a callback: %s", error)
    except StateError:
        log.debug("The producer was ended while it was being closed")
    finally:
        core.refuse(CLOSED)
        thread.close(patience)
