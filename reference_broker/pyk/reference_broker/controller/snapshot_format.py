"""The files of metadata snapshots, as Apache Kafka writes them (KIP-630). Pure.

A snapshot stands for all records before an offset. Its batches count offsets of their own from 0,
and all have the epoch of its name. The first is a control batch with a SnapshotHeaderRecord, the
last one with a SnapshotFooterRecord: without that the file is not complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pyk.protocol.errors import ProtocolError
from pyk.protocol.messages.control_records import ControlRecordTypeSchema
from pyk.protocol.messages.raft_records import SnapshotFooterRecord, SnapshotHeaderRecord
from pyk.protocol.persisted import decode_versioned, encode_versioned
from pyk.protocol.records import (
    RecordBatch,
    RecordBatchBuilder,
    RecordBatchError,
    read_batches,
    set_base_offset_and_epoch,
)
from pyk.protocol.schema import Message
from pyk.runtime import slotted

from .records import MetadataRecord

SUFFIX = ".checkpoint"
PARTIAL_SUFFIX = ".part"
DAMAGED_SUFFIX = ".damaged"
BATCH_BYTES = 1 << 20

_NAME = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_HEADER, _FOOTER = 3, 4

KeyValue = tuple[bytes | None, bytes | None]


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
    records: Iterable[Message], epoch: int, last_contained_time_ms: int, time_ms: int
) -> bytes:
    """Return the content of the file of a snapshot, which is written at ``time_ms``."""
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_contained_time_ms)
    content = bytearray(_control_batch(_HEADER, header, 0, epoch, time_ms))
    offset, builder = 1, _builder()
    for message in records:
        key, value = MetadataRecord(message).encode()
        if builder.append(time_ms, key, value) < 0:
            content += _placed(builder.seal(), offset, epoch)
            offset += builder.count
            builder = _builder()
            builder.append(time_ms, key, value)
    if builder.count:
        content += _placed(builder.seal(), offset, epoch)
        offset += builder.count
    content += _control_batch(_FOOTER, SnapshotFooterRecord(version=0), offset, epoch, time_ms)
    return bytes(content)


def _builder() -> RecordBatchBuilder:
    return RecordBatchBuilder(max_bytes=BATCH_BYTES)


def _control_batch(kind: int, value: Message, offset: int, epoch: int, time_ms: int) -> memoryview:
    builder = _builder()
    key = encode_versioned(ControlRecordTypeSchema(type=kind), 0)
    builder.append(time_ms, key, value.encode(0))
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
            for kind, value in _control_records(batch):
                if kind == _HEADER:
                    header = SnapshotHeaderRecord.decode(value, 0)
                is_complete |= kind == _FOOTER
        if header is None:
            raise DamagedSnapshotError("it does not begin with a header")
    if header is None or not is_complete or size < len(content):
        raise DamagedSnapshotError("it ends early")
    return Snapshot(snapshot_id, records, header.last_contained_log_timestamp)


def _control_records(batch: RecordBatch) -> Iterator[tuple[int, bytes]]:
    for record in batch:
        key = decode_versioned(ControlRecordTypeSchema, record.key or b"", accept_newer=True)
        yield key.type, record.value or b""
