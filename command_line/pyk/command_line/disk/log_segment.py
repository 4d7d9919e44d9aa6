"""Read a segment batch by batch, up to the first bytes that cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from pyk.command_line.disk.control_records import control_facts
from pyk.command_line.disk.internal_topics import Decoder
from pyk.command_line.disk.lines import DumpItem, Line, Problem
from pyk.command_line.readable import Style, codec_name
from pyk.protocol.records import (
    LegacyBatch,
    Record,
    RecordBatch,
    RecordBatchError,
    TimestampType,
    parse_any_batch,
)
from pyk.protocol.records.layout import (
    LENGTH,
    LENGTH_AT,
    LENGTH_END,
    MAGIC,
    MAGIC_AT,
    MIN_LENGTH_OF_ANY_MAGIC,
    START_BYTES,
)
from pyk.runtime import slotted

_CHECKED_BYTES = 4096
_TIME_NAMES = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}


@slotted.frozen
class StoredBatch:
    """A batch with its position, and the damage of its records, if any."""

    position: int
    batch: RecordBatch | LegacyBatch
    problem: RecordBatchError | None


def read_segment(
    file: BinaryIO, size: int, max_bytes: int | None = None
) -> Iterator[StoredBatch | Problem]:
    """Yield the batches of a segment of ``size`` bytes, one in memory at a time.

    A damaged batch is yielded with its problem, and reading goes on after it. If a length is
    invalid, or the file ends within a batch, the last item is a Problem. Batches that end after
    ``max_bytes`` are left out.
    """
    end = size if max_bytes is None else min(size, max_bytes)
    position = 0
    while position < end:
        file.seek(position)
        start = file.read(LENGTH_END)
        [length] = LENGTH.unpack_from(start, LENGTH_AT) if len(start) == LENGTH_END else [-1]
        following = position + LENGTH_END + length
        if length < MIN_LENGTH_OF_ANY_MAGIC or following > size:
            yield Problem(_what_is_left(file, position, size))
            return
        if following > end:
            return
        yield _stored(position, start + file.read(length))
        position = following


def is_segment(data: bytes) -> bool:
    """Return whether bytes begin with a batch whose checksum is right."""
    if len(data) < START_BYTES or data[MAGIC_AT] != MAGIC:
        return False
    try:
        batch = parse_any_batch(memoryview(data), 0)
        if batch is None:
            return False
        batch.check()
    except RecordBatchError:
        return False
    return True


def dump_segment(
    batches: Iterable[StoredBatch | Problem],
    style: Style,
    *,
    deep: bool,
    decoder: Decoder | None = None,
) -> Iterator[DumpItem]:
    """Yield a line for each batch and, if ``deep``, one for each record.

    ``decoder`` shows keys and values; without it they are left out.
    """
    end_offset: int | None = None
    for stored in batches:
        if isinstance(stored, Problem):
            yield stored
            continue
        batch, where = stored.batch, f"position {stored.position}"
        yield Line(_batch_facts(stored))
        if stored.problem is not None:
            yield Problem(f"{where}: {stored.problem}")
        elif deep:
            yield from _dump_records(stored, style, decoder)
        if end_offset is not None and batch.base_offset < end_offset:
            yield Problem(f"{where}: begins at offset {batch.base_offset}, not at {end_offset}")
        end_offset = batch.next_offset


def _stored(position: int, data: bytes) -> StoredBatch | Problem:
    try:
        batch = parse_any_batch(memoryview(data))
        if isinstance(batch, LegacyBatch):
            batch.check()
            batch.open()  # reads the first offset
    except RecordBatchError as error:
        return Problem(f"position {position}: {error}")
    if batch is None:  # the file had all of its bytes before: a broker has truncated its log
        return Problem(f"position {position}: the file became shorter while it was read")
    try:
        batch.check()
    except RecordBatchError as error:
        return StoredBatch(position, batch, error)
    return StoredBatch(position, batch, None)


def _what_is_left(file: BinaryIO, position: int, size: int) -> str:
    file.seek(position)
    is_empty = not any(file.read(_CHECKED_BYTES))
    what = "zeros, allocated in advance" if is_empty else "not a whole batch: torn or damaged"
    return f"position {position}: the last {size - position} bytes are {what}"


def _batch_facts(stored: StoredBatch) -> dict[str, Any]:
    batch = stored.batch
    return {
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": batch.count,
        "baseSequence": batch.base_sequence,
        "lastSequence": batch.last_sequence,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "deleteHorizonMs": batch.delete_horizon_ms,
        "position": stored.position,
        _time_name(batch): batch.max_timestamp,
        "size": batch.size_in_bytes,
        "magic": batch.magic,
        "compresscodec": codec_name(batch),
        "crc": batch.crc,
        "isvalid": stored.problem is None,
    }


def _dump_records(stored: StoredBatch, style: Style, decoder: Decoder | None) -> Iterator[DumpItem]:
    batch = stored.batch
    try:
        block = batch.open()
    except RecordBatchError as error:
        yield Problem(f"position {stored.position}: {error}")
        return
    for record in block:
        facts = _record_facts(batch, record)
        if batch.is_control:
            facts |= control_facts(record, style)
        elif decoder is not None:
            facts |= decoder(record)
        yield Line(facts, prefix="| ")


def _record_facts(batch: RecordBatch | LegacyBatch, record: Record) -> dict[str, Any]:
    sequence = batch.base_sequence
    if sequence >= 0:
        sequence = (sequence + record.offset - batch.base_offset) & 0x7FFFFFFF
    return {
        "offset": record.offset,
        _time_name(batch): record.timestamp,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
        "sequence": sequence,
        "headerKeys": [name for name, _ in record.headers],
    }


def _time_name(batch: RecordBatch | LegacyBatch) -> str:
    return _TIME_NAMES[batch.timestamp_type]
