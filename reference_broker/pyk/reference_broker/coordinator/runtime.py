"""Runs a shard over its log: appends what it decides, answers when that is safe, and loads it.

The shard decides and the log remembers. A request becomes records; they are appended in one batch,
change the shard by being replayed, and when the high watermark has passed them they are committed:
they are published, and the request is answered. Loading is the same replay from the start of the
log. Replaying changes state and does nothing else, so that it cannot fail halfway.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment, TimerQueue

from .decision import Decision, ShardRecord

log = logging.getLogger(__name__)

KeyValue = tuple[bytes | None, bytes | None]
R = TypeVar("R")

BATCH_HEAD_BYTES = 61
RECORD_HEAD_BYTES = 32
"""At most: eight fields of variable length, besides key and value."""


class ShardLog(Protocol):
    """The partition under a shard."""

    @property
    def high_watermark(self) -> int:
        """Return the offset up to which records cannot be lost any more."""

    def append(self, records: Iterable[KeyValue], time_ms: int) -> int:
        """Append records as one batch; return the offset after them; raise :class:`ApiError`.

        They are committed when the high watermark has passed them.
        """

    @property
    def max_batch_bytes(self) -> int:
        """Return how large a batch may be."""

    @property
    def failure(self) -> ErrorCode | None:
        """Return why the high watermark will never move again, None if it may."""

    def read_all(self) -> Iterator[list[KeyValue]]:
        """Yield the keys and values of the log, some at a time."""


class Shard(Protocol):
    """What the runtime needs of a shard."""

    def decode(self, key: bytes | None, value: bytes | None) -> ShardRecord: ...

    def replay(self, record: Any) -> None: ...

    def loaded(self, moment: Moment) -> list[Decision]: ...


S = TypeVar("S", bound=Shard)


class ShardTimers:
    """Timers of a shard: what is due returns a decision, which is carried out."""

    def __init__(
        self,
        name: Hashable,
        timers: TimerQueue,
        moment: Callable[[], Moment],
        carry_out: Callable[[Decision], None],
    ) -> None:
        self._name = name
        self._timers = timers
        self._moment = moment
        self._carry_out = carry_out

    def schedule(
        self, key: tuple[str, ...], deadline: float, event: Callable[[Moment], Decision]
    ) -> None:
        self._timers.schedule(
            (self._name, key), deadline, lambda _: self._carry_out(event(self._moment()))
        )

    def cancel(self, key: tuple[str, ...]) -> None:
        self._timers.cancel((self._name, key))


def _ignore(_: Sequence[ShardRecord]) -> None:
    return


def _same(error: ErrorCode) -> ErrorCode:
    return error


class ShardRuntime(Generic[S]):
    """One shard, its log and its clock.

    ``publish`` is told which records are committed. ``write_error`` says what clients are answered
    when the log refuses records.
    """

    def __init__(
        self,
        name: Hashable,
        shard_log: ShardLog,
        timers: TimerQueue,
        moment: Callable[[], Moment],
        new_shard: Callable[[ShardTimers], S],
        *,
        publish: Callable[[Sequence[Any]], object] = _ignore,
        write_error: Callable[[ErrorCode], ErrorCode] = _same,
    ) -> None:
        self._name = name
        self._log = shard_log
        self._moment = moment
        self._publish = publish
        self._write_error = write_error
        self._waiting: deque[tuple[int, Decision]] = deque()
        self.shard = new_shard(ShardTimers(name, timers, moment, self.carry_out))

    def load(self) -> Iterator[int]:
        """Replay the log; yield now and then how many records were read, so that others can run."""
        count = 0
        latest: dict[bytes, bytes | None] = {}
        for records in self._log.read_all():
            for key, value in records:
                if key is None:
                    self._replay(key, value)
                else:
                    # Only the last value of a key counts: compaction, done while reading.
                    latest.pop(key, None)
                    latest[key] = value
            count += len(records)
            yield count
        for key, value in latest.items():
            if value is not None:
                self._replay(key, value)
        for decision in self.shard.loaded(self._moment()):
            self.carry_out(decision)

    def _replay(self, key: bytes | None, value: bytes | None) -> None:
        try:
            record = self.shard.decode(key, value)
        except ProtocolError as error:
            # A type or version of a newer broker: after a downgrade Kafka skips these, too.
            log.warning("Skipped a record of %s while loading: %s", self._name, error)
            return
        self.shard.replay(record)
        self._publish((record,))

    def ask(
        self,
        event: Callable[[S, Moment], tuple[R, Decision]],
        on_error: Callable[[ErrorCode], R],
    ) -> Deferred[R]:
        """Let the shard handle one request; return its response, sent once its records are safe."""
        deferred: Deferred[R] = Deferred()
        try:
            answer, decision = event(self.shard, self._moment())
        except ApiError as error:
            deferred.complete(on_error(error.code))
            return deferred

        def when_written(error: ErrorCode) -> None:
            decision.when_written(error)
            deferred.complete(on_error(error) if error else answer)

        self.carry_out(slotted.evolve(decision, when_written=when_written))
        return deferred

    def tell(self, event: Callable[[S, Moment], Decision]) -> None:
        """Let the shard handle an event whose response it completes itself."""
        self.carry_out(event(self.shard, self._moment()))

    def carry_out(self, decision: Decision) -> None:
        """Append the records of a decision, replay them, and tell when they are safe."""
        if not decision.records:
            decision.when_written(ErrorCode.NONE)
            return
        try:
            next_offset = self._write(decision)
        except ApiError as error:
            log.warning("Could not write to %s: %s", self._name, error)
            decision.when_written(self._write_error(error.code))
            return
        self._waiting.append((next_offset, decision))
        self.high_watermark_moved()

    def _write(self, decision: Decision) -> int:
        """Append and replay batch after batch; return the offset after the last."""
        encoded = [(record, *record.encode()) for record in decision.records]
        max_bytes = sys.maxsize if decision.is_atomic else self._log.max_batch_bytes
        next_offset = 0
        for batch in _in_batches(encoded, max_bytes):
            key_values = [(key, value) for _, key, value in batch]
            next_offset = self._log.append(key_values, self._moment().time_ms)
            if decision.replays:
                for record, _, _ in batch:
                    self.shard.replay(record)
        return next_offset

    def high_watermark_moved(self) -> None:
        """Publish and answer what is below the high watermark; fail the rest if the log failed."""
        while self._waiting and self._waiting[0][0] <= self._log.high_watermark:
            _, decision = self._waiting.popleft()
            self._publish(decision.records)
            decision.when_written(ErrorCode.NONE)
        failure = self._log.failure
        if failure is not None:
            self.close(self._write_error(failure))

    def close(self, error: ErrorCode) -> None:
        """Answer all that waits with an error: the log is lost, or led elsewhere."""
        while self._waiting:
            _, decision = self._waiting.popleft()
            decision.when_written(error)


EncodedRecord = tuple[ShardRecord, bytes | None, bytes | None]


def _in_batches(records: Iterable[EncodedRecord], max_bytes: int) -> Iterator[list[EncodedRecord]]:
    """Yield the records in groups, each of which fits into a batch of ``max_bytes``."""
    batch: list[EncodedRecord] = []
    size = BATCH_HEAD_BYTES
    for record in records:
        _, key, value = record
        needed = RECORD_HEAD_BYTES + len(key or b"") + len(value or b"")
        if batch and size + needed > max_bytes:
            yield batch
            batch, size = [], BATCH_HEAD_BYTES
        batch.append(record)
        size += needed
    yield batch
