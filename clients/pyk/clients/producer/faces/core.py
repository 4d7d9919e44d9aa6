"""A producer except for ``send``: it lives on one event loop, the caller's or a thread's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from typing import TYPE_CHECKING, Unpack

from pyk.clients.arguments import checked_timeout
from pyk.clients.config import ProducerConfig
from pyk.clients.engine.client import Client
from pyk.clients.engine.context import EXIT_SECONDS
from pyk.clients.engine.environment import ClientEnvironment
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.engine.thread import LoopThread
from pyk.clients.engine.waiter import Engine, LoopOfCaller
from pyk.clients.errors import (
    ClosedError,
    ConfigurationError,
    KafkaError,
    KafkaTimeoutError,
    StateError,
)
from pyk.clients.errors.advice import LEADERLESS
from pyk.clients.interpreter import imported_when_used
from pyk.clients.producer.batching.accumulator import RecordAccumulator
from pyk.clients.producer.faces.record import RecordSend
from pyk.clients.producer.faces.send_waits import SendWaits
from pyk.clients.producer.faces.stats import ProducerStats
from pyk.clients.producer.sending.identity import (
    IdempotentIdentity,
    IdentityPolicy,
    NoIdentity,
)
from pyk.clients.producer.sending.send_planner import SendPlanner, SendSettings
from pyk.clients.producer.sending.sender import Sender
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import because, counted
from pyk.protocol.records import Compression, UnsupportedCompressionError
from pyk.protocol.records.builder import BatchFormat

if TYPE_CHECKING:
    from pyk.clients.producer.bulk.batch_send import BatchSend
    from pyk.clients.producer.transactions.driver import TransactionDriver
    from pyk.clients.producer.transactions.prepared import PreparedTransaction

# How long ending tasks and connections may take, once nothing is left to send.
CLOSE_SECONDS = 5.0
LEAST_CLOSE_SECONDS = 0.25

CLOSED = "the producer is closed"
LOOP_ENDED = (
    "the event loop of the producer ended before it was closed; make one in each event loop"
)

log = logging.getLogger(__name__)


class ProducerCore:
    """The client, accumulator and sender of one producer.

    ``thread`` drives the loop if ``send`` runs on other threads; None if everything is called on
    the caller's loop.
    """

    def __init__(
        self,
        config: ProducerConfig,
        *,
        name: str,
        thread: LoopThread | None = None,
        **environment: Unpack[ClientEnvironment],
    ) -> None:
        self.config = config
        self.name = name
        self.client = Client(
            config,
            allow_auto_topic_creation=True,
            has_records_for=self._has_records_for,
            sends_records=True,
            **environment,
        )
        self._thread = thread
        self.own_loop = LoopOfCaller(self.client.guard)
        self.accumulator = self._accumulator(self.own_loop if thread is None else thread)
        self._transactions = self._make_transactions()
        self._planner = self._make_planner()
        self._sender = Sender(
            self.client, config, self.accumulator, self._planner, thread, self._transactions
        )
        if self._transactions is not None:
            self._transactions.connect(self._planner, self._sender)
        self.accumulator.wakeup = self._sender.wake_for_records
        self.send_waits = SendWaits(self.client, self.accumulator, config, self.start)
        self.record_send = RecordSend(
            self.accumulator, self.client.clock, self.send_waits.max_block
        )
        self.client.guard.on_fork = self.accumulator.refuse_after_fork
        self._is_told = False
        self._starting = asyncio.Lock()
        self._is_started = False
        self._has_ended = asyncio.Event()
        self.is_closed = False

    @imported_when_used
    def batch_send(self) -> BatchSend:
        from pyk.clients.producer.bulk.batch_send import BatchSend

        return BatchSend(
            self.accumulator, self.config, self.client.clock, self.send_waits.max_block
        )

    # -- life --------------------------------------------------------------------------------------

    async def start(self, timeout: float | None = None) -> None:
        """Connect, and get the producer id of transactions.

        Raises :class:`BootstrapError` if no server leads to the cluster.
        """
        deadline = None if timeout is None else self.client.clock.now() + timeout
        await self._connect(timeout)
        if self._transactions is not None:
            rest = None if deadline is None else max(0.0, deadline - self.client.clock.now())
            await self._transactions.initialize(rest)

    async def _connect(self, timeout: float | None) -> None:
        try:
            async with asyncio.timeout(timeout):
                await self._starting.acquire()
        except TimeoutError:
            raise KafkaTimeoutError(
                f"not connected within {timeout:g} s: another call is still connecting"
            ) from None
        try:
            await self._start(timeout)
        finally:
            self._starting.release()

    async def _start(self, timeout: float | None) -> None:
        if self._is_started:
            return
        await self.client.start(timeout)
        self.own_loop.start()
        self.client.metadata_keeper.add_listener(self._metadata_changed)
        self._sender.start()
        self._is_started = True
        if self._thread is None:
            from pyk.clients.engine.loop_end import when_loop_ends

            ending = when_loop_ends(lambda: self.is_closed, self._deliver_at_the_end)
            self.client.supervisor.spawn("deliver at the end", ending)

    async def flush(self, timeout: float | None = None) -> None:
        """Wait until every record that was accepted so far is settled, at most ``timeout`` s."""
        self.client.check_place()
        timeout = checked_timeout(timeout)
        settled = asyncio.Event()
        flush = self.accumulator.waits.begin_flush(settled.set)
        try:
            if flush.remaining:
                async with asyncio.timeout(timeout):
                    await settled.wait()
        except TimeoutError:
            raise KafkaTimeoutError(
                f"{counted(len(flush.remaining), 'batch', 'batches')} not settled after "
                f"{timeout} s; "
                "the producer goes on trying"
            ) from None
        finally:
            self.accumulator.waits.end_flush(flush)

    async def close(self, timeout: float | None = None, reason: str = CLOSED) -> None:
        """Accept nothing more, deliver what was accepted, end all connections.

        Records that are not settled after ``timeout`` seconds fail, and their deliveries say so.
        Later calls raise ``reason``. A second call waits for the first.
        """
        if self.client.guard.is_forked:
            return
        loop = self.own_loop.loop
        if loop is not None and loop.is_closed():
            self.end(ClosedError(LOOP_ENDED))
            return
        self.client.check_place()
        if self.is_closed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._has_ended.wait()
            return
        self.is_closed = True
        self.refuse(reason)
        deadline = None if timeout is None else self.client.clock.now() + timeout
        try:
            if self._is_started and self._transactions is not None:
                await self._transactions.close(timeout)
            if self._is_started:
                rest = None if deadline is None else max(0.0, deadline - self.client.clock.now())
                await self.flush(rest)
        except KafkaTimeoutError:
            pass
        finally:
            self.end()
            try:
                await self.client.close(self._closing_seconds(deadline))
            finally:
                self._has_ended.set()

    def refuse(self, reason: str) -> None:
        """Accept nothing more; any thread may call it."""
        self._refuse(ClosedError(reason))

    def _refuse(self, error: KafkaError) -> None:
        if not self.accumulator.admission.is_ended:
            self.accumulator.admission.refuse(error)

    def end(self, error: KafkaError | None = None) -> None:
        """Accept nothing more, and fail what is not settled. On the loop, or after its end."""
        self.is_closed = True
        error = error or ClosedError("the producer was closed before this was acknowledged")
        self._refuse(error)
        self._sender.stop(error)
        if self._transactions is not None:
            self._transactions.give_up()

    def abort(self, failure: StateError | None = None) -> None:
        """End at once, with the loop, which may have failed.

        After :meth:`close` there is nothing left to do.
        """
        self.end(failure)
        self.client.abort(failure)

    async def _deliver_at_the_end(self) -> None:
        """Close a producer that is still open when its event loop ends."""
        self.warn_unclosed()
        failed_before = self.stats().failed_records
        await self.close(EXIT_SECONDS, LOOP_ENDED)
        if failed := self.stats().failed_records - failed_before:
            log.error("%s not delivered: %s", counted(failed, "record"), LOOP_ENDED)

    def warn_unclosed(self) -> None:
        """Warn, once, of a producer that was not closed."""
        if self._is_told or self.is_closed or not self._is_started or self.client.guard.is_forked:
            return
        self._is_told = True
        count = self.accumulator.drain.unfinished_records
        left = f" with {counted(count, 'record')} not delivered yet" if count else ""
        warnings.warn(f"unclosed {self.name}{left}", ResourceWarning, source=self, stacklevel=2)
        if count:
            log.warning(
                "%s was not closed, and has %s left to deliver", self.name, counted(count, "record")
            )

    def __del__(self) -> None:
        if getattr(self, "is_closed", True) or self.client.guard.is_forked:
            return
        if count := self.accumulator.drain.unfinished_records:
            log.error("%s not delivered: %s", counted(count, "record"), LOOP_ENDED)

    def _closing_seconds(self, deadline: float | None) -> float:
        if deadline is None:
            return CLOSE_SECONDS
        return max(LEAST_CLOSE_SECONDS, deadline - self.client.clock.now())

    # -- metadata ----------------------------------------------------------------------------------

    def _metadata_changed(self, image: MetadataImage) -> None:
        self.send_waits.adopt(image)
        self._sender.use(image)

    def _has_records_for(self, topic: str) -> bool:
        return self.accumulator.has_records_for(topic)

    # -- transactions ------------------------------------------------------------------------------

    @property
    def transactions(self) -> TransactionDriver:
        """The transactions; raises :class:`StateError` if the producer has none."""
        if self._thread is None:
            self.client.check_place()
        if self.is_closed:
            raise ClosedError(CLOSED)
        if self._transactions is None:
            raise StateError("the producer has no transactions: give it a transactional_id")
        return self._transactions

    async def init_transactions(
        self, timeout: float | None, *, keeps_prepared: bool
    ) -> PreparedTransaction | None:
        """Connect, and get the producer id of transactions."""
        transactions, now = self.transactions, self.client.clock.now
        deadline = None if timeout is None else now() + timeout
        await self._connect(timeout)
        rest = None if deadline is None else max(0.0, deadline - now())
        return await transactions.initialize(rest, keeps_prepared=keeps_prepared)

    async def complete_transaction(
        self, prepared: PreparedTransaction, is_commit: bool, timeout: float | None
    ) -> None:
        """End a prepared transaction: the one of this producer, or that of another one."""
        from pyk.clients.producer.transactions.completion import complete_elsewhere
        from pyk.clients.producer.transactions.offsets import checked_prepared

        checked_prepared(prepared)
        own = self._transactions
        if own is not None and own.has_prepared(prepared):
            if not own.end.has_ended(is_commit=is_commit):
                await (own.commit(timeout) if is_commit else own.abort(timeout))
            return
        if prepared.is_empty:
            return
        if own is not None and own.state.transactional_id == prepared.transactional_id:
            raise StateError(
                f"{prepared.transactional_id!r} is the transactional_id of this producer, but it "
                "has not prepared this transaction: complete it with another producer"
            )
        await self._connect(timeout)
        seconds = self.send_waits.max_block if timeout is None else timeout
        await complete_elsewhere(self.client, prepared, is_commit, seconds)

    # -- the rest ----------------------------------------------------------------------------------

    def stats(self) -> ProducerStats:
        budget = self.accumulator.budget
        return ProducerStats(
            delivered_records=self._sender.delivered_records,
            failed_records=self._sender.failed_records,
            unfinished_batches=self.accumulator.drain.unfinished_batches,
            in_flight_requests=self._planner.in_flight_requests,
            throttled_nodes=self._throttled_nodes(),
            buffer_available_bytes=budget.available,
            buffer_total_bytes=budget.total,
        )

    def _throttled_nodes(self) -> int:
        now = self.client.clock.now()
        nodes = tuple(self.client.metadata.nodes)
        return sum(self.client.throttled_until(node_id) > now for node_id in nodes)

    def _accumulator(self, engine: Engine) -> RecordAccumulator:
        config, client = self.config, self.client
        compression, level = Compression(config.compression_type), config.compression_level
        try:
            batch_format = BatchFormat(
                compression, level, is_transactional=config.transactional_id is not None
            )
        except UnsupportedCompressionError as error:
            raise ConfigurationError(
                f"compression_type={config.compression_type}: {error}"
            ) from error
        return RecordAccumulator(
            batch_size=min(config.batch_size, config.max_request_size),
            linger=config.linger_ms / 1000,
            buffer_memory=config.buffer_memory,
            max_record_size=config.max_request_size,
            new_builder=batch_format.new_builder,
            is_adaptive=True,
            clock=client.clock,
            random=client.random,
            engine=engine,
        )

    def _make_transactions(self) -> TransactionDriver | None:
        transactional_id = self.config.transactional_id
        if transactional_id is None:
            return None
        from pyk.clients.producer.transactions.driver import TransactionDriver
        from pyk.clients.producer.transactions.state import TransactionState

        return TransactionDriver(
            TransactionState(transactional_id),
            self.client,
            self.config,
            self.accumulator,
            self.flush,
        )

    def _make_planner(self) -> SendPlanner:
        config = self.config
        identity: IdentityPolicy = NoIdentity()
        if self._transactions is not None:
            from pyk.clients.producer.transactions.identity import TransactionalIdentity

            identity = TransactionalIdentity(self._transactions.state)
        elif config.enable_idempotence:
            identity = IdempotentIdentity()
        settings = SendSettings(
            max_in_flight=config.max_in_flight_requests_per_connection,
            max_request_size=config.max_request_size,
            delivery_timeout=config.delivery_timeout_ms / 1000,
            backoff=self.client.retry_backoff,
            acks=config.acks,
            request_timeout_ms=config.request_timeout_ms,
        )
        return SendPlanner(
            self.accumulator, settings, identity, self.client.random, self._why_unsent
        )

    def _why_unsent(self, partition: TopicPartition) -> str:
        """Return the reason why the batches of a partition are not sent."""
        error = self._sender.identity.error
        if error is not None and self._transactions is not None:
            return f"the transaction coordinator has not added {partition}: {error}"
        if error is not None:
            return f"no broker has returned a producer id: {error}"
        leader = self.client.metadata.leader(partition)
        if leader is None:
            error = self.client.metadata_keeper.last_error
            return f"{partition} {LEADERLESS}{because(error)}"
        unreachable = self.client.pool.unreachable(leader)
        if unreachable is not None:
            return str(unreachable.error)
        return f"node {leader} has not answered the requests before it"
