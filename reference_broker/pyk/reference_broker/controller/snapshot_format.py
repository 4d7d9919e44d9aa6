"""The files of metadata snapshots, as Apache Kafka writes them (KIP-630). Pure.

A snapshot stands for all records before an offset. Its batches count offsets of their own from 0,
and all have the epoch of its name. The first is a control batch with a SnapshotHeaderRecord, the
last one with a SnapshotFooterRecord: without that the file is not complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pyk.protocol.errors import ProtocolError
from pyk.protocol.messages.raft_records import SnapshotFooterRecord, SnapshotHeaderRecord
from pyk.protocol.records import (
    RecordBatch,
    RecordBatchBuilder,
    RecordBatchError,
    read_batches,
    set_base_offset_and_epoch,
)
from pyk.protocol.schema import Message
from pyk.runtime import slotted

from .control_records import (
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    KeyValue,
    control_key,
    control_type,
    encode_control,
    is_about_quorum,
)
from .metadata_versions import LOWEST
from .records import at_level

SUFFIX = ".checkpoint"
PARTIAL_SUFFIX = ".part"
DAMAGED_SUFFIX = ".damaged"
BATCH_BYTES = 1 << 20

_NAME = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")


class DamagedSnapshotError(Exception):
    """A file is not a whole snapshot."""


class SnapshotId(NamedTuple):
    """The first offset that a snapshot does not stand for, and the epoch of the one before it."""

    offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.offset:020d}-{self.epoch:010d}{SUFFIX}"

    @classmethod
    def of_file(cls, name: str) -> SnapshotId | None:
        """Return the snapshot that a file is named after, None for another file."""
        match = _NAME.fullmatch(name)
        return cls(int(match[1]), int(match[2])) if match else None


@slotted.frozen
class Snapshot:
    """The records of a snapshot, and when the last record that it stands for was appended."""

    id: SnapshotId
    records: list[KeyValue]
    last_contained_time_ms: int


# -- writing ---------------------------------------------------------------------------------------


def encode_snapshot(
    records: Iterable[Message],
    epoch: int,
    last_contained_time_ms: int,
    time_ms: int,
    of_quorum: Iterable[Message] = (),
) -> bytes:
    """Return the content of the file of a snapshot, which is written at ``time_ms``.

    The first record is the level of ``metadata.version``: it says how the others are written.
    """
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_contained_time_ms)
    head = [(control_key(SNAPSHOT_HEADER), header.encode(0)), *map(encode_control, of_quorum)]
    content = bytearray(_control_batch(head, 0, epoch, time_ms))
    offset, builder = len(head), _builder()
    for record in at_level(records, LOWEST):
        key, value = record.encode()
        if builder.append(time_ms, key, value) < 0:
            content += _placed(builder.seal(), offset, epoch)
            offset += builder.count
            builder = _builder()
            builder.append(time_ms, key, value)
    if builder.count:
        content += _placed(builder.seal(), offset, epoch)
        offset += builder.count
    footer = [(control_key(SNAPSHOT_FOOTER), SnapshotFooterRecord(version=0).encode(0))]
    content += _control_batch(footer, offset, epoch, time_ms)
    return bytes(content)


def _builder() -> RecordBatchBuilder:
    return RecordBatchBuilder(max_bytes=BATCH_BYTES)


def _control_batch(
    records: Iterable[KeyValue], offset: int, epoch: int, time_ms: int
) -> memoryview:
    builder = _builder()
    for key, value in records:
        builder.append(time_ms, key, value)
    return _placed(builder.seal(is_control=True), offset, epoch)


def _placed(batch: memoryview, offset: int, epoch: int) -> memoryview:
    set_base_offset_and_epoch(batch, offset, epoch)
    return batch


# -- reading ---------------------------------------------------------------------------------------


def decode_snapshot(snapshot_id: SnapshotId, content: bytes) -> Snapshot:
    """Return the snapshot in a file; raise :class:`DamagedSnapshotError`."""
    try:
        return _decode(snapshot_id, content)
    except (RecordBatchError, ProtocolError) as error:
        raise DamagedSnapshotError(str(error)) from error


def _decode(snapshot_id: SnapshotId, content: bytes) -> Snapshot:
    records: list[KeyValue] = []
    header: SnapshotHeaderRecord | None = None
    is_complete, size = False, 0
    for batch in read_batches(content):
        if not isinstance(batch, RecordBatch):
            raise DamagedSnapshotError("it has a batch of an old format")
        if is_complete:
            raise DamagedSnapshotError("something follows its footer")
        size += batch.size_in_bytes
        if not batch.is_control:
            records += [(record.key, record.value) for record in batch]
        else:
            for record in batch:
                kind = control_type(record.key)
                if kind == SNAPSHOT_HEADER:
                    header = SnapshotHeaderRecord.decode(record.value or b"", 0)
                elif is_about_quorum(record.key):
                    records.append((record.key, record.value))
                is_complete |= kind == SNAPSHOT_FOOTER
        if header is None:
            raise DamagedSnapshotError("it does not begin with a header")
    if header is None or not is_complete or size < len(content):
        raise DamagedSnapshotError("it ends early")
    return Snapshot(snapshot_id, records, header.last_contained_log_timestamp)
