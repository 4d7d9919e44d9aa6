"""Runs a shard over its log: appends what it decides, answers when that is safe, and loads it.

The order is always the same:

1. *Decide.* An event makes the shard choose records.
2. *Commit.* They are appended as one batch and replayed, which changes the shard. They are
   committed when the high watermark has passed them.
3. *Publish.* Now others learn of them: ``publish`` is called, the request is answered, and the
   actions of the decision begin.

Nothing outside sees state that could still be lost. A decision without records, and a look at the
state, may rest on any record of the log: so they are answered when all of it is committed, also
after a load, and fail if the log failed. Kafka does the same with decisions; its looks go to an
older state instead.

Loading is the same replay from the start of the log. Replaying changes the shard and does nothing
else, so that it cannot fail halfway.

Records of a transaction are replayed as pending. The marker that ends it is written to the log by
the partition, not by the shard; the runtime is told, and replays it like a record.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment, TimerQueue

from .decision import NOTHING, Action, Decision, ShardRecord
from .latest_records import LatestRecords
from .shard_log import NO_PRODUCER_ID, KeyValue, LoggedRecords, ShardLog, in_batches
from .shard_timers import ShardTimers

log = logging.getLogger(__name__)

R = TypeVar("R")


class Shard(Protocol):
    """The interface of a shard to its runtime."""

    def decode(self, key: bytes | None, value: bytes | None) -> ShardRecord:
        """Return the record in a key and a value; raise ``ProtocolError``."""

    def replay(self, record: Any) -> None:
        """Change the state by one record of the log, and do nothing else."""

    def loaded(self, moment: Moment) -> list[Decision]:
        """Begin to serve: the log was replayed."""

    def unloaded(self) -> None:
        """Answer everything that waits with NOT_COORDINATOR: the shard is led elsewhere."""


@runtime_checkable
class TransactionalShard(Protocol):
    """The methods of a shard whose records may belong to transactions."""

    def replay_pending(self, record: Any, producer_id: int) -> None:
        """Remember one record of an open transaction, and do nothing else."""

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the pending records of a producer, or drop them, and do nothing else."""


@runtime_checkable
class IncrementalShard(Protocol):
    """The method of a shard whose records add up: each counts, not only the last of its key."""

    def replay_at(self, record: Any, offset: int) -> None:
        """Do what ``replay`` does, with a record that is not before ``offset`` in the log."""


S = TypeVar("S", bound=Shard)


@slotted.frozen
class _Written:
    """Records that are in the log, and what follows when they are committed."""

    next_offset: int
    records: Sequence[ShardRecord]
    when_written: Callable[[ErrorCode], object]
    actions: Sequence[Action] = ()
    drops_before: int = 0


def _ignore(_: object) -> None:
    return


def same_error(error: ErrorCode) -> ErrorCode:
    return error


def nobody_acts(request: Any) -> Deferred[Any]:
    raise AssertionError(f"no function carries out actions of this shard: {request}")


class ShardRuntime(Generic[S]):
    """One shard, its log and its clock.

    ``publish`` is told which records are committed. ``write_error`` says what clients are answered
    when the log refuses records, ``unloaded_error`` what they are when the shard was unloaded.
    ``act`` carries out the request of an :class:`Action`.
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
        write_error: Callable[[ErrorCode], ErrorCode] = same_error,
        act: Callable[[Any], Deferred[Any]] = nobody_acts,
        unloaded_error: ErrorCode = ErrorCode.NOT_COORDINATOR,
    ) -> None:
        self._name = name
        self._log = shard_log
        self._moment = moment
        self._publish = publish
        self._write_error = write_error
        self._act = act
        self._unloaded_error = unloaded_error
        self._waiting: deque[_Written] = deque()
        self._acting: set[Deferred[Any]] = set()
        self._is_unloaded = False
        self._timers = ShardTimers(name, timers, moment, self.carry_out)
        self._shard = new_shard(self._timers)
        shard: object = self._shard
        self._incremental = shard if isinstance(shard, IncrementalShard) else None

    # -- the life of a shard -----------------------------------------------------------------------

    def load(self) -> Iterator[int]:
        """Replay the log; yield now and then how many records were read, so that others can run."""
        yield from self._load_latest() if self._incremental is None else self._load_all()
        for decision in self._shard.loaded(self._moment()):
            self.carry_out(decision)

    def _load_all(self) -> Iterator[int]:
        count = 0
        for entries in self._log.read_all():
            for entry in entries:
                if isinstance(entry, LoggedRecords):
                    count += len(entry.records)
                    for offset, (key, value) in enumerate(entry.records, entry.base_offset):
                        self._replay_logged(key, value, NO_PRODUCER_ID, offset)
            yield count

    def _load_latest(self) -> Iterator[int]:
        count = 0
        latest = LatestRecords()
        for entries in self._log.read_all():
            for entry in entries:
                if isinstance(entry, LoggedRecords):
                    count += len(entry.records)
                    self._replay_those_without_key(entry.records)
                latest.add(entry)
            yield count
        for _, producer_id, key, value in latest:
            self._replay_logged(key, value, producer_id)

    def _replay_those_without_key(self, records: Sequence[KeyValue]) -> None:
        for key, value in records:
            if key is None:
                self._replay_logged(key, value, NO_PRODUCER_ID)

    def _replay_logged(
        self, key: bytes | None, value: bytes | None, producer_id: int, offset: int = 0
    ) -> None:
        try:
            record = self._shard.decode(key, value)
        except ProtocolError as error:
            # A type or version of a newer broker: after a downgrade Kafka skips these, too.
            log.warning("Skipped a record of %s while loading: %s", self._name, error)
            return
        self._replay(record, producer_id, offset)
        self._publish((record,))

    def _replay(self, record: ShardRecord, producer_id: int, offset: int) -> None:
        if self._incremental is not None:
            self._incremental.replay_at(record, offset)
        elif producer_id == NO_PRODUCER_ID:
            self._shard.replay(record)
        else:
            self._transactional_shard.replay_pending(record, producer_id)

    @property
    def _transactional_shard(self) -> TransactionalShard:
        shard: object = self._shard
        if not isinstance(shard, TransactionalShard):
            raise AssertionError(f"the records of {self._name} cannot belong to transactions")
        return shard

    def unload(self) -> None:
        """Stop serving for good, and send all waiters to the next leader."""
        self._is_unloaded = True
        self._fail_waiting(self._unloaded_error)
        self._shard.unloaded()
        for action in tuple(self._acting):
            action.abandon()  # the next leader begins it again
        self._acting.clear()
        # Last, for a failed write may have scheduled something. The next shard of this name has
        # timers of the same keys.
        self._timers.cancel_all()

    # -- events ------------------------------------------------------------------------------------

    def ask(
        self,
        event: Callable[[S, Moment], tuple[R, Decision]],
        on_error: Callable[[ErrorCode], R],
    ) -> Deferred[R]:
        """Let the shard handle one request; return its response, sent once its records are safe."""
        response: Deferred[R] = Deferred()
        if self._is_unloaded:
            response.complete(on_error(self._unloaded_error))
            return response
        try:
            answer, decision = event(self._shard, self._moment())
        except ApiError as error:
            response.complete(on_error(error.code))
            return response

        def when_written(error: ErrorCode) -> None:
            decision.when_written(error)
            response.complete(on_error(error) if error else answer)

        self._carry_out(decision, when_written)
        return response

    def tell(
        self,
        event: Callable[[S, Moment], Decision],
        on_error: Callable[[ErrorCode], object] = _ignore,
    ) -> None:
        """Let the shard handle an event whose response it completes itself.

        Calls ``on_error`` instead if the shard was unloaded.
        """
        if self._is_unloaded:
            on_error(self._unloaded_error)
        else:
            self.carry_out(event(self._shard, self._moment()))

    def look(self, view: Callable[[S], R], on_error: Callable[[ErrorCode], R]) -> Deferred[R]:
        """Return the result of ``view`` of the state, once all of that is committed."""
        return self.ask(lambda shard, _: (view(shard), NOTHING), on_error)

    # -- decide, commit, publish -------------------------------------------------------------------

    def carry_out(self, decision: Decision) -> None:
        """Append the records of a decision, replay them, and tell when they are safe."""
        self._carry_out(decision, decision.when_written)

    def _carry_out(self, decision: Decision, when_written: Callable[[ErrorCode], object]) -> None:
        if self._is_unloaded:
            when_written(self._unloaded_error)
            return
        try:
            self._write(decision, when_written)
        except Exception as error:
            self.high_watermark_moved()  # there may be batches before the one that failed
            when_written(self._write_error(self._code_of(error)))
        else:
            self.high_watermark_moved()

    def _code_of(self, error: Exception) -> ErrorCode:
        """Return the error of a failed write, also after a bug, so that no waiter waits for
        ever."""
        if isinstance(error, ApiError):
            log.warning("Could not write to %s: %s", self._name, error)
            return error.code
        log.error("Could not write to %s because of a bug in pyk", self._name, exc_info=error)
        return ErrorCode.UNKNOWN_SERVER_ERROR

    def _write(self, decision: Decision, when_written: Callable[[ErrorCode], object]) -> None:
        """Append and replay batch after batch; what follows waits for the last of them."""
        producer = decision.producer
        producer_id = NO_PRODUCER_ID if producer is None else producer.producer_id
        max_bytes = sys.maxsize if decision.is_atomic else self._log.max_batch_bytes
        batches = list(in_batches(decision.records, max_bytes))
        if not batches:
            end_offset = self._log.end_offset
            self._waiting.append(
                _Written(end_offset, (), when_written, decision.actions, decision.drops_before)
            )
        for number, batch in enumerate(batches, 1):
            key_values = [(key, value) for _, key, value in batch]
            next_offset = self._log.append(key_values, self._moment().time_ms, producer)
            records = [record for record, _, _ in batch]
            if decision.replays:
                for offset, record in enumerate(records, next_offset - len(records)):
                    self._replay(record, producer_id, offset)
            if number < len(batches):
                self._waiting.append(_Written(next_offset, records, _ignore))
            else:
                self._waiting.append(
                    _Written(
                        next_offset,
                        records,
                        when_written,
                        decision.actions,
                        decision.drops_before,
                    )
                )

    def transaction_ended(self, producer_id: int, *, is_commit: bool) -> None:
        """Replay a marker that the partition has appended to the log.

        Like a record it changes the shard at once, and others see that when it is committed. In the
        log of a shard without transactions a marker ends nothing.
        """
        shard: object = self._shard
        if not self._is_unloaded and isinstance(shard, TransactionalShard):
            shard.end_transaction(producer_id, is_commit=is_commit)

    def high_watermark_moved(self) -> None:
        """Publish and answer what is below the high watermark; fail the rest if the log failed."""
        while self._waiting and self._waiting[0].next_offset <= self._log.high_watermark:
            written = self._waiting.popleft()
            if written.records:
                self._publish(written.records)
            written.when_written(ErrorCode.NONE)
            for action in written.actions:
                self._begin(action)
            if written.drops_before:
                self._drop_before(written.drops_before)
        failure = self._log.failure
        if failure is not None:
            self._fail_waiting(self._write_error(failure))

    def _drop_before(self, offset: int) -> None:
        try:
            self._log.drop_before(offset)
        except ApiError as error:
            log.warning("Could not remove old records of %s: %s", self._name, error)

    def _fail_waiting(self, error: ErrorCode) -> None:
        while self._waiting:
            self._waiting.popleft().when_written(error)

    def _begin(self, action: Action) -> None:
        result = self._act(action.request)
        self._acting.add(result)

        def report(found: Any) -> None:
            self._acting.discard(result)
            self.tell(lambda _, moment: action.report(found, moment))

        result.when_done(report)
