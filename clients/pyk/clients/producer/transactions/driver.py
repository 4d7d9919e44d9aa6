"""The calls of a transactional producer: begin, send offsets, commit, abort, prepare, complete."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from pyk.clients.config import ProducerConfig
from pyk.clients.engine.client import Client
from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    StateError,
    TransactionAbortableError,
    TransactionAbortedError,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.offsets import TransactionOutcome
from pyk.clients.producer.batching.accumulator import RecordAccumulator
from pyk.clients.producer.sending.send_planner import SendPlanner
from pyk.clients.producer.sending.sender import Sender
from pyk.clients.producer.transactions.contents import TransactionContents
from pyk.clients.producer.transactions.end import TransactionEnd
from pyk.clients.producer.transactions.ending import tell_end
from pyk.clients.producer.transactions.initialization import Initialization
from pyk.clients.producer.transactions.meanings import Meaning
from pyk.clients.producer.transactions.operation import Operation
from pyk.clients.producer.transactions.prepared import PreparedTransaction
from pyk.clients.producer.transactions.requester import (
    RefusedCall,
    StoppedCall,
    TransactionRequester,
)
from pyk.clients.producer.transactions.requests import (
    CoordinatorCall,
    GroupMetadata,
    add_offsets,
    add_partitions,
    commit_offsets,
)
from pyk.clients.producer.transactions.state import State, TransactionState
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

log = logging.getLogger(__name__)

INIT = "init_transactions"
BEGIN = "begin_transaction"
SEND_OFFSETS = "send_offsets_to_transaction"
COMMIT = "commit_transaction"
ABORT = "abort_transaction"
PREPARE = "prepare_transaction"

# How much of the time to close is left for the abort of a transaction that is not committed in it.
ABORT_SECONDS = 1.0


class TransactionDriver:
    """Drives the transactions of one producer, on its event loop.

    Each call is an :class:`Operation`: it goes on when its caller stops waiting, and made again it
    waits on. ``flush`` waits until all records are settled.
    """

    def __init__(
        self,
        state: TransactionState,
        client: Client,
        config: ProducerConfig,
        accumulator: RecordAccumulator,
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self.state = state
        self.end = TransactionEnd()
        """The end of the present transaction, or of the last one."""
        self._client = client
        self._config = config
        self._admission = accumulator.admission
        self._flush = flush
        self._requester = TransactionRequester(client, state.epochs)
        self._initialization = Initialization(self._requester, state, config)
        self._operation: Operation | None = None
        self._offset_operations: list[Operation] = []
        self._adding_to: TransactionContents | None = None
        state.on_error = self._stop_sending
        self._refuse_records()

    def connect(self, planner: SendPlanner, sender: Sender) -> None:
        """Learn what sends the records."""
        self._planner = planner
        self._sender = sender

    @property
    def error(self) -> KafkaError | None:
        """Why the coordinator has not done yet what records wait for."""
        return self._requester.error

    # -- calls -------------------------------------------------------------------------------------

    async def initialize(
        self, timeout: float | None, *, keeps_prepared: bool = False
    ) -> PreparedTransaction | None:
        """Get the producer id; return at once if it is there already.

        With ``keeps_prepared`` return the open transaction of the producer before, None if there is
        none; otherwise it is aborted.
        """
        state, initialization = self.state, self._initialization
        if state.identity is None:
            state.check(State.UNINITIALIZED, State.INITIALIZING)
            if self._operation is None or self._operation.is_over:
                initialization.keeps_prepared = keeps_prepared
        self._raise_if_failed()
        initialization.check_keeps(keeps_prepared)
        if state.identity is None:
            work = partial(self._initialize, initialization.keeps_prepared)
            await self._call(INIT, work, timeout)
        return self.end.prepared if keeps_prepared and state.state is State.PREPARED else None

    async def begin(self, timeout: float | None) -> TransactionEnd:
        """Begin a transaction, with a new epoch if one is needed; return its end.

        Any number of callers may wait for the epoch; the transaction is that of the first one.
        """
        operation = self._operation
        if operation is not None and operation.name == BEGIN and operation.is_over:
            self._operation = None  # nobody has waited for it
        self._check_outcome_is_known()
        if not self._is_running(BEGIN):
            self.state.check(State.READY)
        if self._operation is not None or not self._is_ready():
            await self._call(BEGIN, self._be_ready, timeout)
        self.state.begin()
        self._offset_operations = []
        self._planner.begin_transaction(self.state.version)
        self._admission.begin_term()
        self.end = TransactionEnd()
        return self.end

    async def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: GroupMetadata,
        timeout: float | None,
        *,
        on_taken: Callable[[], object] = lambda: None,
    ) -> None:
        """Make offsets of a group part of the transaction.

        From ``on_taken`` on, it is committed with them or not at all.
        """
        self.state.check(State.IN_TRANSACTION)
        self._check_sends()
        if not offsets:
            return
        operation = self._begin_operation(SEND_OFFSETS, self._send_offsets(offsets, group))
        self._offset_operations.append(operation)
        self.end.has_offsets = True
        on_taken()
        await operation.wait(self._seconds(timeout))

    async def commit(self, timeout: float | None) -> None:
        """Commit the transaction, once all its records are written."""
        if not self._is_running(COMMIT):
            self.state.check(State.IN_TRANSACTION, State.PREPARED)
        await self._call(COMMIT, self._commit, timeout)

    async def abort(self, timeout: float | None) -> None:
        """Abort the transaction; what was not sent is dropped.

        A commit, or a prepare, that has not told the coordinator anything yet is given up.
        """
        if not self._is_running(ABORT):
            self._check_may_abort()
        await self._call(ABORT, self._abort, timeout)

    async def finish_last(self, *, waits_for_commit: bool) -> None:
        """Wait for an abort that goes on, and abort what a block left that could not be
        committed. With ``waits_for_commit``, wait for a commit that a block left, too."""
        if waits_for_commit and self.end.is_left and self._is_running(COMMIT):
            with contextlib.suppress(TransactionAbortableError):
                await self.commit(None)
        is_left = self.state.state is State.MUST_ABORT and self.end.is_left
        if is_left or self.state.state is State.ABORTING:
            await self.abort(None)

    async def prepare(self, timeout: float | None) -> PreparedTransaction:
        """Write all records of the transaction, and return how to end it."""
        if not self._is_running(PREPARE):
            self.state.check(State.IN_TRANSACTION)
        prepared: PreparedTransaction = await self._call(PREPARE, self._prepare, timeout)
        return prepared

    def has_prepared(self, prepared: PreparedTransaction) -> bool:
        """Return whether this is what the producer itself has prepared last."""
        return prepared == self.end.prepared

    async def close(self, timeout: float | None) -> None:
        """Wait for the call that is being done, and abort the transaction that is left open.

        A prepared transaction stays: it is for somebody else to end.
        """
        seconds = self._seconds(timeout)
        if timeout is None and not (self._is_running(COMMIT) or self._is_running(PREPARE)):
            # Nothing is lost by an abort that does not come through: the brokers make it.
            seconds = min(seconds, self._config.request_timeout_ms / 1000)
        deadline = self._client.clock.now() + seconds
        try:
            if self._operation is not None:
                await self._finish(self._operation, deadline)
        except KafkaError as error:
            log.info("A call was given up when the producer was closed: %s", error)
        self._operation = None
        if self.state.state not in (State.IN_TRANSACTION, State.WRITING, State.MUST_ABORT):
            return
        try:
            await self._call(ABORT, self._abort, max(0.0, deadline - self._client.clock.now()))
        except KafkaError as error:
            log.warning(
                "The open transaction of %r was not aborted before the producer was closed; the "
                "brokers abort it: %s", self.state.transactional_id, error
            )  # fmt: skip

    async def _finish(self, operation: Operation, deadline: float) -> None:
        """Wait for a call; one that an abort can still replace leaves time for that."""
        left = deadline - self._client.clock.now()
        if self._can_be_given_up(ABORT):
            with contextlib.suppress(KafkaTimeoutError):
                await operation.wait(left - min(left / 4, ABORT_SECONDS))
            if operation.is_over or self._can_be_given_up(ABORT):
                return
        await operation.wait(max(0.0, deadline - self._client.clock.now()))

    def give_up(self) -> None:
        """Learn that the producer is closed: nothing more is done about the transaction."""
        if self.state.state is State.COMMITTING:
            self.end.may_be_committed = True
        self.end.give_up()

    def ask_soon(self) -> None:
        """Add the partitions that wait for it, unless that is being done."""
        state, contents = self.state, self.state.contents
        if self._adding_to is not contents and state.is_sending and contents.partitions_to_add():
            self._adding_to = contents
            self._client.supervisor.spawn("add partitions to a transaction", self._add(contents))

    # -- what they do ------------------------------------------------------------------------------

    async def _initialize(self, keeps_prepared: bool = False) -> None:
        kept = await self._initialization.run(keeps_prepared=keeps_prepared)
        if kept is not None:
            self.end.may_be_committed = True
            self.end.prepared = kept
        self._refuse_records()

    def _is_ready(self) -> bool:
        """Return whether a transaction may begin without a request, as most of them do."""
        if self._requester.must_look_at_features:
            return False
        self.state.epochs.use(self._requester.version())
        return not self.state.epochs.must_initialize

    async def _be_ready(self) -> None:
        """Do what has to be done before a transaction begins, and no more: a caller that has
        stopped waiting must not find itself in a transaction."""
        state = self.state
        await self._requester.look_at_features()
        state.epochs.use(self._requester.version())
        if state.epochs.must_initialize:
            await self._initialize()

    async def _add(self, contents: TransactionContents) -> None:
        """Add partitions (version 1), as long as there are some."""
        state = self.state
        try:
            while self._is_present(contents) and (partitions := contents.partitions_to_add()):
                assert state.identity is not None
                call = add_partitions(state.transactional_id, state.identity, partitions)
                await self._ask(call, contents)
                contents.added(partitions)
                self._sender.wake()
        except (KafkaError, StoppedCall):
            return  # the state knows, and the batches of these partitions are dropped
        finally:
            if self._adding_to is contents:
                self._adding_to = None

    async def _send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata
    ) -> None:
        state, contents = self.state, self.state.contents
        identity = state.identity
        assert identity is not None
        try:
            if state.version == 1:
                await self._ask(
                    add_offsets(state.transactional_id, identity, group.group_id), contents
                )
            contents.added([])
            call = commit_offsets(state.transactional_id, identity, state.version, offsets, group)
            await self._ask(call, contents)
        except StoppedCall:
            raise self._stopped(contents) from None

    async def _commit(self) -> None:
        if self.state.state is not State.PREPARED:
            await self._write_all()
        self.state.begin_end(is_commit=True)
        self._refuse_records()
        await self._end(is_commit=True)

    async def _abort(self) -> None:
        self.state.begin_end(is_commit=False)
        if not self.end.may_be_committed:
            self.end.settle(TransactionOutcome.ABORTED)
        self._refuse_records()
        dropped = TransactionAbortedError(
            "the record was not sent: its transaction was aborted before"
        )
        self._planner.drop_unsent(dropped)
        self._sender.wake()
        await self._flush()
        if self.state.version == 1:
            await self._no_request_in_flight()
        await self._end(is_commit=False)

    async def _prepare(self) -> PreparedTransaction:
        await self._write_all()
        self.state.prepare()
        self.end.may_be_committed = True
        self._refuse_records()
        self.end.prepared = self._prepared_transaction()
        return self.end.prepared

    async def _write_all(self) -> None:
        """Wait until the records and the offsets of the transaction are written."""
        state, contents = self.state, self.state.contents
        operations = self._offset_operations
        state.begin_writing()
        self._refuse_records()
        self._check_sends()
        await self._flush()
        for operation in operations:
            try:
                await operation.wait(None)
            except KafkaError as error:
                if self._is_present(contents):  # after a bug in pyk: brokers' errors are known
                    raise state.failed(error, Meaning.ABORT) from error
        if not self._is_present(contents):
            raise self._stopped(contents)

    async def _no_request_in_flight(self) -> None:
        """Wait for the answers to batches that expired: a late append must not follow the end.

        In version 2, the epoch of the end keeps it out.
        """
        idle = asyncio.Event()
        self._sender.call_when_idle(idle.set)
        await idle.wait()

    async def _end(self, *, is_commit: bool) -> None:
        state = self.state
        identity = None
        if state.has_to_end:
            self.end.may_be_committed |= is_commit
            try:
                identity = await tell_end(self._requester, state, is_commit=is_commit)
            except RefusedCall as refused:
                failed = state.failed(refused.error, refused.meaning)
                raise failed from failed.__cause__
        self.end.settle(TransactionOutcome.COMMITTED if is_commit else TransactionOutcome.ABORTED)
        state.ended(identity)
        self._refuse_records()

    async def _ask(self, call: CoordinatorCall, contents: TransactionContents) -> None:
        """Ask for something that is part of the transaction with these contents, and of no other.

        Raises :class:`StoppedCall` once that transaction is not sent any more.
        """
        contents.request_sent()
        try:
            await self._requester.ask(call, lambda: self._is_present(contents))
        except RefusedCall as refused:
            if refused.meaning is Meaning.ABORT and not self._is_present(contents):
                raise StoppedCall from refused  # it is being aborted anyway
            failed = self.state.failed(refused.error, refused.meaning)
            raise failed from failed.__cause__

    def _prepared_transaction(self) -> PreparedTransaction:
        state, identity = self.state, self.state.identity
        assert identity is not None
        return PreparedTransaction(
            state.transactional_id,
            identity.producer_id,
            identity.epoch,
            state.version,
            is_empty=not state.has_to_end,
        )

    # -- around them -------------------------------------------------------------------------------

    def _is_present(self, contents: TransactionContents) -> bool:
        """Return whether this is the transaction that takes records, or writes the last ones."""
        return self.state.is_sending and self.state.contents is contents

    def _is_running(self, name: str) -> bool:
        return self._operation is not None and self._operation.name == name

    async def _call(
        self, name: str, work: Callable[[], Coroutine[Any, Any, Any]], timeout: float | None
    ) -> Any:
        """Wait for an operation, which is begun unless a call before has done so.

        It is forgotten once a caller knows its outcome, and no sooner: a caller whose wait ends at
        the same moment makes its call again.
        """
        operation = self._operation
        if operation is not None and operation.name != name:
            if not (operation.is_over or self._can_be_given_up(name)):
                raise StateError(
                    f"{operation.name}() is still being done: call it again to wait for it"
                )
            operation = None
        if operation is None:
            operation = self._operation = self._begin_operation(name, work())
        try:
            result = await operation.wait(self._seconds(timeout))
        except BaseException as error:
            if operation.is_result(error):
                self._forget(operation)
            raise
        self._forget(operation)
        return result

    def _begin_operation(self, name: str, work: Coroutine[Any, Any, Any]) -> Operation:
        return Operation(self._client, name, work, self._last_error)

    def _forget(self, operation: Operation) -> None:
        if self._operation is operation:
            self._operation = None

    def _can_be_given_up(self, name: str) -> bool:
        """Return whether the call that goes on gives way to an abort."""
        return name == ABORT and self.state.state in (State.WRITING, State.MUST_ABORT)

    def _last_error(self) -> KafkaError | None:
        """Return why the call that goes on has not ended yet."""
        return self._requester.error or self._planner.last_error

    def _check_sends(self) -> None:
        """Raise if a record of the transaction could not be taken: it has to be aborted."""
        failure = self._admission.failure
        if failure is not None:
            raise self.state.failed(failure, Meaning.ABORT)

    def _check_may_abort(self) -> None:
        operation = self._operation
        if operation is not None and operation.name == COMMIT and operation.has_succeeded:
            raise StateError("the transaction was committed meanwhile: it cannot be aborted")
        if self.state.state is not State.MUST_ABORT:
            self.state.check(State.IN_TRANSACTION, State.WRITING, State.PREPARED)

    def _check_outcome_is_known(self) -> None:
        """Raise if the last commit has succeeded unseen: its records would be written again."""
        operation = self._operation
        if operation is not None and operation.name == COMMIT and operation.has_succeeded:
            raise StateError(
                "the last transaction was committed after its caller had stopped waiting: call "
                "commit_transaction() again, which returns at once, before a new one begins"
            )

    def _raise_if_failed(self) -> None:
        if self.state.state is State.FAILED:
            self.state.check()

    def _stopped(self, contents: TransactionContents) -> KafkaError:
        """Return why what belongs to a transaction is not sent any more."""
        if self.state.contents is contents and self.state.error is not None:
            return copy_to_raise(self.state.error)
        return TransactionAbortedError("the transaction was aborted meanwhile")

    def _stop_sending(self, error: KafkaError) -> None:
        """Take no more records, and drop those that were not sent."""
        log.info("The transaction of %r: %s", self.state.transactional_id, error)
        if self.state.state is State.MUST_ABORT:
            self.end.settle(TransactionOutcome.ABORTED)
        else:
            self.end.give_up()
        self._admission.refuse_for_now(error)
        self._planner.drop_unsent(error)
        self._sender.wake()

    def _refuse_records(self) -> None:
        self._admission.refuse_for_now(StateError(f"the producer {self.state.state.value}"))

    def _seconds(self, timeout: float | None) -> float:
        return self._config.max_block_ms / 1000 if timeout is None else timeout
