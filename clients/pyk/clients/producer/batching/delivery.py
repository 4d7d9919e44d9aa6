"""Outcomes of records: one result for a batch, and a small slot for each record that asks.

A result for every record would cost more than encoding it. So :class:`BatchResult` is filled in
once when its batch is written or given up, and a :class:`Delivery` is only (batch, index,
timestamp): it can be waited on only once a caller waits. Compiled, deliveries live outside of the
cyclic collector, which would walk every one of them; the objects they point to never point back for
longer than the batch is unsettled.

Threads: the thread that drives the engine settles a batch; any thread may ask. The queue of
callbacks is the meeting point. A thread that adds a callback checks afterwards whether the batch is
settled, the thread that settles it checks afterwards for callbacks, and ``popleft`` hands each to
one of them only. A callback of the application that is added to a settled batch is run by the
engine, because the thread that adds it may hold a lock that the callback takes.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from pyk.clients.arguments import checked_timeout
from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    StateError,
    TransactionAbortedError,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.wording import counted

if TYPE_CHECKING:
    from pyk.clients.engine.waiter import Engine

log = logging.getLogger(__name__)

_NO_RECORD_ERRORS: dict[int, KafkaError] = {}  # of all batches of which no record was refused


class RecordMetadata:
    """The partition and the offset of a written record.

    ``offset`` is -1 if it is unknown: with ``acks=0``, or if the broker had the record already and
    has forgotten its offset. ``timestamp`` is the one that the log holds, in milliseconds since
    1970.
    """

    __slots__ = ("offset", "partition", "timestamp", "topic")

    def __init__(self, topic: str, partition: int, offset: int, timestamp: int) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp

    def __repr__(self) -> str:
        return (
            f"RecordMetadata(topic={self.topic!r}, partition={self.partition}, "
            f"offset={self.offset}, timestamp={self.timestamp})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordMetadata):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordMetadata, self._values()

    def _values(self) -> tuple[str, int, int, int]:
        return self.topic, self.partition, self.offset, self.timestamp


class BatchResult:
    """The outcome of the records of one batch; shared by their deliveries.

    A batch that was too large for the broker is split: then ``pieces`` are the results that stand
    for its records now. A record keeps its index, and each piece has the index of its first one:
    threads that ask at once have nothing to count.
    """

    __slots__ = (
        "_callbacks",
        "base_offset",
        "count",
        "engine",
        "error",
        "first_index",
        "is_done",
        "is_observed",
        "log_append_time",
        "partition",
        "pieces",
        "record_errors",
        "topic",
    )

    def __init__(self, topic: str, partition: int, engine: Engine | None = None) -> None:
        self._begin(topic, partition, engine)

    def _begin(self, topic: str, partition: int, engine: Engine | None) -> None:
        self.topic = topic
        self.partition = partition
        self.engine = engine
        self.first_index = 0
        self.is_done = False
        self.is_observed = False
        self.base_offset = -1
        self.log_append_time = -1
        self.count = 0
        self.error: KafkaError | None = None
        self.record_errors = _NO_RECORD_ERRORS
        self.pieces: tuple[BatchResult, BatchResult] | None = None
        self._callbacks: deque[Callback] = deque()

    def complete(self, base_offset: int, log_append_time: int = -1) -> None:
        """Settle the deliveries: the batch was written from ``base_offset`` on."""
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self.is_done = True
        self._run_callbacks()

    def fail(
        self, error: KafkaError, count: int, record_errors: dict[int, KafkaError] | None = None
    ) -> None:
        """Fail the ``count`` deliveries of the batch with ``error``.

        ``record_errors`` holds the errors of single records, where the broker named them, by their
        place in the batch.
        """
        self.error = error
        self.count = count
        if record_errors:
            self.record_errors = record_errors
        self.is_done = True
        self._run_callbacks()

    def abandon(self, error: KafkaError, count: int) -> None:
        """Settle the batch in a forked child, which will never get a response.

        Callbacks are not run: their threads do not exist in the child.
        """
        self._callbacks.clear()
        self.is_observed = True
        self.error = error
        self.count = count
        self.is_done = True

    def split(self, first: BatchResult, second: BatchResult, middle: int) -> None:
        """Let two results stand for the records before and from the ``middle`` of this batch."""
        first.first_index = self.first_index
        second.first_index = self.first_index + middle
        first.is_observed = second.is_observed = self.is_observed
        self.pieces = first, second
        self._run_callbacks()

    def piece_of(self, index: int) -> BatchResult:
        """Return the piece with the record ``index``."""
        assert self.pieces is not None
        first, second = self.pieces
        return second if index >= second.first_index else first

    def add_callback(self, callback: Callback) -> None:
        """Run ``callback`` once the outcome of its record is known. If it is known already: at
        once, or soon for a callback of the application.
        """
        self.is_observed = True
        self._callbacks.append(callback)
        if self.is_done or self.pieces is not None:
            if callback.is_internal():
                self._run_callbacks()
            else:
                self._run_callbacks_soon()

    def discard_callback(self, callback: Callback) -> None:
        """Forget a callback that is not needed any more."""
        with contextlib.suppress(ValueError):  # it runs at this moment, or went to a piece
            self._callbacks.remove(callback)

    def _run_callbacks_soon(self) -> None:
        """Run the callbacks in the engine, or here if the engine has ended."""
        if self.engine is None or not self.engine.post(self.run_callbacks):
            self._run_callbacks()

    def run_callbacks(self) -> None:
        """Run the callbacks whose records are settled, each once."""
        self._run_callbacks()

    def _run_callbacks(self) -> None:
        while self._callbacks:
            try:
                callback = self._callbacks.popleft()
            except IndexError:  # another thread was faster
                return
            if self.pieces is not None:
                self.piece_of(callback.index).add_callback(callback)
            else:
                callback.run(self.engine)

    def __del__(self) -> None:
        if self.error is None or self.is_observed:
            return
        if not isinstance(self.error, TransactionAbortedError):  # which the application wanted
            log.error(
                "%s for partition %d of topic %r not delivered: %s",
                counted(self.count, "record"),
                self.partition,
                self.topic,
                self.error,
            )


def new_result(topic: str, partition: int, engine: Engine | None) -> BatchResult:
    """Return the result of a new batch; compiled, no arguments are parsed on the way."""
    result = BatchResult.__new__(BatchResult)
    result._begin(topic, partition, engine)
    return result


class Callback:
    """A callback for the outcome of one record.

    ``function`` is called with the delivery, or with nothing if that is None. A slot like the
    delivery, and for the same reason: a tuple and a closure for each record would be walked by the
    cyclic collector.
    """

    __slots__ = ("_delivery", "_function", "index")

    def __init__(
        self, index: int, delivery: Delivery | None, function: Callable[..., object]
    ) -> None:
        self.index = index
        self._delivery = delivery
        self._function = function

    def is_internal(self) -> bool:
        """Return whether it only wakes a waiter, and takes no lock of the application."""
        return self._delivery is None

    def run(self, engine: Engine | None) -> None:
        try:
            if self._delivery is None:
                self._function()
                return
            returned = self._function(self._delivery)
            if returned is not None and inspect.iscoroutine(returned):
                returned.close()
                raise TypeError("it must not be an async function: nothing awaits it")
        except (SystemExit, KeyboardInterrupt) as error:
            if engine is None:
                raise
            engine.raise_soon(error)
        except BaseException:
            log.exception("A delivery callback failed")


class Delivery:
    """The outcome of one record that a producer accepted.

    Wait for it with :meth:`result` in blocking code and with ``await`` in async code, on any loop,
    or with a callback. If you do none of this, a failure is only logged, once per batch.
    """

    __slots__ = ("_batch", "_index", "_timestamp")

    def __init__(self, batch: BatchResult, index: int, timestamp: int = -1) -> None:
        self._batch = batch
        self._index = index
        self._timestamp = timestamp

    def done(self) -> bool:
        """Return whether the outcome of the record is known."""
        return self._settled().is_done

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait until the record is written and return where; raise the error if it failed.

        Raises ``KafkaTimeoutError`` after ``timeout`` seconds; the producer still tries to deliver
        it.
        """
        self._wait(timeout)
        error = self._error()
        if error is not None:
            raise copy_to_raise(error)
        return self._metadata()

    def exception(self, timeout: float | None = None) -> KafkaError | None:
        """Wait like :meth:`result` and return the error, None if the record was written."""
        self._wait(timeout)
        return self._error()

    def add_done_callback(self, function: Callable[[Delivery], object]) -> None:
        """Call ``function(delivery)`` once the outcome is known; soon, if it is known already.

        It runs on the producer's own thread, or in a thread that waits for the producer (``flush``,
        ``result``, ``send_and_wait``), never inside this call or ``send``. So it may take locks
        that are held here; but it must be quick and must not wait. Once the producer has ended
        there is no other thread, and it is called at once.
        """
        if not callable(function):
            raise TypeError(f"function must be callable, not {type(function).__name__}")
        self._add_callback(function)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self._settled().is_done:
            yield from self._arrival()
        self._batch.is_observed = True
        error = self._error()
        if error is not None:
            raise copy_to_raise(error)
        return self._metadata()

    def __repr__(self) -> str:
        batch = self._settled()
        place = f"partition {batch.partition} of {batch.topic!r}"
        if not batch.is_done:
            return f"<Delivery to {place}: under way>"
        error = self._error()
        if error is not None:
            return f"<Delivery to {place}: {error!r}>"
        return f"<Delivery to {place}: offset {self._metadata().offset}>"

    def _add_callback(self, function: Callable[[Delivery], object]) -> None:
        batch = self._settled()
        callback = Callback.__new__(Callback)
        callback.index = self._index
        callback._delivery = self
        callback._function = function
        batch.add_callback(callback)

    def _settled(self) -> BatchResult:
        """Return the result that stands for this record now, after any splits."""
        batch = self._batch
        while batch.pieces is not None:
            batch = self._batch = batch.piece_of(self._index)
        return batch

    def _error(self) -> KafkaError | None:
        batch = self._settled()
        return batch.record_errors.get(self._index - batch.first_index, batch.error)

    def _metadata(self) -> RecordMetadata:
        batch = self._settled()
        offset = batch.base_offset
        if offset >= 0:
            offset += self._index - batch.first_index
        timestamp = batch.log_append_time if batch.log_append_time >= 0 else self._timestamp
        return RecordMetadata(batch.topic, batch.partition, offset, timestamp)

    def _wait(self, timeout: float | None, begin: Callable[[], object] | None = None) -> None:
        """Wait until the outcome is known, once ``begin`` was called."""
        batch = self._settled()
        batch.is_observed = True
        if batch.is_done:
            return
        if timeout is not None:
            timeout = checked_timeout(timeout)
        engine = batch.engine
        assert engine is not None, "only a batch of an engine is settled later"
        if engine.is_here():
            raise StateError(
                "waiting for a delivery on the loop that delivers it would never end; "
                "await the delivery, or use add_done_callback"
            )
        waiter = engine.new_waiter()
        settled = Callback(self._index, None, waiter.set)
        try:
            batch.add_callback(settled)
            if waiter.wait(timeout, begin):
                return
        except BaseException:
            batch.discard_callback(settled)
            raise
        batch.discard_callback(settled)
        raise KafkaTimeoutError(
            f"the delivery is not settled after {timeout} s; the producer goes on trying",
            topic=batch.topic,
            partition=batch.partition,
        )

    def _arrival(self) -> Generator[Any, None, None]:
        """Wait on the running loop, which may be any, until the outcome is known."""
        batch = self._settled()
        assert batch.engine is not None, "only a batch of an engine is settled later"
        future, finish = batch.engine.new_future()
        settled = Callback(self._index, None, finish)
        batch.add_callback(settled)
        try:
            yield from future
        except BaseException:
            batch.discard_callback(settled)
            raise
