"""One partition on this broker: its replicas, its high watermark, and appends.

The leader appends; the high watermark is the offset up to which all replicas in sync have the
records, and consumers read only up to there. With one replica it follows the log's safe offset:
the log end offset by default, so it moves with the append itself; with ``flush.messages``, what is
on the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.leadership import Leadership
from pyk.reference_broker.partition_reader import PartitionReader
from pyk.reference_broker.storage import (
    AppendOrigin,
    Log,
    LogAppendResult,
    NotEnoughReplicasError,
    OffsetOutOfRangeError,
    StorageError,
    TransactionMarker,
)
from pyk.reference_broker.storage.expected_transactions import ExpectedTransaction
from pyk.runtime.filesystem.interface import Buffer


class Partition:
    """A partition. Belongs to the broker's loop.

    Listeners are called with the partition when its high watermark, log end or leader moves.
    """

    def __init__(
        self, topic_partition: TopicPartition, topic_id: UUID, node_id: int, log: Log
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.leadership = Leadership(topic_partition, node_id)
        self.reader = PartitionReader(log, self.leadership)
        self.replicas: tuple[int, ...] = ()
        self.in_sync_replicas: tuple[int, ...] = ()
        self._node_id = node_id
        self._listeners: list[Callable[[Partition], None]] = []
        self._marker_listeners: list[Callable[[TransactionMarker, int], None]] = []
        log.flusher.when_moved = self._flushed

    def __repr__(self) -> str:
        return f"Partition({self.topic_partition}, leader {self.leader_id}, {self.log})"

    @property
    def is_leader(self) -> bool:
        return self.leadership.is_ours

    @property
    def leader_id(self) -> int:
        """The node that leads, -1 if none does."""
        return self.leadership.leader_id

    @property
    def leader_epoch(self) -> int:
        return self.leadership.leader_epoch

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The offset below which the outcome of all transactions is known, and cannot be lost."""
        return self.log.last_stable_offset

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.log.log_end_offset

    @property
    def failure(self) -> StorageError | None:
        """Why the disk takes no more records, None if it does."""
        return self.log.failure

    def acknowledged_offset(self, *, needs_all_replicas: bool) -> int:
        """Return the offset below which a produce may be answered: with acks=all or with acks=1."""
        return self.log.high_watermark if needs_all_replicas else self.log.safe_offset

    def add_listener(self, listener: Callable[[Partition], None]) -> None:
        self._listeners.append(listener)

    def remove_listener(self, listener: Callable[[Partition], None]) -> None:
        self._listeners.remove(listener)

    def add_marker_listener(self, listener: Callable[[TransactionMarker, int], None]) -> None:
        """Call ``listener`` with each marker and its offset, once it is in the log.

        It is called before the high watermark moves, so before the marker counts.
        """
        self._marker_listeners.append(listener)

    def become_leader(
        self, leader_epoch: int, replicas: tuple[int, ...], in_sync_replicas: tuple[int, ...]
    ) -> None:
        """Become the leader. An epoch that is not newer than the last changes only the replicas."""
        self.replicas, self.in_sync_replicas = replicas, in_sync_replicas
        if leader_epoch > self.leadership.leader_epoch:
            self.leadership.change(self._node_id, leader_epoch)
            self.log.leader_epochs.assign(leader_epoch, self.log.log_end_offset)
        self._advance_high_watermark()
        self._notify()

    def move_to(self, log: Log) -> None:
        """Use another log from now on, with the same records: it was moved."""
        self.log.flusher.when_moved = lambda: None
        self.log = log
        self.reader = PartitionReader(log, self.leadership)
        log.flusher.when_moved = self._flushed
        self._flushed()

    def resign(self, leader_id: int, leader_epoch: int) -> None:
        """Stop leading: ``leader_id`` leads now, no broker if it is -1."""
        self.leadership.change(leader_id, leader_epoch)
        self._notify()

    def append(
        self,
        records: Buffer,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        needs_all_replicas: bool = False,
    ) -> LogAppendResult:
        """Append a batch as leader; raise the ``LogError`` that says why not.

        ``needs_all_replicas`` (acks=all) refuses while fewer than ``min.insync.replicas`` are in
        sync.
        """
        self.leadership.check()
        if needs_all_replicas:
            self._require_in_sync_replicas()
        result = self.log.append_as_leader(records, self.leadership.leader_epoch, origin)
        if not result.is_duplicate:
            self._advance_high_watermark()
            self._notify()
        return result

    def end_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        *,
        transaction_version: int = 0,
    ) -> LogAppendResult:
        """Append the marker that ends a producer's transaction; raise the ``LogError`` if not.

        It counts when the high watermark has passed it. A marker that repeats the last one is
        appended again. ``transaction_version`` is that of the transaction: from 2 on, the marker's
        epoch must be higher than that of the records (KIP-890). Raises
        ``InvalidProducerEpochError`` and ``TransactionCoordinatorFencedError`` for late markers.
        """
        self.leadership.check()
        self._require_in_sync_replicas()
        marker = TransactionMarker(producer_id, producer_epoch, coordinator_epoch, commit)
        result = self.log.end_transaction(marker, self.leadership.leader_epoch, transaction_version)
        for listener in tuple(self._marker_listeners):
            listener(marker, result.base_offset)
        self._advance_high_watermark()
        self._notify()
        return result

    def expect_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        *,
        begins_at_zero: bool,
        now_ms: int,
    ) -> ExpectedTransaction:
        """Note a batch that waits for the transaction coordinator: see ``ExpectedTransactions``."""
        return self.log.producers.expected.expect(
            producer_id,
            producer_epoch,
            base_sequence,
            begins_at_zero=begins_at_zero,
            now_ms=now_ms,
        )

    def expected_transaction(self, producer_id: int) -> ExpectedTransaction | None:
        """Return the transaction that a producer is about to open here."""
        return self.log.producers.expected.producers.get(producer_id)

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether a producer has written here in a transaction of this epoch, still open."""
        return self.log.producers.has_open_transaction(producer_id, producer_epoch)

    def delete_records(self, offset: int) -> int:
        """Move the log start offset to ``offset``, -1 for the high watermark; return it."""
        self.leadership.check()
        if offset < -1:
            raise OffsetOutOfRangeError(f"cannot delete records of {self} up to offset {offset}")
        self.log.advance_log_start_offset(self.high_watermark if offset == -1 else offset)
        self._notify()
        return self.log.log_start_offset

    def _require_in_sync_replicas(self) -> None:
        if len(self.in_sync_replicas) < self.log.config.min_insync_replicas:
            raise NotEnoughReplicasError(
                f"{len(self.in_sync_replicas)} replicas of {self.topic_partition} are in sync, "
                f"min.insync.replicas is {self.log.config.min_insync_replicas}"
            )

    def _advance_high_watermark(self) -> None:
        """Move to the smallest safe offset of the replicas in sync: there is only this one."""
        self.log.high_watermark = max(self.log.high_watermark, self.log.safe_offset)

    def _flushed(self) -> None:
        if self.is_leader:
            self._advance_high_watermark()
        self._notify()

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            listener(self)
