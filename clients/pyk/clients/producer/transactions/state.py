"""The states of one transactional producer. Pure.

    UNINITIALIZED ◄──► INITIALIZING ──► READY ──► IN_TRANSACTION ──► WRITING ──► PREPARED
                            ▲           │   ▲                          │            │
                            └───────────┘   │                          ▼            │
                                            ├───────────────────── COMMITTING ◄─────┤
                                            │                                       │
                                            └───────────────────── ABORTING ◄───────┘

    IN_TRANSACTION, WRITING ─────────────► ABORTING
    IN_TRANSACTION, WRITING, COMMITTING ─► MUST_ABORT ─► ABORTING
    INITIALIZING ────────────────────────► PREPARED
    every state ─────────────────────────► FAILED

1. The coordinator gives the producer its id and epoch (InitProducerId). A later producer with the
   same transactional id gets the next epoch; the older one is fenced, which is FAILED. What that
   left open is aborted, unless the later one keeps it, to end it: PREPARED (KIP-939).
2. ``commit`` and ``prepare`` first wait in WRITING until all records and offsets are written. No
   more are taken, and nobody has been told yet how the transaction ends: it can still be aborted.
3. An error that leaves the transaction incomplete, such as a batch that failed, leads to
   MUST_ABORT. What was not sent is dropped, and only ``abort`` is allowed.
4. A transaction in which nothing was sent ends without a request.
5. *Version 2* (KIP-890), where the cluster has finalized ``transaction.version`` 2: a batch adds
   its partition to the transaction by itself, TxnOffsetCommit its group, and each EndTxn answers
   with the epoch of the next transaction, so whatever of this one is late is refused.
6. *Version 1*: partitions and groups are added before (AddPartitionsToTxn, AddOffsetsToTxn), and
   the epoch stays unless something is in doubt (:mod:`.epochs`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from pyk.clients.errors import KafkaError, StateError, TransactionAbortableError
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.clients.producer.transactions.contents import TransactionContents
from pyk.clients.producer.transactions.epochs import TransactionEpochs
from pyk.clients.producer.transactions.meanings import Meaning


class State(Enum):
    """The state of a transactional producer; the value completes "the producer …"."""

    UNINITIALIZED = "is not initialized: call init_transactions() first"
    INITIALIZING = "is being initialized: call init_transactions() again to wait for it"
    READY = "is not in a transaction: call begin_transaction() first"
    IN_TRANSACTION = "is in a transaction: commit or abort it first"
    WRITING = (
        "is writing the rest of a transaction: call commit_transaction() or prepare_transaction() "
        "again to wait for it, or abort_transaction()"
    )
    PREPARED = "has a prepared transaction: call complete_transaction() first"
    COMMITTING = "is committing a transaction: call commit_transaction() again to wait for it"
    ABORTING = "is aborting a transaction: call abort_transaction() again to wait for it"
    MUST_ABORT = "has to abort its transaction: call abort_transaction()"
    FAILED = "has failed: close it"


_MOVES = {
    State.UNINITIALIZED: {State.INITIALIZING},
    # Back, if it was the first time and is refused: nothing is open, so the call may be repeated.
    State.INITIALIZING: {State.UNINITIALIZED, State.READY, State.PREPARED},
    State.READY: {State.INITIALIZING, State.IN_TRANSACTION},
    State.IN_TRANSACTION: {State.WRITING, State.ABORTING, State.MUST_ABORT},
    State.WRITING: {State.PREPARED, State.COMMITTING, State.ABORTING, State.MUST_ABORT},
    State.PREPARED: {State.COMMITTING, State.ABORTING},  # as by complete_transaction
    State.COMMITTING: {State.READY, State.MUST_ABORT},
    State.MUST_ABORT: {State.ABORTING},
    State.ABORTING: {State.READY},
    State.FAILED: set(),
}

_SENDING = (State.IN_TRANSACTION, State.WRITING)
_CAN_STILL_FAIL = (*_SENDING, State.COMMITTING)
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
        self.epochs = TransactionEpochs()
        self.contents = TransactionContents(self.epochs.version)
        """What the present transaction, or the last one, consists of."""
        self.error: KafkaError | None = None
        """Why the transaction has to be aborted, or why the producer has failed."""

    # -- what is allowed ---------------------------------------------------------------------------

    @property
    def identity(self) -> ProducerIdentity | None:
        """The producer id and epoch, None before the first initialization."""
        return self.epochs.identity

    @property
    def version(self) -> int:
        """The version of the protocol, of the present transaction or the next one."""
        return self.epochs.version

    @property
    def is_open(self) -> bool:
        """Whether a transaction takes records."""
        return self.state is State.IN_TRANSACTION

    @property
    def is_sending(self) -> bool:
        """Whether what the transaction took is still sent."""
        return self.state in _SENDING

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
        self.epochs.received(identity)
        self._move(State.READY)

    def kept(self, identity: ProducerIdentity) -> None:
        """Take the identity with which the open transaction of the producer before is ended."""
        self.check(State.INITIALIZING)
        self.epochs.received(identity)
        self.contents = TransactionContents(self.epochs.version)
        self.contents.has_started = True
        self._prepared()

    def not_initialized(self, error: KafkaError) -> KafkaError:
        """Learn that the coordinator refused; return the error to raise."""
        if self.epochs.identity is None:
            self._move(State.UNINITIALIZED)
            return error
        return self.failed(error, Meaning.FAIL)

    # -- one transaction ---------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a transaction."""
        self._move(State.IN_TRANSACTION)
        self.contents = TransactionContents(self.epochs.version)

    def begin_writing(self) -> None:
        """Take no more records; those that were taken are written."""
        self._move(State.WRITING)

    def prepare(self) -> None:
        """Keep the transaction as it is until somebody decides how it ends."""
        self.check(State.WRITING)
        self._prepared()

    def _prepared(self) -> None:
        self._move(State.PREPARED)
        self.epochs.in_doubt()  # others may ask for its end again, long after it has ended

    def begin_end(self, *, is_commit: bool) -> None:
        """Ask the coordinator to end the transaction."""
        self._move(State.COMMITTING if is_commit else State.ABORTING)

    @property
    def has_to_end(self) -> bool:
        """Whether the coordinator has to be told how the transaction ends."""
        contents = self.contents
        is_abort = self.state is State.ABORTING
        return contents.has_started or (is_abort and contents.may_have_started)

    def ended(self, identity: ProducerIdentity | None = None) -> None:
        """Learn that the transaction has ended; version 2 names the identity of the next one."""
        self.check(State.COMMITTING, State.ABORTING)
        if identity is not None:
            self.epochs.identity = identity
        self._move(State.READY)

    # -- errors ------------------------------------------------------------------------------------

    def batch_failed(self, error: KafkaError, meaning: Meaning, *, has_numbers: bool) -> None:
        """Learn that a batch was given up."""
        if has_numbers:
            self.epochs.in_doubt()  # its sequence numbers are taken, or they are not
        if self.is_sending:
            self.failed(error, meaning)

    def failed(self, error: KafkaError, meaning: Meaning) -> KafkaError:
        """Take an error that ends the transaction or the producer; return the error to raise.

        While a transaction is being aborted, nothing else that it meets matters but the end of the
        producer.
        """
        if self.state is State.FAILED:
            assert self.error is not None
            return copy_to_raise(self.error)
        if meaning is Meaning.ABORT and self.state in _CAN_STILL_FAIL:
            self.error = TransactionAbortableError.because_of(error)
            self.epochs.in_doubt()
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


def _fatal(cause: KafkaError) -> KafkaError:
    error = copy_to_raise(cause)
    error.fatal, error.retriable, error.txn_requires_abort = True, False, False
    return error
