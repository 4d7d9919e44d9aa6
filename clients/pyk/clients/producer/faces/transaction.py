"""``with producer.transaction()``: commit at the end of the block, abort after an exception.

Both forms drive the same steps: each is a function whose coroutine runs on the producer's loop.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Protocol, TypeVar

from pyk.clients.engine.steps import run, run_awaited
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import KafkaError
from pyk.clients.offsets import ConsumedOffsets, TransactionReads
from pyk.clients.producer.faces.core import EXIT_SECONDS, ProducerCore

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

    ``consumers`` go back to where they were if it is aborted; those that ``send_offsets`` names
    join them.
    """

    def __init__(self, core: ProducerCore, consumers: tuple[ReadingClient, ...]) -> None:
        self._core = core
        self._reads = [consumer._transaction_reads for consumer in consumers]
        self._marks: list[tuple[TransactionReads, Any]] = []
        self._consumed: list[tuple[TransactionReads, ConsumedOffsets]] = []

    def begin(self) -> Steps[None]:
        """Begin the transaction."""
        yield functools.partial(self._core.transactions.begin, None)
        for reads in self._reads:
            self._mark_of(reads)

    def send_offsets(self, consumer: ReadingClient, timeout: float | None) -> Steps[None]:
        """Make what a consumer has handed out part of the transaction."""
        reads = consumer._transaction_reads
        consumed = reads.consumed(self._mark_of(reads))
        yield functools.partial(
            self._core.transactions.send_offsets, consumed.offsets, consumed.group_metadata, timeout
        )
        self._consumed.append((reads, consumed))

    def end(self, error: BaseException | None) -> Steps[None]:
        """Commit, or abort after an error of the block."""
        if error is not None:
            yield from self._abort(error)
            return
        try:
            yield functools.partial(self._core.transactions.commit, None)
        except KafkaError as failure:
            if failure.txn_requires_abort or failure.fatal:
                yield from self._abort(failure)
            raise
        for reads, consumed in self._consumed:
            reads.committed(consumed)

    def _abort(self, reason: BaseException) -> Steps[None]:
        """Abort, without hiding the reason, unless that is that the producer has failed."""
        # After Ctrl-C and a cancellation the application wants to end.
        timeout = None if isinstance(reason, Exception) else EXIT_SECONDS
        try:
            yield functools.partial(self._core.transactions.abort, timeout)
        except KafkaError as failure:
            if failure.fatal and isinstance(reason, KafkaError) and not reason.fatal:
                raise failure from reason
            log.info("The transaction was not aborted by this producer: %s", failure)
        finally:
            for reads, mark in self._marks:
                reads.return_to(mark)

    def _mark_of(self, reads: TransactionReads) -> Any:
        for known, mark in self._marks:
            if known == reads:
                return mark
        mark = reads.begin()
        self._marks.append((reads, mark))
        return mark


class Transaction:
    """A transaction of a :class:`~pyk.clients.Producer`, which the ``with`` statement ends."""

    def __init__(
        self, core: ProducerCore, thread: LoopThread, consumers: tuple[ReadingClient, ...]
    ) -> None:
        self._steps = TransactionSteps(core, consumers)
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


class AsyncTransaction:
    """A transaction of an :class:`~pyk.clients.AsyncProducer`, which ``async with`` ends."""

    def __init__(self, core: ProducerCore, consumers: tuple[ReadingClient, ...]) -> None:
        self._steps = TransactionSteps(core, consumers)

    async def send_offsets(self, consumer: ReadingClient, timeout: float | None = None) -> None:
        """Commit with the transaction what the consumer has handed out so far.

        The consumer needs a ``group_id`` and ``enable_auto_commit=False``. Raises
        :class:`CommitFailedError` if its group has given partitions away that it has read, and
        :class:`TransactionAbortableError` if its coordinator refuses: both abort the transaction.
        """
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
        await self._run(self._steps.end(error))

    async def _run(self, steps: Steps[R]) -> R:
        return await run_awaited(steps, lambda step: step())
