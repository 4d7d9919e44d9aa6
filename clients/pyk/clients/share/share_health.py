"""The health of a share consumer: what it reads, and what keeps it from reading. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from pyk.clients.topic_partition import TopicPartition
from pyk.runtime import slotted


class SharePartitionState(Enum):
    """The state of a partition that a share consumer is assigned."""

    FETCHING = "fetching"
    BUFFERED = "waits for the application"
    WITHOUT_LEADER = "has no known leader"
    FAILING = "fails and tries again"


TROUBLED = frozenset({SharePartitionState.WITHOUT_LEADER, SharePartitionState.FAILING})


@slotted.frozen
class SharePartitionHealth:
    """The health of one assigned partition."""

    state: SharePartitionState
    error: BaseException | None


@slotted.frozen
class ShareConsumerHealth:
    """The health of a share consumer at one moment."""

    group_state: str | None
    """The state of this member in its group, None while it is not subscribed."""
    group_error: BaseException | None
    partitions: Mapping[TopicPartition, SharePartitionHealth]
    acknowledgement_error: BaseException | None
    """Why the acknowledgements that were sent last failed, None if they did not."""
    unreachable_nodes: tuple[str, ...] = ()
    """Brokers that cannot be reached: which address, why, how long."""
    topics: Mapping[str, BaseException] = slotted.field(factory=dict)
    """Why subscribed topics cannot be read."""
    handlers: tuple[str, ...] = ()
    """Handlers of ``process()`` that do not return: of which record, and for how long."""

    @property
    def is_healthy(self) -> bool:
        """Whether every partition is fetched, acknowledgements arrive, and the membership works."""
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
        if self.acknowledgement_error is not None:
            found.append(f"acknowledgements: {self.acknowledgement_error}")
        return (*found, *self.unreachable_nodes, *self.handlers)


@slotted.frozen
class ShareConsumerStats:
    """The counters of a share consumer at one moment."""

    records: int
    """Records that the application got; one that is delivered again counts again."""
    acknowledged: int
    """Offsets whose acknowledgement a leader has confirmed."""
    failed_acknowledgements: int
    """Offsets whose acknowledgement has failed: most of them are delivered again."""
    expired: int
    """Offsets that were acquired and not handed out before their lock was over."""
    pending_acknowledgements: int
    """Offsets whose acknowledgement is not sent yet."""
    assigned_partitions: int
