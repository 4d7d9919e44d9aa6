"""``with producer.transaction()``: commit at the end of the block, abort after an exception.

Both forms drive the same steps: each is a function whose coroutine runs on the producer's loop.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Protocol, TypeVar

from pyk.clients.engine.context import EXIT_SECONDS
from pyk.clients.engine.steps import run, run_awaited
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import KafkaError, StateError
from pyk.clients.offsets import ConsumedOffsets, TransactionOutcome, TransactionReads
from pyk.clients.producer.faces.core import ProducerCore
from pyk.clients.producer.transactions.end import TransactionEnd
from pyk.clients.producer.transactions.state import State
from pyk.runtime.wrong_twin import AwaitedTwin, BlockingTwin

log = logging.getLogger(__name__)

R = TypeVar("R")
Step = Callable[[], Coroutine[Any, Any, Any]]
Steps = Generator[Step, Any, R]


class ReadingClient(Protocol):
    """A consumer, as far as a transaction knows it."""

    @property
    def _transaction_reads(self) -> TransactionReads: ...


class TransactionSteps:
    """What a transaction of the ``with`` statement consists of.

    ``consumers`` take part in it, and those that ``send_offsets`` names join them. However the
    block is left, they follow what became of the transaction: at once if that is known, otherwise
    as soon as it is, and until then they hand out nothing.
    """

    def __init__(
        self, core: ProducerCore, consumers: tuple[ReadingClient, ...], *, is_awaited: bool
    ) -> None:
        self._core = core
        self._is_awaited = is_awaited
        self._reads = [self._reads_of(consumer, "transaction") for consumer in consumers]
        self._marks: list[tuple[TransactionReads, Any]] = []
        self._sent: list[tuple[TransactionReads, ConsumedOffsets]] = []
        self._end: TransactionEnd | None = None
        self._is_used = False
        self._is_open = False

    def begin(self) -> Steps[None]:
        """Begin the transaction."""
        if self._is_used:
            raise StateError("this transaction has begun before: call transaction() for each block")
        self._is_used = True
        for reads in self._reads:
            self._mark_of(reads)
        try:
            yield self._begin
        except BaseException:
            if self._end is not None:  # an interrupt after it had begun
                yield from self._abort(EXIT_SECONDS)
            # What they handed out for this block is in no transaction.
            self._settle(TransactionOutcome.ABORTED)
            raise
        self._is_open = True

    async def _begin(self) -> None:
        transactions = self._core.transactions
        # Without consumers, a block may write again what the commit before is about to commit.
        await transactions.finish_last(waits_for_commit=bool(self._marks))
        try:
            self._end = await transactions.begin(None)
        except StateError:
            if not transactions.state.is_open:
                raise
            raise StateError(
                "the producer is in a transaction, and has one transaction at a time: give each "
                "thread or task that writes transactions a producer of its own"
            ) from None

    def send_offsets(self, consumer: ReadingClient, timeout: float | None) -> Steps[None]:
        """Make what a consumer has handed out part of the transaction."""
        if not self._is_open:
            raise StateError("send_offsets() belongs into the block of its transaction()")
        reads = self._reads_of(consumer, "send_offsets")
        consumed = reads.consumed(self._mark_of(reads))

        async def send() -> None:
            await self._core.transactions.send_offsets(
                consumed.offsets,
                consumed.group_metadata,
                timeout,
                on_taken=lambda: self._sent.append((reads, consumed)),
            )

        yield send

    def end(self, error: BaseException | None) -> Steps[None]:
        """Commit, or abort after an error of the block."""
        self._is_open = False
        try:
            if error is not None:
                # After Ctrl-C and a cancellation the application wants to end.
                seconds = None if isinstance(error, Exception) else EXIT_SECONDS
                yield from self._abort_because_of(error, seconds)
            else:
                yield from self._commit()
        finally:
            assert self._end is not None
            self._end.is_left = True
            self._settle(self._end.outcome)

    def _commit(self) -> Steps[None]:
        async def commit() -> None:
            transactions, end = self._core.transactions, self._end
            has_ended = transactions.end is not end or transactions.state.state is State.READY
            if has_ended and end is not None and end.outcome is not None:
                raise StateError(
                    f"the transaction was {end.outcome.value} by another call before the end of "
                    "its block, which ends it by itself"
                )
            await transactions.commit(None)

        try:
            for reads, consumed in self._sent:
                reads.confirm(consumed)
        except KafkaError as failure:
            yield from self._abort_because_of(failure, None)
            raise
        try:
            yield commit
        except KafkaError as failure:
            if failure.txn_requires_abort or failure.fatal:
                yield from self._abort_because_of(failure, None)
            raise

    def _abort_because_of(self, reason: BaseException, timeout: float | None) -> Steps[None]:
        """Abort, without hiding the reason, unless that is that the producer has failed."""
        failure = yield from self._abort(timeout)
        is_news = isinstance(reason, KafkaError) and not reason.fatal
        if failure is not None and failure.fatal and is_news:
            raise failure from reason

    def _abort(self, timeout: float | None) -> Steps[KafkaError | None]:
        async def abort() -> None:
            transactions = self._core.transactions
            if transactions.end is self._end:  # not that of another block, if this one has ended
                await transactions.abort(timeout)

        try:
            yield abort
        except KafkaError as failure:
            log.info("The transaction was not aborted by this producer: %s", failure)
            return failure
        return None

    def _settle(self, outcome: TransactionOutcome | None) -> None:
        """Let the consumers follow the outcome; None if it is not known yet."""
        for reads, mark in self._marks:
            sent = tuple(consumed for other, consumed in self._sent if other == reads)
            if outcome is TransactionOutcome.COMMITTED:
                for consumed in sent:
                    reads.committed(consumed)
                if not (sent or (self._end is not None and self._end.has_offsets)):
                    reads.warn_of_missing_offsets(mark)
            elif outcome is TransactionOutcome.ABORTED:
                reads.return_to(mark)
            else:
                self._doubt(reads, mark, sent)

    def _doubt(self, reads: TransactionReads, mark: Any, sent: tuple[ConsumedOffsets, ...]) -> None:
        assert self._end is not None
        doubt = reads.doubt(mark, sent)
        if doubt is not None:
            self._end.when_settled(doubt.settle)

    def _reads_of(self, consumer: ReadingClient, call: str) -> TransactionReads:
        """Return the part of a consumer in transactions; raise for anything else."""
        reads: TransactionReads | None = getattr(consumer, "_transaction_reads", None)
        if reads is not None and reads.is_awaited is self._is_awaited:
            return reads
        kind = "an AsyncConsumer" if self._is_awaited else "a Consumer"
        hint = "" if reads else "; send_offsets_to_transaction() takes offsets"
        raise TypeError(
            f"{call}() takes the consumer that hands out the records, {kind}, not "
            f"{type(consumer).__name__}{hint}"
        )

    def _mark_of(self, reads: TransactionReads) -> Any:
        for known, mark in self._marks:
            if known == reads:
                return mark
        mark = reads.begin()
        self._marks.append((reads, mark))
        return mark


class Transaction(BlockingTwin):
    """A transaction of a :class:`~pyk.clients.Producer`, which the ``with`` statement ends."""

    _written_as = "Producer.transaction()", "AsyncProducer.transaction()"

    def __init__(
        self, core: ProducerCore, thread: LoopThread, consumers: tuple[ReadingClient, ...]
    ) -> None:
        self._steps = TransactionSteps(core, consumers, is_awaited=False)
        self._thread = thread

    def send_offsets(self, consumer: ReadingClient, timeout: float | None = None) -> None:
        """Commit with the transaction what the consumer has handed out so far.

        The consumer needs a ``group_id`` and ``enable_auto_commit=False``. Raises
        :class:`CommitFailedError` if its group has given partitions away that it has read, and
        :class:`TransactionAbortableError` if its coordinator refuses: both abort the transaction.
        """
        self._run(self._steps.send_offsets(consumer, timeout))

    def __enter__(self) -> Transaction:
        self._run(self._steps.begin())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._run(self._steps.end(error))

    def _run(self, steps: Steps[R]) -> R:
        return run(steps, lambda step: self._thread.call(step()))


class AsyncTransaction(AwaitedTwin):
    """A transaction of an :class:`~pyk.clients.AsyncProducer`, which ``async with`` ends."""

    _written_as = "AsyncProducer.transaction()", "Producer.transaction()"

    def __init__(self, core: ProducerCore, consumers: tuple[ReadingClient, ...]) -> None:
        self._steps = TransactionSteps(core, consumers, is_awaited=True)
        self._calls: list[Coroutine[Any, Any, None]] = []

    def send_offsets(
        self, consumer: ReadingClient, timeout: float | None = None
    ) -> Coroutine[Any, Any, None]:
        """Commit with the transaction what the consumer has handed out so far.

        The consumer needs a ``group_id`` and ``enable_auto_commit=False``. Raises
        :class:`CommitFailedError` if its group has given partitions away that it has read, and
        :class:`TransactionAbortableError` if its coordinator refuses: both abort the transaction.
        The block raises :class:`StateError`, and aborts, if this was not awaited.
        """
        call = self._send_offsets(consumer, timeout)
        self._calls.append(call)
        return call

    async def _send_offsets(self, consumer: ReadingClient, timeout: float | None) -> None:
        await self._run(self._steps.send_offsets(consumer, timeout))

    async def __aenter__(self) -> AsyncTransaction:
        await self._run(self._steps.begin())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        forgotten = self._forgotten() if error is None else None
        await self._run(self._steps.end(error or forgotten))
        if forgotten is not None:
            raise forgotten

    def _forgotten(self) -> StateError | None:
        """Return the error of a call that nobody has awaited."""
        created = inspect.CORO_CREATED
        forgotten = [call for call in self._calls if inspect.getcoroutinestate(call) == created]
        if not forgotten:
            return None
        for call in forgotten:
            call.close()
        return StateError(
            "send_offsets() was not awaited, so the transaction was aborted: it would have "
            "committed none of the offsets"
        )

    async def _run(self, steps: Steps[R]) -> R:
        return await run_awaited(steps, lambda step: step())
