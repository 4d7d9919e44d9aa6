"""Snapshots of the metadata (KIP-630): written now and then, loaded at the start.

A snapshot is a file in the directory of the metadata log. It is written under another name, flushed
and renamed, so that a file with the name of a snapshot is whole. Only then may the log behind it
go, and that waits until there is a newer snapshot and the older one is past its retention, as in
Apache Kafka. A start loads the newest snapshot that is whole, and the log after it.

What a snapshot holds is committed: it is made of the image that clients see.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby

from pyk.protocol.records import RecordBatch, RecordBatchBuilder
from pyk.reference_broker.storage import LogError, StorageError
from pyk.runtime.filesystem.atomic_write import begin_atomic_write, read_if_exists
from pyk.runtime.filesystem.interface import FileSystem
from pyk.runtime.timers import Moment, TimerQueue

from .config import BrokerConfig
from .controller.control_records import is_about_quorum
from .controller.image import MetadataImage
from .controller.image_records import frozen_copy, image_records, quorum_records
from .controller.snapshot_format import (
    DAMAGED_SUFFIX,
    PARTIAL_SUFFIX,
    SUFFIX,
    DamagedSnapshotError,
    Snapshot,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
)
from .controller.snapshot_schedule import SnapshotFacts, SnapshotSchedule, count_old
from .coordinator.decision import TransactionalProducer
from .coordinator.shard_log import KeyValue, LogEntry, LoggedRecords
from .partition import Partition
from .partition_log import PartitionLog
from .storage import Log
from .storage.disk import Disk

log = logging.getLogger(__name__)


class SnapshotFiles:
    """The snapshots in the directory of the metadata log."""

    def __init__(self, filesystem: FileSystem, directory: str) -> None:
        self._filesystem = filesystem
        self._directory = directory
        self.facts: dict[SnapshotId, SnapshotFacts] = {}
        """The snapshots that may be used."""

    @property
    def ids(self) -> list[SnapshotId]:
        """The snapshots that may be used, the oldest first."""
        return sorted(self.facts)

    def path(self, snapshot_id: SnapshotId) -> str:
        return f"{self._directory}/{snapshot_id.file_name}"

    def load_newest(self) -> Snapshot | None:
        """Find all snapshots; return the newest one that is whole, None if there is none.

        Damaged ones are set aside. Raises ``OSError``.
        """
        found = []
        for name in self._filesystem.list_directory(self._directory):
            snapshot_id = SnapshotId.of_file(name)
            if snapshot_id is not None:
                found.append(snapshot_id)
            elif name.endswith(SUFFIX + PARTIAL_SUFFIX):
                log.info("Removing %s/%s: it was not finished", self._directory, name)
                self._filesystem.remove(f"{self._directory}/{name}")
        while found:
            newest = max(found)
            snapshot = self._read(newest)
            if snapshot is not None:
                self._take_note(found, snapshot)
                return snapshot
            found.remove(newest)
        return None

    def _read(self, snapshot_id: SnapshotId) -> Snapshot | None:
        path = self.path(snapshot_id)
        try:
            return decode_snapshot(snapshot_id, read_if_exists(self._filesystem, path) or b"")
        except DamagedSnapshotError as error:
            log.warning(
                "%s is damaged: %s. It is set aside as %s%s, and an older snapshot or the log is "
                "loaded",
                path,
                error,
                path,
                DAMAGED_SUFFIX,
            )
            self._filesystem.rename(path, path + DAMAGED_SUFFIX)
            return None

    def _take_note(self, found: list[SnapshotId], newest: Snapshot) -> None:
        for each in found:
            size, modified_ms = self._filesystem.size_and_modified_ms(self.path(each))
            # When a file was written is nearly that, and its records are not read for it.
            self.facts[each] = SnapshotFacts(size, modified_ms)
        size = self.facts[newest.id].size
        self.facts[newest.id] = SnapshotFacts(size, newest.last_contained_time_ms)

    def write(self, snapshot_id: SnapshotId, content: bytes) -> None:
        """Write a snapshot durably. May run in any thread; raise ``OSError``."""
        path = self.path(snapshot_id)
        try:
            begin_atomic_write(self._filesystem, path, content, PARTIAL_SUFFIX).finish()
        except OSError:
            with contextlib.suppress(OSError):
                self._filesystem.remove(path + PARTIAL_SUFFIX)
            raise

    def remove(self, snapshot_ids: Iterable[SnapshotId]) -> None:
        """Remove the files of snapshots. May run in any thread; raise ``OSError``."""
        for each in snapshot_ids:
            with contextlib.suppress(FileNotFoundError):
                self._filesystem.remove(self.path(each))


class MetadataLog(PartitionLog):
    """The metadata log with its snapshots: replaying it begins with the newest one."""

    def __init__(
        self,
        partition: Partition,
        snapshot: Snapshot | None,
        schedule: SnapshotSchedule,
    ) -> None:
        super().__init__(partition)
        self._snapshot = snapshot
        self._schedule = schedule

    def append(
        self,
        records: Iterable[KeyValue],
        time_ms: int,
        producer: TransactionalProducer | None = None,
    ) -> int:
        """Append records; those about the quorum, which have keys, as control batches of their own.

        Kafka, too, writes an upgrade of ``kraft.version`` before the other records of its request.
        """
        next_offset = self.end_offset
        for is_control, group in groupby(records, lambda record: record[0] is not None):
            appended = list(group)
            seal = partial(RecordBatchBuilder.seal, is_control=is_control)
            next_offset = self._append(appended, time_ms, seal)
            self._schedule.bytes_since += _value_bytes(appended)
        return next_offset

    def _control_entries(self, batch: RecordBatch) -> list[LogEntry]:
        records = [(each.key, each.value) for each in batch if is_about_quorum(each.key)]
        return [LoggedRecords(records)] if records else []

    def read_all(self) -> Iterator[list[LogEntry]]:
        offset = self._partition.log.log_start_offset
        if self._snapshot is not None:
            snapshot, self._snapshot = self._snapshot, None
            offset = snapshot.id.offset
            yield [LoggedRecords(snapshot.records)]
        for entries in self.read_from(offset):
            for entry in entries:
                if isinstance(entry, LoggedRecords):
                    self._schedule.bytes_since += _value_bytes(entry.records)
            yield entries


def _value_bytes(records: Iterable[KeyValue]) -> int:
    return sum(len(value or b"") for _, value in records)


class MetadataSnapshots:
    """Writes the snapshots of one broker, from :meth:`begin` until the timers are closed."""

    def __init__(
        self,
        files: SnapshotFiles,
        log: Log,
        image: MetadataImage,
        schedule: SnapshotSchedule,
        *,
        disk: Disk,
        timers: TimerQueue,
        moment: Callable[[], Moment],
        config: Callable[[], BrokerConfig],
    ) -> None:
        self._files = files
        self._log = log
        self._image = image
        self._schedule = schedule
        self._disk = disk
        self._timers = timers
        self._moment = moment
        self._config = config
        self._is_busy = True  # until the log is loaded

    def begin(self) -> None:
        """Write snapshots from now on: the log is loaded."""
        self._is_busy = False
        self._clean()
        self._wait()
        self.committed()

    def committed(self) -> None:
        """Write a snapshot if one is due: records were committed."""
        now = self._moment()
        if not self._is_busy and self._schedule.is_due(self._image.record_count, now.now):
            self._write(now)

    def _wait(self) -> None:
        """Look again when the interval ends; from then on every change looks itself."""
        schedule = self._schedule
        if schedule.max_interval:
            at = schedule.began_at + schedule.max_interval
            self._timers.schedule(self, at, lambda _: self.committed())

    def _write(self, now: Moment) -> None:
        offset = self._image.record_count
        snapshot_id = SnapshotId(offset, self._log.leader_epochs.epoch_of(offset - 1))
        active = self._log.segments.active
        last_ms = active.largest_timestamp_ms if active.size else now.time_ms
        image = frozen_copy(self._image)
        size = 0

        def write() -> None:
            nonlocal size
            content = encode_snapshot(
                image_records(image),
                snapshot_id.epoch,
                last_ms,
                now.time_ms,
                quorum_records(image),
            )
            size = len(content)
            self._files.write(snapshot_id, content)

        def written(error: BaseException | None) -> None:
            self._is_busy = False
            if error is not None:
                log.warning("Could not write %s: %s", self._files.path(snapshot_id), error)
            else:
                self._files.facts[snapshot_id] = SnapshotFacts(size, last_ms)
                self._clean()

        self._is_busy = True
        self._schedule.began(offset, now.now)
        self._wait()
        self._disk.run(write, written)

    def _clean(self) -> None:
        """Give up old snapshots, and the log before the oldest one that stays."""
        ids, log_size = self._files.ids, self._log.segments.size
        now_ms = self._moment().time_ms
        count = count_old(ids, self._files.facts, self._config(), log_size, now_ms)
        if not count:
            return
        old = ids[:count]
        try:
            self._log.advance_log_start_offset(ids[count].offset)
        except LogError as error:
            log.warning("Could not remove old records of %s: %s", self._log, error)
            return
        for each in old:
            del self._files.facts[each]
        self._disk.run(partial(self._files.remove, old), _warn_of_failed_removal)


def _warn_of_failed_removal(error: BaseException | None) -> None:
    if error is not None:
        log.warning("Could not remove old snapshots of the metadata: %s", error)


def begin_at_snapshot(opened: Log, snapshot_id: SnapshotId | None) -> None:
    """Check that a log goes on from a snapshot, and empty one that ends before it, as Kafka does.

    Raises ``StorageError`` if records are missing.
    """
    start = opened.log_start_offset
    if snapshot_id is None:
        if start:
            raise StorageError(
                f"{opened.directory} begins at offset {start}, and no snapshot (*{SUFFIX}) in it "
                "stands for the records before: restore one"
            )
    elif snapshot_id.offset < start:
        raise StorageError(
            f"{opened.directory} begins at offset {start}, after its newest good snapshot "
            f"{snapshot_id.file_name}: restore a newer one"
        )
    elif snapshot_id.offset > opened.log_end_offset:
        log.warning(
            "Emptying %s: it ends at offset %d, before its snapshot %s",
            opened.directory,
            opened.log_end_offset,
            snapshot_id.file_name,
        )
        opened.truncate_fully(snapshot_id.offset)
