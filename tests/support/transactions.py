"""Transactional ids of one shard over a log in memory, in virtual time, with partition leaders that
write markers when the test says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.coordinator.transaction.ending import End
from pyk.reference_broker.coordinator.transaction.initializing import (
    Initialization,
    ProducerIdNeededError,
)
from pyk.reference_broker.coordinator.transaction.markers import MarkersToWrite
from pyk.reference_broker.coordinator.transaction.shard import (
    ProducerIdentity,
    TransactionConfig,
    TransactionShard,
)
from pyk.reference_broker.coordinator.transaction.states import TransactionState
from pyk.reference_broker.coordinator.transaction.transaction import Transaction
from pyk.reference_broker.coordinator.write_errors import coordinator_write_error
from pyk.reference_broker.deferred import Deferred
from pyk.runtime.timers import Moment, TimerQueue
from support.groups import MemoryShardLog, Waiting
from support.shard_time import START_MS, ShardTime

ID = "payments"
ORDERS = TopicPartition("orders", 0)
BILLS = TopicPartition("bills", 1)
TIMEOUT_MS = 60_000


def transaction(state: TransactionState = TransactionState.EMPTY, **changes: Any) -> Transaction:
    """Return a transactional id in a state; it is of producer 7 in epoch 3."""
    partitions = frozenset([ORDERS])
    if state.is_idle:
        partitions = frozenset()
    values = {
        "transactional_id": ID,
        "producer_id": 7,
        "producer_epoch": 3,
        "timeout_ms": TIMEOUT_MS,
        "state": state,
        "partitions": partitions,
        "started_ms": -1 if state is TransactionState.EMPTY else START_MS,
        "updated_ms": START_MS,
    }
    return Transaction(**(values | changes))


class Transactions(ShardTime):
    """What producers do to a coordinator; ``advance`` lets time pass.

    ``markers`` are those that leaders were asked for and have not written.
    """

    def __init__(
        self,
        log: MemoryShardLog | None = None,
        *,
        version: int = 2,
        first_producer_id: int = 100,
        **config: int,
    ) -> None:
        super().__init__()
        self.log = log or MemoryShardLog()
        self.version = version
        self.coordinator_epoch = 5
        self._config = TransactionConfig(**config)
        self._next_producer_id = first_producer_id
        self.restart()

    def restart(self) -> None:
        """Forget everything but the log, and load that; answers of leaders are lost."""
        self.markers: list[tuple[MarkersToWrite, Deferred[ErrorCode]]] = []
        self.timers = TimerQueue(lambda _: None)
        self.runtime: ShardRuntime[TransactionShard] = ShardRuntime(
            "transactions",
            self.log,
            self.timers,
            self.moment,
            lambda timers: TransactionShard(
                self._config, timers, self.coordinator_epoch, lambda: self.version
            ),
            write_error=coordinator_write_error,
            act=self._act,
        )
        for _ in self.runtime.load():
            pass

    def move(self) -> None:
        """Load the log on another node, which coordinates from now on."""
        self.runtime.unload()
        self.coordinator_epoch += 1
        self.restart()

    def _act(self, markers: MarkersToWrite) -> Deferred[ErrorCode]:
        written: Deferred[ErrorCode] = Deferred()
        self.markers.append((markers, written))
        return written

    @property
    def shard(self) -> TransactionShard:
        return self.runtime._shard

    def state(self, transactional_id: str = ID) -> str:
        return self.shard.transactions[transactional_id].state.label

    def leaders_answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """Let the leaders answer everything that they were asked."""
        asked, self.markers = self.markers, []
        for _, written in asked:
            written.complete(code)

    # -- what producers do -------------------------------------------------------------------------

    def asking(self, event: Any) -> Waiting:
        """Ask the shard; fetch a producer id where it needs one."""

        def ask(new_id: int | None) -> Waiting:
            return Waiting(
                self.runtime.ask(
                    lambda shard, moment: event(shard, new_id, moment), lambda code: code
                )
            )

        try:
            return ask(None)
        except ProducerIdNeededError:
            self._next_producer_id += 1
            return ask(self._next_producer_id - 1)

    def initializing(
        self,
        transactional_id: str = ID,
        expected: tuple[int, int] | None = None,
        timeout_ms: int = TIMEOUT_MS,
        **two_phases: bool,
    ) -> Waiting:
        asked = Initialization(
            transactional_id=transactional_id,
            timeout_ms=timeout_ms,
            expected=expected,
            **two_phases,
        )
        return self.asking(
            lambda shard, new_id, moment: shard.init_producer_id(asked, new_id, moment)
        )

    def init(self, *args: Any, **more: Any) -> tuple[int, int] | ErrorCode:
        """Return the producer id and epoch, or the error."""
        return plain(self.initializing(*args, **more).response)

    def adding(
        self,
        producer: tuple[int, int],
        partitions: Iterable[TopicPartition] = (ORDERS,),
        transactional_id: str = ID,
    ) -> Waiting:
        def add(shard: TransactionShard, _: Any, moment: Moment) -> tuple[ErrorCode, Decision]:
            return shard.add_partitions(
                transactional_id, producer, partitions, self.version, moment
            )

        return self.asking(add)

    def add(self, *args: Any, **more: Any) -> ErrorCode:
        return self.adding(*args, **more).response

    def ending(
        self,
        producer: tuple[int, int],
        *,
        commit: bool = True,
        version: int | None = None,
        transactional_id: str = ID,
    ) -> Waiting:
        producer_id, producer_epoch = producer
        asked = End(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            commit=commit,
            client_version=self.version if version is None else version,
        )
        return self.asking(
            lambda shard, new_id, moment: shard.end_transaction(asked, new_id, moment)
        )

    def end(self, *args: Any, **more: Any) -> tuple[int, int] | ErrorCode:
        """Return the producer id and epoch of the next transaction, or the error."""
        return plain(self.ending(*args, **more).response)


def plain(response: ProducerIdentity | ErrorCode) -> tuple[int, int] | ErrorCode:
    if isinstance(response, ProducerIdentity):
        return response.producer_id, response.producer_epoch
    return response
