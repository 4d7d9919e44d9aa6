"""The health of a consumer: what it reads, what keeps it from reading, and its lag. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from pyk.clients.consumer.positions.assigned_partition import AssignedPartition, PositionState
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime import slotted


class PartitionState(Enum):
    """The state of a partition."""

    FETCHING = "fetching"
    CAUGHT_UP = "caught up"
    HELD_BACK = "waits until an open transaction ends"
    BUFFERED = "waits for the application"
    PAUSED = "paused"
    THROTTLED = "waits because the quota of this client is used up"
    IN_DOUBT = "waits for the outcome of a transaction"
    """A ``producer.transaction()`` was left before it was known whether it was committed."""
    LOCATING = "finds out where to begin"
    WITHOUT_LEADER = "has no known leader"
    FAILING = "fails and tries again"
    FAILED = "waits for a seek"
    STALLED = "gets no records or no answer"
    HELD = "waits until the application polls and hears of a rebalance"


TROUBLED = frozenset(
    {
        PartitionState.WITHOUT_LEADER,
        PartitionState.FAILING,
        PartitionState.FAILED,
        PartitionState.STALLED,
        PartitionState.HELD,
    }
)


@slotted.frozen
class PartitionHealth:
    """The health of one assigned partition."""

    state: PartitionState
    position: int | None
    lag: int | None
    """How many readable offsets follow the position, None while that is not known. With
    ``read_committed`` they end where the first open transaction begins."""
    seconds_since_progress: float
    error: BaseException | None
    held_back: int = 0
    """With ``read_committed``: how many offsets follow the begin of the first open transaction.
    They become readable when it ends."""


@slotted.frozen
class ConsumerHealth:
    """The health of a consumer at one moment."""

    group_state: str | None
    """The state of this member in its group, None without a group."""
    group_error: BaseException | None
    partitions: Mapping[TopicPartition, PartitionHealth]
    unreachable_nodes: tuple[str, ...] = ()
    """Brokers that are needed and cannot be reached: which address, why, how long."""
    topics: Mapping[str, BaseException] = slotted.field(factory=dict)
    """Why subscribed topics cannot be read, by topic, or by the pattern that matches none."""
    handlers: tuple[str, ...] = ()
    """Handlers of ``process()`` that do not return: of which record, and for how long."""

    @property
    def is_healthy(self) -> bool:
        """Whether every partition that is not paused makes progress, and the membership works."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems in words; empty if everything is well."""
        found = [] if self.group_error is None else [f"group: {self.group_error}"]
        found += [str(error) for error in self.topics.values()]
        for partition, health in self.partitions.items():
            if health.state in TROUBLED:
                reason = f": {health.error}" if health.error is not None else ""
                found.append(f"{partition} {health.state.value}{reason}")
        return (*found, *self.unreachable_nodes, *self.handlers)


@slotted.frozen
class ConsumerStats:
    """The counters of a consumer at one moment."""

    records: int
    """Records that the application got."""
    assigned_partitions: int
    paused_partitions: int
    buffered_bytes: int
    """Bytes that are fetched and wait for the application."""


def lag_of(assigned: AssignedPartition, position: int) -> int | None:
    """Return how many readable offsets follow ``position``, None while that is unknown."""
    end = assigned.readable_end
    return max(0, end - position) if end >= 0 and position >= 0 else None


def held_back_of(assigned: AssignedPartition) -> int:
    """Return how many offsets wait for the end of a transaction; 0 unless committed is read."""
    if assigned.readable_end < 0:
        return 0
    return max(0, assigned.high_watermark - assigned.readable_end)


def partition_health(
    assigned: AssignedPartition, now: float, *, has_leader: bool, is_throttled: bool = False
) -> PartitionHealth:
    """Return the health of one partition."""
    position = assigned.buffer.position
    lag, held_back = lag_of(assigned, position), held_back_of(assigned)
    return PartitionHealth(
        state=_state(
            assigned, now, lag, held_back, has_leader=has_leader, is_throttled=is_throttled
        ),
        position=position if position >= 0 else None,
        lag=lag,
        seconds_since_progress=now - assigned.progress.made_at,
        error=assigned.buffer.error or assigned.error,
        held_back=held_back,
    )


def _state(
    assigned: AssignedPartition,
    now: float,
    lag: int | None,
    held_back: int,
    *,
    has_leader: bool,
    is_throttled: bool,
) -> PartitionState:
    first_that_holds = (
        (assigned.buffer.is_paused, PartitionState.PAUSED),
        (
            assigned.state is PositionState.FAILED or assigned.buffer.is_unreadable,
            PartitionState.FAILED,
        ),
        (assigned.progress.is_held_for_long(now), PartitionState.HELD),
        (bool(assigned.buffer.fetches), PartitionState.BUFFERED),
        (not has_leader, PartitionState.WITHOUT_LEADER),
        (assigned.failing_since is not None, PartitionState.FAILING),
        (assigned.state is PositionState.IN_DOUBT, PartitionState.IN_DOUBT),
        (assigned.state is not PositionState.KNOWN, PartitionState.LOCATING),
        (assigned.progress.stalls > 0 or assigned.is_stalled(now), PartitionState.STALLED),
        (lag == 0 and held_back > 0, PartitionState.HELD_BACK),
        (lag == 0, PartitionState.CAUGHT_UP),
        (is_throttled, PartitionState.THROTTLED),
    )
    return next((state for holds, state in first_that_holds if holds), PartitionState.FETCHING)
