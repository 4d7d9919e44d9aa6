"""What a consumer contributes to transactions: which offsets to commit, and where to go back to."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.client import Client
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import ClosedError, CommitFailedError, ForkedClientError, StateError
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.clients.consumer.faces.transaction_doubts import DoubtfulPositions
    from pyk.clients.consumer.group.consumer_group import ConsumerGroup
    from pyk.clients.offsets import ConsumedOffsets, ConsumerGroupMetadata, TransactionDoubt

log = logging.getLogger(__name__)


@slotted.frozen
class TransactionMark:
    """Where partitions are read again if a transaction is aborted.

    ``starts`` has the partition as it was assigned then, and an offset, -1 if unknown.
    """

    starts: dict[TopicPartition, tuple[AssignedPartition, int]]


class TransactionCalls:
    """The calls of :class:`TransactionReads`, on the loop of the consumer.

    ``look`` makes the fetch loop look at what has changed; ``check`` raises if the consumer cannot
    be used. All of it raises :class:`StateError` if the consumer has no ``group_id``, and except
    for :meth:`group_metadata` also if it commits by itself.
    """

    def __init__(
        self,
        client: Client,
        group: ConsumerGroup | None,
        partitions: AssignedPartitions,
        positions: Positions,
        *,
        commits_by_itself: bool,
        reads_committed: bool,
        look: Callable[[], None],
        check: Callable[[], None],
    ) -> None:
        self._client = client
        self._group_or_none = group
        self._partitions = partitions
        self._positions = positions
        self._commits_by_itself = commits_by_itself
        self._has_to_warn = not reads_committed
        self._has_warned = False
        self._look = look
        self._check = check

    def group_metadata(self) -> ConsumerGroupMetadata:
        self._check()
        if self._group_or_none is None:
            raise StateError("a consumer has group metadata only with a group_id: give it one")
        return self._group_or_none.metadata

    def begin(self) -> TransactionMark:
        group = self._group()
        return TransactionMark(
            {
                assigned.topic_partition: (assigned, group.progress.restart_offset(assigned))
                for assigned in self._partitions
            }
        )

    def consumed(self, mark: TransactionMark) -> ConsumedOffsets:
        from pyk.clients.consumer.commits.commits import of_another_topic
        from pyk.clients.offsets import ConsumedOffsets

        group = self._group()
        self._warn_of_uncommitted()
        group.losses.check_transaction()
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        versions: dict[TopicPartition, int] = {}
        for assigned in self._partitions:
            buffer = assigned.buffer
            start = self._start(assigned, mark)
            position = buffer.position
            if position == UNKNOWN and start != UNKNOWN:
                raise _unknown_position(assigned.topic_partition)
            if position != start:
                if assigned.is_disputed:
                    raise of_another_topic(assigned.topic_partition)
                epoch = buffer.position_epoch
                known_epoch = None if epoch == UNKNOWN else epoch
                offsets[assigned.topic_partition] = OffsetAndMetadata(position, "", known_epoch)
                versions[assigned.topic_partition] = buffer.version
        if offsets and not group.may_commit:
            raise _not_a_member(next(iter(offsets)))
        return ConsumedOffsets(group.metadata, offsets, versions)

    def confirm(self, consumed: ConsumedOffsets) -> None:
        image = self._client.metadata
        for partition, version in consumed.versions.items():
            if partition not in self._partitions:
                continue
            assigned = self._partitions[partition]
            if has_no_topic(assigned, image) or version < assigned.first_version:
                raise _of_deleted_topic(partition)

    def committed(self, consumed: ConsumedOffsets) -> None:
        self._joined.commits.stored_by_transaction(consumed.offsets, consumed.versions)

    def warn_of_missing_offsets(self, mark: TransactionMark) -> None:
        is_handed_out = any(
            assigned.buffer.position > self._start(assigned, mark) != UNKNOWN
            for assigned in self._partitions
        )
        if is_handed_out and not self._has_warned:
            self._has_warned = True
            log.warning(
                "The consumer in group %s took part in a transaction that committed none of its "
                "offsets, so another instance reads its records again: call "
                "send_offsets(consumer) in the block",
                self._joined.group_id,
            )

    def doubt(
        self, mark: TransactionMark, consumed: Sequence[ConsumedOffsets]
    ) -> DoubtfulPositions:
        from pyk.clients.consumer.faces.transaction_doubts import (
            DoubtfulPosition,
            DoubtfulPositions,
        )

        stopped = [
            DoubtfulPosition.stop(assigned, start, self._positions)
            for assigned in self._partitions
            if (start := self._start(assigned, mark)) != UNKNOWN
            or assigned.buffer.position != UNKNOWN
        ]
        self._look()
        return DoubtfulPositions(
            self._client,
            self._joined,
            self._positions,
            stopped,
            consumed=consumed,
            look=self._look,
        )

    def return_to(self, mark: TransactionMark) -> None:
        for assigned in self._partitions:
            start = self._start(assigned, mark)
            if start not in (UNKNOWN, assigned.buffer.position):
                self._positions.seek(assigned, start, UNKNOWN)
        self._joined.losses.transaction_aborted()
        self._look()

    def _warn_of_uncommitted(self) -> None:
        """Warn, once, that what is read here may be aborted later."""
        if self._has_to_warn:
            self._has_to_warn = False
            log.warning(
                "The consumer in group %s commits its offsets in transactions, but reads records "
                "of transactions that may be aborted: use isolation_level='read_committed' unless "
                "nobody writes these topics in transactions",
                self._joined.group_id,
            )

    def _start(self, assigned: AssignedPartition, mark: TransactionMark) -> int:
        """Return where a partition is read again, -1 if unknown."""
        marked, offset = mark.starts.get(assigned.topic_partition, (None, UNKNOWN))
        if marked is assigned and offset != UNKNOWN:
            return offset
        return self._joined.progress.restart_offset(assigned)

    @property
    def _joined(self) -> ConsumerGroup:
        """The group of a consumer that takes part in a transaction."""
        assert self._group_or_none is not None
        return self._group_or_none

    def _group(self) -> ConsumerGroup:
        self._check()
        if self._group_or_none is None:
            raise StateError("a consumer takes part in transactions only with a group_id")
        if self._commits_by_itself:
            raise StateError(
                "the consumer would commit offsets outside of the transaction: create it with "
                "enable_auto_commit=False"
            )
        return self._group_or_none


@slotted.frozen
class ReadsOfFace:
    """:class:`TransactionReads` of one face.

    On the consumer's loop, ``at_once`` calls a function unless another thread or task is inside
    poll, ``now`` in any case, and ``soon`` from any thread, without waiting. Two of the same
    consumer are equal: the consumer keeps none, as they refer to it.
    """

    _calls: TransactionCalls
    _at_once: Callable[..., Any]
    _now: Callable[..., Any]
    _soon: Callable[..., object] = slotted.field(eq=False)
    is_awaited: bool = slotted.field(eq=False)

    def begin(self) -> Any:
        return self._at_once(self._calls.begin)

    def consumed(self, mark: Any) -> ConsumedOffsets:
        found: ConsumedOffsets = self._at_once(self._calls.consumed, mark)
        return found

    def confirm(self, consumed: ConsumedOffsets) -> None:
        with contextlib.suppress(ClosedError, ForkedClientError):
            self._now(self._calls.confirm, consumed)

    def committed(self, consumed: ConsumedOffsets) -> None:
        with contextlib.suppress(ClosedError, ForkedClientError):  # it reads nothing more
            self._now(self._calls.committed, consumed)

    def warn_of_missing_offsets(self, mark: Any) -> None:
        with contextlib.suppress(ClosedError, ForkedClientError):
            self._now(self._calls.warn_of_missing_offsets, mark)

    def return_to(self, mark: Any) -> None:
        with contextlib.suppress(ClosedError, ForkedClientError):
            self._now(self._calls.return_to, mark)

    def doubt(self, mark: Any, consumed: Sequence[ConsumedOffsets]) -> TransactionDoubt | None:
        from pyk.clients.consumer.faces.transaction_doubts import DoubtOfAnyThread

        with contextlib.suppress(ClosedError, ForkedClientError):
            return DoubtOfAnyThread(self._now(self._calls.doubt, mark, consumed), self._soon)
        return None


def has_no_topic(assigned: AssignedPartition, image: MetadataImage) -> bool:
    """Return whether the topic of a partition was deleted, as far as metadata tell.

    TxnOffsetCommit names topics: one of its name that is created later must not get its offset.
    """
    name, number = assigned.topic_partition
    topic = image.topic(name)
    if topic is not None and (topic.is_missing or number >= topic.partition_count):
        return True
    return assigned.is_disputed


def _of_deleted_topic(partition: TopicPartition) -> CommitFailedError:
    topic, number = partition
    return CommitFailedError(
        f"the offset of {partition} was not committed: topic {topic!r} was deleted since its "
        "records were read",
        topic=topic,
        partition=number,
    )


def _unknown_position(partition: TopicPartition) -> StateError:
    return StateError(
        f"the position of {partition} is looked up after a seek or a reset, so the offset of what "
        "was handed out before is unknown: abort the transaction"
    )


def _not_a_member(partition: TopicPartition) -> CommitFailedError:
    return CommitFailedError(
        f"the offset of {partition} cannot be committed in a transaction: this consumer is not in "
        "its group at the moment, and another member may read the partition; abort the transaction",
        topic=partition.topic,
        partition=partition.partition,
    )
