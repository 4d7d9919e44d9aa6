"""The transactional ids of one partition of ``__transaction_state``, as an event-sourced shard.

A request becomes the next value of a :class:`~.transaction.Transaction`, which is one record.
Replaying it is the change: there is no state in between, so a request that comes while a record is
not yet committed is decided on top of it, and answered after it.

A transaction that is prepared has its markers written by an action; the action's result makes it
complete. A shard that is loaded begins these actions for all transactions that its log leaves
prepared, so a decided transaction ends, whatever crashes on the way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.coordinator.decision import NOTHING, Action, Decision
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .ending import End, check_writer, end
from .initializing import Initialization, initialize
from .markers import markers_of
from .records import TransactionRecord
from .states import TransactionState
from .transaction import Transaction

log = logging.getLogger(__name__)

REWRITE_MS = 100
"""How long after a completion could not be written it is tried again."""


@slotted.frozen(kw_only=True)
class TransactionConfig:
    """The broker configurations that concern transactions."""

    max_timeout_ms: int = 900_000
    allows_two_phases: bool = False
    timeout_check_interval_ms: int = 10_000
    expiration_ms: int = 604_800_000
    expiration_check_interval_ms: int = 3_600_000


@slotted.frozen
class ProducerIdentity:
    """The producer id and epoch that a producer is to use from now on."""

    producer_id: int
    producer_epoch: int
    kept: tuple[int, int] | None = None
    """Those of the open transaction that it has kept."""


class TransactionShard:
    """Transactional ids; pure except for the timers it is given."""

    def __init__(
        self,
        config: TransactionConfig,
        timers: ShardTimers,
        coordinator_epoch: int,
        server_version: Callable[[], int],
    ) -> None:
        """``server_version`` returns the finalized ``transaction.version``."""
        self.transactions: dict[str, Transaction] = {}
        self._config = config
        self._timers = timers
        self._coordinator_epoch = coordinator_epoch
        self._server_version = server_version

    # -- requests --------------------------------------------------------------------------------

    def init_producer_id(
        self, asked: Initialization, new_producer_id: int | None, moment: Moment
    ) -> tuple[ProducerIdentity | ErrorCode, Decision]:
        """Give a producer the next epoch of its transactional id.

        An open transaction is aborted first: CONCURRENT_TRANSACTIONS lets the producer ask again.
        Raises ``ApiError``, and ``ProducerIdNeededError`` where an id is needed and none was given.
        """
        self._check_two_phases(asked)
        self._check_timeout(asked)
        current = self.transactions.get(asked.transactional_id)
        following = initialize(
            current,
            asked,
            new_producer_id=new_producer_id,
            server_version=self._server_version(),
            time_ms=moment.time_ms,
        )
        if following.state.is_prepared:
            return ErrorCode.CONCURRENT_TRANSACTIONS, self._prepare(following)
        kept = (following.producer_id, following.producer_epoch) if following.is_kept else None
        return ProducerIdentity(*following.identity, kept), Decision((self._record(following),))

    def add_partitions(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: Iterable[TopicPartition],
        client_version: int,
        moment: Moment,
    ) -> tuple[ErrorCode, Decision]:
        """Add partitions to the transaction of a producer (id and epoch); the first begin it."""
        transaction = self._of_producer(transactional_id, producer)
        added = frozenset(partitions)
        if transaction.state is TransactionState.ONGOING and added <= transaction.partitions:
            return ErrorCode.NONE, NOTHING
        following = transaction.with_partitions(added, client_version, moment.time_ms)
        return ErrorCode.NONE, Decision((self._record(following),))

    def verify_partitions(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: Iterable[TopicPartition],
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Return which partitions are in the transaction of a producer (id and epoch).

        TRANSACTION_ABORTABLE stands for one that is not.
        """
        known = self._of_producer(transactional_id, producer).partitions
        return {
            each: ErrorCode.NONE if each in known else ErrorCode.TRANSACTION_ABORTABLE
            for each in partitions
        }

    def end_transaction(
        self, asked: End, new_producer_id: int | None, moment: Moment
    ) -> tuple[ProducerIdentity, Decision]:
        """Commit or abort: the answer comes with the decision, the markers follow.

        Raises as :meth:`init_producer_id`.
        """
        current = self.transactions.get(asked.transactional_id)
        ended = end(current, asked, new_producer_id=new_producer_id, time_ms=moment.time_ms)
        if ended is current:
            return ProducerIdentity(*ended.identity), NOTHING
        return ProducerIdentity(*ended.identity), self._prepare(ended)

    def forget_deleted_topics(self, topic_id_of: object) -> Decision:
        """Decide nothing: markers for partitions that exist no longer are not sent."""
        return NOTHING

    def _check_two_phases(self, asked: Initialization) -> None:
        """Raise as Kafka does where two-phase commits are off, or cannot be kept."""
        if asked.is_two_phase and not self._config.allows_two_phases:
            raise ApiError(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                "transaction.two.phase.commit.enable is false on the broker",
            )
        if not asked.keeps_prepared:
            return
        # Records of version 0 have no place for the second identity.
        if not asked.is_two_phase or self._server_version() < 1:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        if asked.expected is not None:
            raise ApiError(ErrorCode.INVALID_REQUEST)

    def _check_timeout(self, asked: Initialization) -> None:
        is_valid = 0 < asked.timeout_ms <= self._config.max_timeout_ms
        if not is_valid and not asked.is_two_phase:
            raise ApiError(
                ErrorCode.INVALID_TRANSACTION_TIMEOUT,
                f"transaction.timeout.ms is {asked.timeout_ms}; the broker allows 1 to "
                f"{self._config.max_timeout_ms} (transaction.max.timeout.ms)",
            )

    def _of_producer(self, transactional_id: str, producer: tuple[int, int]) -> Transaction:
        """Return the transaction of a producer that may still change it; raise ``ApiError``."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if transaction.is_kept and producer == transaction.identity:
            raise ApiError(ErrorCode.INVALID_TXN_STATE)  # it may only end the transaction
        if transaction.state.is_prepared:
            # First, for its next transaction may have a new producer id.
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        check_writer(transaction, *producer)
        return transaction

    # -- from prepared to complete ---------------------------------------------------------------

    def _prepare(self, prepared: Transaction) -> Decision:
        return Decision((self._record(prepared),), actions=(self._write_markers(prepared),))

    def _write_markers(self, prepared: Transaction) -> Action:
        return Action(
            markers_of(prepared, self._coordinator_epoch), partial(self._markers_written, prepared)
        )

    def _markers_written(self, prepared: Transaction, code: ErrorCode, moment: Moment) -> Decision:
        if code:
            log.warning(
                "Markers of %r are refused with %s: it stays %s until this broker loads it again",
                prepared.transactional_id,
                code.name,
                prepared.state.label,
            )
            return NOTHING
        return self._complete(prepared, moment)

    def _complete(self, prepared: Transaction, moment: Moment) -> Decision:
        if self.transactions.get(prepared.transactional_id) != prepared:
            return NOTHING  # completed already

        def complete_later(code: ErrorCode) -> None:
            if code:
                key = ("completion", prepared.transactional_id)
                deadline = moment.after(REWRITE_MS)
                self._timers.schedule(key, deadline, partial(self._complete, prepared))

        completed = prepared.completed(moment.time_ms)
        return Decision((self._record(completed),), when_written=complete_later)

    def _record(self, transaction: Transaction) -> TransactionRecord:
        value_version = min(self._server_version(), 1)
        return TransactionRecord(transaction.transactional_id, transaction, value_version)

    # -- replay ----------------------------------------------------------------------------------

    def decode(self, key: bytes | None, value: bytes | None) -> TransactionRecord:
        return TransactionRecord.decode(key or b"", value)

    def replay(self, record: TransactionRecord) -> None:
        """Apply one record of the log."""
        if record.transaction is None:
            self.transactions.pop(record.transactional_id, None)
        else:
            self.transactions[record.transactional_id] = record.transaction

    # -- time ------------------------------------------------------------------------------------

    def loaded(self, moment: Moment) -> list[Decision]:
        """Resume the markers of all transactions that are decided, and begin to watch the time."""
        self._schedule_timeouts(moment)
        self._schedule_expiry(moment)
        return [
            Decision(actions=(self._write_markers(transaction),))
            for transaction in self.transactions.values()
            if transaction.state.is_prepared
        ]

    def unloaded(self) -> None:
        """Do nothing: no request waits inside of the shard."""

    def _schedule_timeouts(self, moment: Moment) -> None:
        deadline = moment.after(self._config.timeout_check_interval_ms)
        self._timers.schedule(("timeouts",), deadline, self._check_timeouts)

    def _check_timeouts(self, moment: Moment) -> Decision:
        self._schedule_timeouts(moment)
        overdue = [each for each in self.transactions.values() if each.is_overdue(moment.time_ms)]
        return self._abort_overdue(overdue, moment)

    def _abort_overdue(self, overdue: Sequence[Transaction], moment: Moment) -> Decision:
        """Abort the first one, and the others next: each by a decision of its own."""
        if not overdue:
            return NOTHING
        first, others = overdue[0], overdue[1:]
        if others:
            self._timers.schedule(("overdue",), moment.now, partial(self._abort_overdue, others))
        if self.transactions.get(first.transactional_id) != first:
            return NOTHING
        log.info("Aborted the transaction of %r: it timed out", first.transactional_id)
        return self._prepare(first.fenced(self._server_version(), moment.time_ms))

    def _schedule_expiry(self, moment: Moment) -> None:
        deadline = moment.after(self._config.expiration_check_interval_ms)
        self._timers.schedule(("expiry",), deadline, self._expire)

    def _expire(self, moment: Moment) -> Decision:
        """Forget ids that were not used for long and have no open transaction."""
        self._schedule_expiry(moment)
        last_ms = moment.time_ms - self._config.expiration_ms
        tombstones = [
            TransactionRecord(transaction.transactional_id)
            for transaction in self.transactions.values()
            if transaction.state.is_idle and transaction.updated_ms <= last_ms
        ]
        return Decision(tombstones, is_atomic=False)
