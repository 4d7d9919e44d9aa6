"""The calls of a consumer about positions and the ends of logs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.faces.limits import CallLimits
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition, PositionState
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.offset_lookup import OffsetLookup
from pyk.clients.consumer.positions.position_resolver import PositionResolver
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.consumer.positions.subscriptions import checked_partitions
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaTimeoutError, StateError
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.offsets import ListedOffset, OffsetSpec
from pyk.clients.timestamps import milliseconds
from pyk.clients.topic_partition import (
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
    checked_offset,
    checked_partition,
)

log = logging.getLogger(__name__)

UNRESOLVED = frozenset({PositionState.COMMITTED, PositionState.RESET, PositionState.IN_DOUBT})


class PausesOfHandlers(Protocol):
    """The pauses of partitions whose handlers have enough to do."""

    def application_pauses(self, name: TopicPartition, is_paused: bool) -> bool:
        """Take note of a call of the application; return whether it waits for the handlers."""
        ...


class PositionCalls:
    """The calls of a consumer about positions: ask for them, set them, pause, compare.

    ``look`` makes the fetch loop look at what has changed; ``check`` raises if the consumer cannot
    be used; ``ready`` starts it first if need be; ``has_unheard_loss`` returns whether the group
    took a partition away without the application having heard of it.
    """

    def __init__(
        self,
        client: Client,
        writer: FetchWriter,
        partitions: AssignedPartitions,
        positions: Positions,
        lookup: OffsetLookup,
        *,
        resolver: PositionResolver,
        limits: CallLimits,
        look: Callable[[], None],
        check: Callable[[], None],
        ready: Callable[[], Awaitable[None]],
        has_unheard_loss: Callable[[TopicPartition], bool],
    ) -> None:
        self._client = client
        self._writer = writer
        self._partitions = partitions
        self._positions = positions
        self._lookup = lookup
        self._resolver = resolver
        self._look = look
        self._check = check
        self._ready = ready
        self._limits = limits
        self._has_unheard_loss = has_unheard_loss
        self.handled: PausesOfHandlers | None = None
        """What ``process()`` pauses, while it runs."""

    # -- positions ---------------------------------------------------------------------------------

    def _assigned_partition(self, partition: tuple[str, int]) -> AssignedPartition:
        """Return an assigned partition; raise :class:`StateError` for another one."""
        self._check()
        topic_partition = checked_partition(partition)
        if topic_partition not in self._partitions:
            raise StateError(
                f"{topic_partition} is not assigned to this consumer; a group assigns partitions "
                "while it is polled: wait for assignment(), or use a listener"
            )
        return self._partitions[topic_partition]

    async def position(self, partition: tuple[str, int], timeout: float | None) -> int:
        await self._ready()
        assigned = self._assigned_partition(partition)
        deadline = self._limits.deadline(timeout)
        earlier_error = assigned.error  # what was denied may be granted by now
        while assigned.state in UNRESOLVED:
            await self._client.topics.find(assigned.topic_partition.topic, deadline)
            if assigned.error not in (None, earlier_error) and not assigned.error.retriable:
                raise copy_to_raise(assigned.error)
            try:
                await self._resolver.changed(deadline)
            except TimeoutError as error:
                self._check()
                raise KafkaTimeoutError(
                    f"the position of {assigned.topic_partition} was not resolved in time"
                    f"{_reason(assigned)}"
                ) from error
            assigned = self._assigned_partition(partition)
        if assigned.buffer.error is not None and assigned.buffer.position < 0:
            raise assigned.buffer.error.with_traceback(None)
        return assigned.buffer.position

    def seek(self, partition: tuple[str, int], offset: int | OffsetAndMetadata) -> None:
        assigned = self._assigned_partition(partition)
        target = checked_offset(offset, f"the offset of {assigned.topic_partition}")
        if self._is_void(assigned):
            return
        epoch = -1 if target.leader_epoch is None else target.leader_epoch
        self._positions.seek(assigned, target.offset, epoch)
        self._look()

    def seek_to(self, partitions: Collection[tuple[str, int]], end: OffsetSpec) -> None:
        for assigned in self._assigned(partitions):
            if not self._is_void(assigned):
                self._positions.seek_to(assigned, end)
                self._look()

    def _is_void(self, assigned: AssignedPartition) -> bool:
        """Return whether a seek is about an assignment that has ended, unheard.

        Another member may have committed since, so the group's offset wins, as in Java, where the
        rebalance happens in the next poll.
        """
        if not self._has_unheard_loss(assigned.topic_partition):
            return False
        log.warning(
            "A seek of %s was ignored: the group took the partition away and gave it back, of "
            "which the application hears in its next poll",
            assigned.topic_partition,
        )
        return True

    def pause(self, partitions: Collection[tuple[str, int]]) -> None:
        self._pause(partitions, True)

    def resume(self, partitions: Collection[tuple[str, int]]) -> None:
        self._pause(partitions, False)

    def _pause(self, partitions: Collection[tuple[str, int]], is_paused: bool) -> None:
        for assigned in [self._assigned_partition(partition) for partition in partitions]:
            name, handled = assigned.topic_partition, self.handled
            if handled is None or not handled.application_pauses(name, is_paused):
                self.set_paused(name, is_paused)

    def set_paused(self, partition: TopicPartition, is_paused: bool) -> None:
        """Pause or resume a partition, whoever wants it."""
        assigned = self._assigned_partition(partition)
        if is_paused:
            self._writer.pause(assigned.buffer)
            return
        self._writer.resume(assigned.buffer)
        assigned.progress.made(self._client.clock.now())
        self._look()

    def paused(self) -> set[TopicPartition]:
        self._check()
        return {
            assigned.topic_partition for assigned in self._partitions if assigned.buffer.is_paused
        }

    def _assigned(self, partitions: Collection[tuple[str, int]]) -> list[AssignedPartition]:
        """Return the partitions that are named, all assigned ones if none are."""
        self._check()
        return (
            [self._assigned_partition(p) for p in partitions]
            if partitions
            else self._partitions.all()
        )

    # -- logs --------------------------------------------------------------------------------------

    async def partitions_for(self, topic: str, timeout: float | None) -> set[int]:
        """Return the partitions of a topic."""
        await self._ready()
        metadata = await self._client.topics.find(topic, self._limits.deadline(timeout))
        return set(range(metadata.partition_count))

    async def end_offsets(
        self, partitions: Iterable[tuple[str, int]], end: OffsetSpec, timeout: float | None
    ) -> dict[TopicPartition, int]:
        """Return an end of the log, EARLIEST or LATEST, of each partition."""
        await self._ready()
        wanted = dict.fromkeys(checked_partitions(partitions), end)
        found = (
            await self._lookup.find_ends(wanted, self._limits.deadline(timeout)) if wanted else {}
        )
        return {partition: answer.offset for partition, answer in found.items()}

    async def offsets_for_times(
        self, timestamps: Mapping[Any, int], timeout: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        if not isinstance(timestamps, Mapping):
            raise TypeError(f"timestamps must be a mapping from TopicPartition, not {timestamps!r}")
        await self._ready()
        wanted = {
            checked_partition(partition): milliseconds(time, f"the time for {partition}")
            for partition, time in timestamps.items()
        }
        found = (
            await self._lookup.find_times(wanted, self._limits.deadline(timeout)) if wanted else {}
        )
        return {partition: _with_timestamp(answer) for partition, answer in found.items()}

    async def lag(self, timeout: float | None) -> dict[TopicPartition, int]:
        from pyk.clients.consumer.faces.health import lag_of

        await self._ready()
        lags: dict[TopicPartition, int] = {}
        unknown: dict[TopicPartition, int] = {}
        for assigned in self._partitions:
            try:
                position = await self.position(assigned.topic_partition, timeout)
            except StateError:
                if self._partitions.is_assigned(assigned):
                    raise
                continue  # it went to another member meanwhile
            known = lag_of(assigned, position)
            if known is None or assigned.buffer.is_paused:
                unknown[assigned.topic_partition] = position
            else:
                lags[assigned.topic_partition] = known
        ends = await self.end_offsets(unknown, OffsetSpec.LATEST, timeout)
        lags.update({p: max(0, ends[p] - position) for p, position in unknown.items()})
        return lags


def _reason(assigned: AssignedPartition) -> str:
    if assigned.state is PositionState.IN_DOUBT:
        return ": it depends on the outcome of a transaction, which is not known yet"
    return "" if assigned.error is None else f": {assigned.error}"


def _with_timestamp(found: ListedOffset | None) -> OffsetAndTimestamp | None:
    if found is None:
        return None
    timestamp = -1 if found.timestamp is None else found.timestamp
    return OffsetAndTimestamp(found.offset, timestamp, found.leader_epoch)
