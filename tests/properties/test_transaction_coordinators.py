"""Coordinators that move, switched versions, late markers: each transaction has one outcome.

The coordinator is real, and so is what partitions know of producers. The network between them
delays and loses what it wants.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.coordinator.transaction.markers import MarkersToWrite
from pyk.reference_broker.storage.errors import LogError
from pyk.reference_broker.storage.producer_state import ProducerStates
from pyk.reference_broker.storage.transaction_marker import TransactionMarker
from pyk.runtime import slotted
from support.transactions import ID, TIMEOUT_MS, Transactions

PARTITIONS = [TopicPartition("orders", number) for number in range(3)]
LEVELS = [0, 1, 2]
Identity = tuple[int, int]


@slotted.frozen
class Batch:
    """A batch as a partition sees it."""

    producer_id: int
    producer_epoch: int
    base_sequence: int = 0
    last_sequence: int = 0
    last_offset_delta: int = 0
    is_transactional: bool = True


class PartitionModel:
    """The producers of a partition, and how the transactions in it have ended."""

    def __init__(self) -> None:
        self.producers = ProducerStates()
        self.open: dict[int, int] = {}
        self.outcomes: dict[int, bool] = {}
        self._end_offset = 0

    def append(self, number: int, identity: Identity) -> None:
        """Append a record of a transaction; raise ``LogError`` if it comes too late."""
        batch = Batch(*identity)
        self.producers.check(batch, "orders", has_sequence=False)
        self.producers.add(batch, self._end_offset, 0)
        self.open.setdefault(identity[0], number)
        self._end_offset += 1

    def write_marker(self, markers: MarkersToWrite) -> ErrorCode:
        marker = TransactionMarker(
            markers.producer_id, markers.producer_epoch, markers.coordinator_epoch, markers.commit
        )
        try:
            self.producers.check_marker(marker, markers.transaction_version, "orders")
        except LogError as error:
            return error.code
        self.producers.end_transaction(marker, self._end_offset, 0)
        self._end_offset += 1
        number = self.open.pop(markers.producer_id, None)
        if number is not None:
            self.outcomes[number] = markers.commit
        return ErrorCode.NONE


class MovingCoordinators(RuleBasedStateMachine):
    """One transactional id; a transaction is a number, and its producer an identity."""

    def __init__(self) -> None:
        super().__init__()
        self.transactions = Transactions()
        self.partitions = {name: PartitionModel() for name in PARTITIONS}
        self.late: list[MarkersToWrite] = []
        self.told: dict[int, bool] = {}
        self.number = 0
        self.identity: Identity | None = None
        self.client_version = 2
        self.identities: list[Identity] = []

    # -- the producer ----------------------------------------------------------------------------

    def begin(self, identity: Any) -> None:
        assert isinstance(identity, tuple), identity
        self.identity = identity
        self.number += 1
        self.client_version = 2 if self.transactions.version == 2 else 0

    @precondition(lambda self: self.identity is None or self.number % 4 == 3)
    @rule()
    def initialize(self) -> None:
        answer = self.transactions.init()
        if answer is ErrorCode.CONCURRENT_TRANSACTIONS:
            self.identity = None
            return
        assert answer not in self.identities
        self.identities.append(answer)  # type: ignore[arg-type]
        self.begin(answer)

    @precondition(lambda self: self.identity is not None)
    @rule(name=st.sampled_from(PARTITIONS))
    def write(self, name: TopicPartition) -> None:
        assert self.identity is not None
        added = self.transactions.runtime.ask(
            lambda shard, moment: shard.add_partitions(
                ID, self.identity, [name], self.client_version, moment
            ),
            lambda code: code,
        )
        codes: list[Any] = []
        added.when_done(codes.append)
        if codes == [ErrorCode.NONE]:
            self.partitions[name].append(self.number, self.identity)
        elif codes != [ErrorCode.CONCURRENT_TRANSACTIONS]:
            self.identity = None  # fenced by a timeout

    @precondition(lambda self: self.identity is not None)
    @rule(commit=st.booleans(), is_repeated=st.booleans())
    def end(self, commit: bool, is_repeated: bool) -> None:
        assert self.identity is not None
        answer = self.transactions.end(self.identity, commit=commit, version=self.client_version)
        if not isinstance(answer, tuple):
            if answer is not ErrorCode.CONCURRENT_TRANSACTIONS:
                self.identity = None  # not begun, or aborted by a timeout
            return
        if answer == self.identity and self.client_version == 2:
            raise AssertionError("the epoch was not raised")
        self.told[self.number] = commit
        if is_repeated:
            again = self.transactions.end(self.identity, commit=commit, version=self.client_version)
            assert again in (answer, ErrorCode.CONCURRENT_TRANSACTIONS)
        self.begin(answer)

    # -- the cluster -----------------------------------------------------------------------------

    @precondition(lambda self: self.transactions.markers)
    @rule(is_lost=st.booleans())
    def write_markers(self, is_lost: bool) -> None:
        """Let the leaders carry a request out; the answer may be lost."""
        asked = self.transactions.markers
        markers, written = asked[0]
        codes = self.carry_out(markers)
        if is_lost:
            return
        del asked[0]
        written.complete(next(filter(None, codes), ErrorCode.NONE))

    def carry_out(self, markers: MarkersToWrite) -> list[ErrorCode]:
        return [self.partitions[name].write_marker(markers) for name in sorted(markers.partitions)]

    @rule()
    def move(self) -> None:
        """Move the coordinator: requests of the old one are still on their way."""
        self.late += [markers for markers, _ in self.transactions.markers]
        self.transactions.move()

    @precondition(lambda self: self.late)
    @rule()
    def deliver_late(self) -> None:
        self.carry_out(self.late.pop(0))

    @rule(level=st.sampled_from(LEVELS))
    def switch_version(self, level: int) -> None:
        """Finalize another ``transaction.version``; the producer follows with its next one."""
        self.transactions.version = level

    @rule(seconds=st.sampled_from([1, TIMEOUT_MS / 1000 + 11]))
    def let_time_pass(self, seconds: float) -> None:
        self.transactions.advance(seconds)

    # -- laws ------------------------------------------------------------------------------------

    @invariant()
    def transactions_end_as_the_producer_was_told(self) -> None:
        for model in self.partitions.values():
            for number, outcome in model.outcomes.items():
                assert outcome is self.told.get(number, False), number

    def teardown(self) -> None:
        """Every transaction that was decided ends everywhere, as soon as the network lets it."""
        for markers in self.late:
            self.carry_out(markers)
        self.transactions.move()
        for markers, written in tuple(self.transactions.markers):
            assert not any(self.carry_out(markers))
            written.complete(ErrorCode.NONE)
        found = self.transactions.shard.transactions.get(ID)
        if found is None:
            return
        assert not found.state.is_prepared
        if found.state.is_idle:
            assert not any(model.open for model in self.partitions.values())
        self.transactions_end_as_the_producer_was_told()


TestMovingCoordinators = MovingCoordinators.TestCase
TestMovingCoordinators.settings = settings(stateful_step_count=40)
