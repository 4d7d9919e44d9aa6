"""Find records in a log: by their offset, and by their time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage.errors import OffsetOutOfRangeError, StorageError
from pyk.reference_broker.storage.file_records import NO_RECORDS, FileRecords
from pyk.reference_broker.storage.offset_lookup import (
    OffsetAndTimestamp,
    find_newest_record,
    find_timestamp,
)
from pyk.reference_broker.storage.segments import LogSegments
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction


class OffsetRange(Protocol):
    """The first offset of a log and the one after its last, as of now."""

    log_start_offset: int
    log_end_offset: int


class LogReader:
    """Reads the segments of a log, and changes nothing.

    ``offsets`` are the log's own. ``require_open`` raises ``StorageError`` when the log is closed
    or has failed: what it holds may not be on the disk.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        segments: LogSegments,
        offsets: OffsetRange,
        require_open: Callable[[], None],
    ) -> None:
        self._topic_partition = topic_partition
        self._segments = segments
        self._offsets = offsets
        self._require_open = require_open

    def read(
        self,
        offset: int,
        max_bytes: int,
        up_to_offset: int | None = None,
        *,
        min_one_batch: bool = True,
    ) -> FileRecords:
        """Return where the records from ``offset`` on lie, at most ``max_bytes`` of one segment.

        They begin with the whole batch that holds ``offset``, even if it is larger, unless
        ``min_one_batch`` is false. Nothing from ``up_to_offset`` on is returned. Raises
        ``OffsetOutOfRangeError``.
        """
        self._require_open()
        start_offset, log_end_offset = self._offsets.log_start_offset, self._offsets.log_end_offset
        if not start_offset <= offset <= log_end_offset:
            raise OffsetOutOfRangeError(
                f"offset {offset} of {self._topic_partition} is not from {start_offset} "
                f"to {log_end_offset}"
            )
        end_offset = log_end_offset if up_to_offset is None else up_to_offset
        if offset >= end_offset:
            return NO_RECORDS
        try:
            limit = end_offset if end_offset < log_end_offset else None
            return self._segments.records(offset, max_bytes, limit, min_one_batch)
        except OSError as error:
            raise self._read_error(error) from error

    def aborted_transactions(
        self, offset: int, records: FileRecords, end_offset: int
    ) -> list[EndedTransaction]:
        """Return the aborted transactions that ``records`` may be of.

        They were read from ``offset`` on, below ``end_offset``.
        """
        try:
            return self._segments.aborted_transactions(offset, records, end_offset)
        except OSError as error:
            raise self._read_error(error) from error

    def is_in_older_segment(self, offset: int, end_offset: int) -> bool:
        """Return whether a segment after that of ``offset`` has records below ``end_offset``."""
        later = self._segments.above(offset)
        return bool(later) and later[0].base_offset < end_offset

    def find_timestamp(self, timestamp_ms: int) -> OffsetAndTimestamp | None:
        """Return the first record at or after ``timestamp_ms``, None if all are older."""
        self._require_open()
        try:
            return find_timestamp(self._segments, timestamp_ms, self._offsets.log_start_offset)
        except OSError as error:
            raise self._read_error(error) from error

    def find_newest_record(self) -> OffsetAndTimestamp | None:
        """Return the first record with the largest timestamp (KIP-734), None in an empty log."""
        self._require_open()
        try:
            return find_newest_record(self._segments, self._offsets.log_start_offset)
        except OSError as error:
            raise self._read_error(error) from error

    def _read_error(self, error: OSError) -> StorageError:
        return StorageError(f"cannot read {self._topic_partition}: {error}")
