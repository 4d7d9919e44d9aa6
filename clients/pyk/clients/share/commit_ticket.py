"""Follow acknowledgements from the application to what their leaders answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.errors import KafkaError
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.share.acknowledgements import Acknowledgements
from pyk.clients.share.acquired_records import AcquiredRecords
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime import slotted

AcknowledgementCallback = Callable[
    [Mapping[TopicPartition, tuple[range, ...]], KafkaError | None], object
]
"""Is called with the acknowledged offsets of a partition, and their error or None."""


@slotted.define(eq=False)
class PendingAcknowledgements:
    """Acknowledgements of one partition on their way to a leader."""

    acquired: AcquiredRecords
    acknowledgements: Acknowledgements
    ticket: CommitTicket
    deadline: float
    is_sent_again: bool = False
    """Whether a leader had lost the session when they came the first time."""
    attempts: int = 0
    """How often their leader could not take them for now."""
    not_before: float = 0.0
    """When they may be sent again."""
    is_apart: bool = False
    """Whether they go without others of their partition: one that is refused fails all of them."""
    sent_at: float = 0.0
    """When they were sent last."""

    @property
    def partition(self) -> TopicIdPartition:
        return self.acquired.partition

    def settle(self, error: KafkaError | None) -> None:
        """Take what their leader answered."""
        self.ticket.settle(self, error)


def due_at(
    pending: Iterable[PendingAcknowledgements], now: float
) -> tuple[list[PendingAcknowledgements], list[PendingAcknowledgements]]:
    """Return what is to be sent now, and what waits; those of one partition keep their order."""
    due: list[PendingAcknowledgements] = []
    waiting: list[PendingAcknowledgements] = []
    begun: set[TopicIdPartition] = set()
    full: set[TopicIdPartition] = set()
    for one in pending:
        partition = one.partition
        waits = one.not_before > now or partition in full or (one.is_apart and partition in begun)
        begun.add(partition)
        if waits or one.is_apart:
            full.add(partition)
        (waiting if waits else due).append(one)
    return due, waiting


@slotted.frozen
class Outcome:
    """What came of the acknowledgements of one partition."""

    topic_partition: TopicPartition
    offsets: tuple[range, ...]
    error: KafkaError | None

    @property
    def count(self) -> int:
        return sum(map(len, self.offsets))


@slotted.define(eq=False)
class CommitTicket:
    """The acknowledgements of one poll or commit, until all of their outcomes are known."""

    on_outcome: Callable[[CommitTicket, PendingAcknowledgements, Outcome], object]
    is_awaited: bool = False
    """Whether a caller waits for the outcome."""
    is_silent: bool = False
    """Whether nobody wants to know: the consumer has given back what it did not hand out."""
    on_settled: Callable[[], object] | None = None
    outcomes: list[Outcome] = slotted.field(factory=list)
    _open: int = 0

    def add(
        self, acquired: AcquiredRecords, acknowledgements: Acknowledgements, deadline: float
    ) -> PendingAcknowledgements:
        """Return acknowledgements of one partition, to be sent."""
        self._open += 1
        return PendingAcknowledgements(acquired, acknowledgements, self, deadline)

    @property
    def is_settled(self) -> bool:
        return not self._open

    def settle(self, pending: PendingAcknowledgements, error: KafkaError | None) -> None:
        """Take the outcome of acknowledgements of this ticket."""
        self._open -= 1
        outcome = Outcome(
            pending.acquired.topic_partition, pending.acknowledgements.ranges(), error
        )
        self.outcomes.append(outcome)
        self.on_outcome(self, pending, outcome)
        if not self._open and self.on_settled is not None:
            self.on_settled()

    def result(self) -> dict[TopicPartition, tuple[range, ...]]:
        """Return the acknowledged offsets by partition; raise the error of one that failed.

        The errors of further partitions are notes of the first one.
        """
        failed = [outcome for outcome in self.outcomes if outcome.error is not None]
        if failed:
            first = failed[0].error
            assert first is not None
            error = copy_to_raise(first)
            for other in failed[1:]:
                error.add_note(f"and {other.topic_partition}: {other.error}")
            raise error
        merged: dict[TopicPartition, Acknowledgements] = {}
        for outcome in self.outcomes:
            some = merged.setdefault(outcome.topic_partition, Acknowledgements())
            for offsets in outcome.offsets:
                some.add(offsets.start, offsets.stop - 1, 0)
        return {partition: some.ranges() for partition, some in merged.items()}
