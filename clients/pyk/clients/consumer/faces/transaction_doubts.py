"""Partitions that wait until it is known what became of a transaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError
from pyk.clients.offsets import ConsumedOffsets, TransactionOutcome
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.clients.consumer.group.consumer_group import ConsumerGroup

log = logging.getLogger(__name__)


@slotted.frozen
class DoubtfulPosition:
    """A partition, and where it is read on: after a commit, and after an abort."""

    assigned: AssignedPartition
    version: int
    """The version of its position while it is in doubt."""
    position: int
    epoch: int
    start: int
    topic_id: UUID | None

    @classmethod
    def stop(
        cls, assigned: AssignedPartition, start: int, positions: Positions
    ) -> DoubtfulPosition:
        """Stop reading a partition."""
        position, epoch = assigned.buffer.position, assigned.buffer.position_epoch
        positions.doubt(assigned)
        if start == UNKNOWN:
            start = position
        return cls(assigned, assigned.version, position, epoch, start, assigned.topic_id)

    def read_on(self, positions: Positions, offset: int, epoch: int) -> bool:
        """Read on from ``offset``, unless another position was set since."""
        return positions.settle(self.assigned, self.version, offset, epoch, self.topic_id)


class DoubtfulPositions:
    """The partitions of one consumer that wait for the outcome of one transaction.

    A partition that the application seeks, or that goes to another member, waits no longer.
    ``look`` makes the fetch loop look at what has changed. On the consumer's event loop.
    """

    def __init__(
        self,
        client: Client,
        group: ConsumerGroup,
        positions: Positions,
        stopped: Sequence[DoubtfulPosition],
        *,
        consumed: Sequence[ConsumedOffsets],
        look: Callable[[], None],
    ) -> None:
        self._client = client
        self._group = group
        self._positions = positions
        self._stopped = {one.assigned.topic_partition: one for one in stopped}
        self._consumed = consumed
        self._look = look

    def settle(self, outcome: TransactionOutcome) -> None:
        """Read on where the outcome says."""
        if self._client.is_closed:
            return
        log.info("The transaction that held back %s was %s", self._names(), outcome.value)
        match outcome:
            case TransactionOutcome.COMMITTED:
                self._committed()
            case TransactionOutcome.ABORTED:
                self._go_back(list(self._stopped))
            case TransactionOutcome.UNKNOWN:
                self._client.supervisor.spawn("ask how a transaction ended", self._ask_group())

    def _committed(self) -> None:
        versions = {
            partition: one.assigned.version
            for partition, one in self._stopped.items()
            if one.read_on(self._positions, one.position, one.epoch)
        }
        for consumed in self._consumed:
            own = {p: version for p, version in versions.items() if p in consumed.offsets}
            self._group.commits.stored_by_transaction(consumed.offsets, own)
        self._look()

    def _go_back(self, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            one = self._stopped[partition]
            one.read_on(self._positions, one.start, UNKNOWN)
        self._group.losses.transaction_aborted()
        self._look()

    # -- the outcome that only brokers know --------------------------------------------------------

    async def _ask_group(self) -> None:
        """Read on at the offsets of the group, once no open transaction may change them.

        What the transaction did not commit for the group is read again.
        """
        offsets = {p for consumed in self._consumed for p in consumed.offsets}
        self._go_back([partition for partition in self._stopped if partition not in offsets])
        failures = 0
        while waiting := [p for p in self._stopped if p in offsets and self._waits(p)]:
            try:
                self._take(await self._fetch(waiting))
            except KafkaError as error:
                if not error.retriable:
                    log.warning(
                        "Reading %s again: the group does not tell how a transaction ended: %s",
                        self._names(), error,
                    )  # fmt: skip
                    self._go_back(waiting)
                    return
            failures += 1
            await asyncio.sleep(
                self._client.retry_backoff.delay(failures, self._client.random.random())
            )

    async def _fetch(
        self, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        deadline = self._client.clock.now() + self._client.config.request_timeout_ms / 1000
        return await self._group.commits.fetch_settled(partitions, deadline)

    def _take(self, found: dict[TopicPartition, OffsetAndMetadata | None]) -> None:
        for partition, committed in found.items():
            one = self._stopped[partition]
            offset, epoch = one.start, UNKNOWN
            if committed is not None:
                known_epoch = committed.leader_epoch
                offset, epoch = committed.offset, UNKNOWN if known_epoch is None else known_epoch
            if one.read_on(self._positions, offset, epoch) and committed:
                # With its note: process() goes on behind what was finished ahead.
                self._group.progress.stored(
                    {partition: committed}, {partition: one.assigned.version}
                )
        self._look()

    def _waits(self, partition: TopicPartition) -> bool:
        one = self._stopped[partition]
        return one.assigned.version == one.version

    def _names(self) -> str:
        return ", ".join(map(str, list(self._stopped)[:5])) or "nothing"


@slotted.frozen
class DoubtOfAnyThread:
    """:class:`TransactionDoubt`: ``call_soon`` calls a function on the consumer's event loop."""

    _doubt: DoubtfulPositions
    _call_soon: Callable[..., object]

    def settle(self, outcome: TransactionOutcome) -> None:
        self._call_soon(self._doubt.settle, outcome)
