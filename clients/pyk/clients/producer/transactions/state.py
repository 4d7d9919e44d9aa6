"""The states of one transactional producer. Pure.

    UNINITIALIZED ──► INITIALIZING ──► READY ──────► IN_TRANSACTION ──► PREPARED
          ▲                │  ▲          │  ▲              │   │           │
          └────────────────┘  └──────────┘  │   ┌──────────┤   │           │
                                            │   ▼          ▼   │           │
                                            │ COMMITTING ◄─────────────────┤
                                            │   │ │            │           │
                                            ├───┘ └─► MUST_ABORT           │
                                            │             │    │           │
                                            └── ABORTING ◄┴────┴───────────┘

    from every state: ──► FAILED

1. The coordinator gives the producer its id and epoch (InitProducerId). A later producer with the
   same transactional id gets the next epoch; the older one is fenced, which is FAILED.
2. An error that leaves the transaction incomplete, such as a batch that failed, leads to
   MUST_ABORT. What was not sent is dropped, and only ``abort`` is allowed.
3. A transaction in which nothing was sent ends without a request.
4. *Version 2* (KIP-890), where the cluster has finalized ``transaction.version`` 2: a batch adds
   its partition to the transaction by itself, TxnOffsetCommit its group, and each EndTxn answers
   with the epoch of the next transaction, so whatever of this one is late is refused.
5. *Version 1*: partitions and groups are added before (AddPartitionsToTxn, AddOffsetsToTxn), and
   the epoch stays. A request whose answer was lost may then still arrive, in the next transaction:
   a late EndTxn would end that one half-way (KAFKA-17754). So after such a loss, and after each
   error, the producer asks for another epoch before it begins anything (``must_initialize``,
   KIP-360). It does the same where the version has changed since the last transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from pyk.clients.errors import KafkaError, StateError, TransactionAbortableError
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.clients.producer.transactions.meanings import Meaning
from pyk.clients.topic_partition import TopicPartition


class State(Enum):
    """The state of a transactional producer; the value completes "the producer …"."""

    UNINITIALIZED = "is not initialized: call init_transactions() first"
    INITIALIZING = "is being initialized: call init_transactions() again to wait for it"
    READY = "is not in a transaction: call begin_transaction() first"
    IN_TRANSACTION = "is in a transaction: commit or abort it first"
    PREPARED = "has a prepared transaction: call complete_transaction() first"
    COMMITTING = "is committing a transaction: call commit_transaction() again to wait for it"
    ABORTING = "is aborting a transaction: call abort_transaction() again to wait for it"
    MUST_ABORT = "has to abort its transaction: call abort_transaction()"
    FAILED = "has failed: close it"


_MOVES = {
    State.UNINITIALIZED: {State.INITIALIZING},
    # Back, if it was the first time and is refused: nothing is open, so the call may be repeated.
    State.INITIALIZING: {State.UNINITIALIZED, State.READY},
    State.READY: {State.INITIALIZING, State.IN_TRANSACTION},
    State.IN_TRANSACTION: {
        State.PREPARED,
        State.COMMITTING,
        State.ABORTING,
        State.MUST_ABORT,
    },
    State.PREPARED: {State.COMMITTING, State.ABORTING},  # as by complete_transaction
    State.COMMITTING: {State.READY, State.MUST_ABORT},
    State.MUST_ABORT: {State.ABORTING},
    State.ABORTING: {State.READY},
    State.FAILED: set(),
}

_WITH_ERROR = (State.MUST_ABORT, State.FAILED)


class TransactionState:
    """The states, moved by calls of the application and by answers of brokers.

    ``on_error`` is called when the transaction has to be aborted, and when the producer has failed,
    with the error that later calls raise.
    """

    def __init__(
        self, transactional_id: str, on_error: Callable[[KafkaError], object] = lambda _: None
    ) -> None:
        self.transactional_id = transactional_id
        self.on_error = on_error
        self.state = State.UNINITIALIZED
        self.identity: ProducerIdentity | None = None
        """The producer id and epoch of the coordinator's last answer."""
        self.version = 1
        """The version of the transactions protocol, of the present transaction or the next one."""
        self.must_initialize = True
        """Whether another epoch is needed before the next transaction."""
        self.has_started = False
        """Whether the coordinator has, or may have, something of the transaction."""
        self.may_have_started = False
        """Whether a first request of version 1 was sent, with no answer yet."""
        self.error: KafkaError | None = None
        """Why the transaction has to be aborted, or why the producer has failed."""
        self._added: set[TopicPartition] = set()
        self._wanted: dict[TopicPartition, None] = {}

    # -- what is allowed ---------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether a transaction takes records."""
        return self.state is State.IN_TRANSACTION

    @property
    def is_sending(self) -> bool:
        """Whether what the transaction took is still sent."""
        return self.state in (State.IN_TRANSACTION, State.COMMITTING)

    def check(self, *allowed: State) -> None:
        """Raise unless the producer is in one of these states."""
        if self.state in allowed:
            return
        if self.error is not None and self.state in _WITH_ERROR:
            raise copy_to_raise(self.error)
        raise StateError(f"the producer {self.state.value}")

    # -- initialization ----------------------------------------------------------------------------

    def begin_initialization(self) -> None:
        """Ask for a producer id, or for the next epoch of the one that is there."""
        self._move(State.INITIALIZING)

    def initialized(self, identity: ProducerIdentity) -> None:
        """Take the producer id and epoch that the coordinator has answered."""
        self.identity = identity
        self.must_initialize = False
        self._move(State.READY)

    def not_initialized(self, error: KafkaError) -> KafkaError:
        """Learn that the coordinator refused; return the error to raise."""
        if self.identity is None:
            self._move(State.UNINITIALIZED)
            return error
        return self.failed(error, Meaning.FAIL)

    # -- one transaction ---------------------------------------------------------------------------

    def use(self, version: int) -> None:
        """Use this version of the protocol from the next transaction on."""
        if version != self.version:
            self.version = version
            self.must_initialize = True

    def begin(self) -> None:
        """Begin a transaction."""
        self._move(State.IN_TRANSACTION)
        self.has_started = self.may_have_started = False
        self._added.clear()
        self._wanted.clear()

    def admits(self, partition: TopicPartition) -> bool:
        """Return whether a partition may get batches now; if not, it waits to be added."""
        if not self.is_sending:
            return False
        if self.version == 1 and partition not in self._added:
            self._wanted[partition] = None
            return False
        self.has_started = True
        return True

    def partitions_to_add(self) -> list[TopicPartition]:
        """Return the partitions that wait to be added."""
        return list(self._wanted) if self.is_sending else []

    def request_sent(self) -> None:
        """Learn that the coordinator is asked to add something to the transaction."""
        self.may_have_started = True

    def added(self, partitions: list[TopicPartition]) -> None:
        """Learn that partitions, or none but a group, are part of the transaction."""
        self.has_started = True
        self._added.update(partitions)
        for partition in partitions:
            self._wanted.pop(partition, None)

    def answer_lost(self) -> None:
        """Learn that a request was sent whose answer did not come: it may arrive late."""
        if self.version == 1:
            self.must_initialize = True

    def batch_failed(self, error: KafkaError, meaning: Meaning, *, was_sent: bool) -> None:
        """Learn that a batch was given up."""
        if was_sent and self.version == 1:
            self.must_initialize = True  # its sequence numbers are taken, or they are not
        if self.is_sending:
            self.failed(error, meaning)

    def prepare(self) -> None:
        """Keep the transaction as it is until somebody decides how it ends."""
        self._move(State.PREPARED)

    def begin_commit(self) -> None:
        self._move(State.COMMITTING)

    def begin_abort(self) -> None:
        self._move(State.ABORTING)

    @property
    def has_to_end(self) -> bool:
        """Whether the coordinator has to be told how the transaction ends."""
        return self.has_started or (self.state is State.ABORTING and self.may_have_started)

    def ended(self, identity: ProducerIdentity | None = None) -> None:
        """Learn that the transaction has ended; version 2 names the identity of the next one."""
        self.check(State.COMMITTING, State.ABORTING)
        if identity is not None:
            self.identity = identity
        self._move(State.READY)

    # -- errors ------------------------------------------------------------------------------------

    def failed(self, error: KafkaError, meaning: Meaning) -> KafkaError:
        """Take an error that ends the transaction or the producer; return the error to raise.

        While a transaction is being aborted, nothing else that it meets matters but the end of the
        producer.
        """
        if self.state is State.FAILED:
            assert self.error is not None
            return copy_to_raise(self.error)
        must_abort = meaning is Meaning.ABORT and self.is_sending
        if must_abort:
            self.error = _abortable(error)
            self.must_initialize |= self.version == 1
            self._move(State.MUST_ABORT, keeps_error=True)
        elif self.state is State.MUST_ABORT and meaning is Meaning.ABORT:
            assert self.error is not None
            return copy_to_raise(self.error)
        else:
            self.error = _fatal(error)
            self.state = State.FAILED
        self.on_error(self.error)
        return copy_to_raise(self.error)

    def _move(self, target: State, *, keeps_error: bool = False) -> None:
        if target not in _MOVES[self.state]:
            self.check(target)
            raise StateError(f"the producer {self.state.value}")
        self.state = target
        if not keeps_error:
            self.error = None


def _abortable(cause: KafkaError) -> KafkaError:
    if isinstance(cause, TransactionAbortableError):
        return cause
    error = TransactionAbortableError(
        f"the transaction cannot be committed any more, abort it: {cause}",
        topic=cause.topic,
        partition=cause.partition,
        group_id=cause.group_id,
        node_id=cause.node_id,
    )
    error.__cause__ = cause
    return error


def _fatal(cause: KafkaError) -> KafkaError:
    error = copy_to_raise(cause)
    error.fatal, error.retriable, error.txn_requires_abort = True, False, False
    return error
