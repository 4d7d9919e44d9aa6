"""Answer what readers ask of a partition: records, and offsets by time or by leader epoch.

How far a reader may see depends on its isolation level. Only the leader answers, and only readers
that know its epoch.
"""

from __future__ import annotations

from enum import Enum, auto

from pyk.reference_broker.leadership import Leadership
from pyk.reference_broker.storage import (
    EndedTransaction,
    EpochEntry,
    FileRecords,
    Log,
    OffsetAndTimestamp,
)
from pyk.runtime import slotted

EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4


class Isolation(Enum):
    """Up to which offset a reader may read."""

    READ_UNCOMMITTED = auto()  # the high watermark
    READ_COMMITTED = auto()  # the last stable offset
    LOG_END = auto()  # everything: replicas and coordinators


@slotted.frozen
class PartitionRead:
    """The result of a read: records, and the offsets of the partition at this moment."""

    records: FileRecords
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int


class PartitionReader:
    """Reads a partition for clients and replicas, and changes nothing."""

    def __init__(self, log: Log, leadership: Leadership) -> None:
        self._log = log
        self._leadership = leadership

    def read(
        self,
        offset: int,
        max_bytes: int,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        *,
        current_leader_epoch: int = -1,
        min_one_batch: bool = True,
    ) -> PartitionRead:
        """Return the records from ``offset`` on that a reader may see; raise a ``LogError``.

        ``current_leader_epoch`` is what the reader believes, -1 if it does not say (KIP-320).
        """
        self._leadership.check_epoch(current_leader_epoch)
        log, up_to_offset = self._log, self.end_offset(isolation)
        records = log.reader.read(offset, max_bytes, up_to_offset, min_one_batch=min_one_batch)
        return PartitionRead(
            records, log.high_watermark, log.last_stable_offset, log.log_start_offset
        )

    def aborted_transactions(self, offset: int, records: FileRecords) -> list[EndedTransaction]:
        """Return the aborted transactions that ``records`` may be of; raise a ``LogError``.

        They were just read from ``offset`` on, as a reader of committed records may.
        """
        log = self._log
        return log.reader.aborted_transactions(offset, records, log.last_stable_offset)

    def is_in_older_segment(self, offset: int, isolation: Isolation) -> bool:
        """Return whether a reader at ``offset`` may see records of a later segment."""
        return self._log.reader.is_in_older_segment(offset, self.end_offset(isolation))

    def end_offset(self, isolation: Isolation) -> int:
        """Return the first offset that a reader may not see."""
        if isolation is Isolation.READ_UNCOMMITTED:
            return self._log.high_watermark
        if isolation is Isolation.READ_COMMITTED:
            return self._log.last_stable_offset
        return self._log.log_end_offset

    def list_offset(
        self,
        timestamp_ms: int,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        *,
        current_leader_epoch: int = -1,
    ) -> OffsetAndTimestamp | None:
        """Return what ListOffsets asks for, None if no record is that new.

        -1 asks for the end, -2 for the start, -3 for the record with the largest timestamp.
        """
        self._leadership.check_epoch(current_leader_epoch)
        log = self._log
        if timestamp_ms in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
            start = log.log_start_offset
            return OffsetAndTimestamp(start, -1, log.leader_epochs.epoch_of(start))
        end = self.end_offset(isolation)
        if timestamp_ms == LATEST_TIMESTAMP:
            return OffsetAndTimestamp(end, -1, self._leadership.leader_epoch)
        if timestamp_ms < MAX_TIMESTAMP:
            return None  # they ask for tiered storage
        if timestamp_ms == MAX_TIMESTAMP:
            found = log.reader.find_newest_record()
        else:
            found = log.reader.find_timestamp(timestamp_ms)
        return found if found is not None and found.offset < end else None

    def end_offset_of_epoch(self, epoch: int, *, current_leader_epoch: int = -1) -> EpochEntry:
        """Return what OffsetForLeaderEpoch asks for: where the records of an epoch end."""
        self._leadership.check_epoch(current_leader_epoch)
        return self._log.leader_epochs.end_offset_of(epoch, self._log.log_end_offset)
