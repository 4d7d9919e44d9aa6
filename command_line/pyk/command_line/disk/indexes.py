"""Read the index files of a segment, and compare them with it.

``offset index``  int32 offset above the base, int32 position: a batch with that last offset
``time index``    int64 timestamp, int32 offset above the base: no record up to it is newer
``transaction index``  aborted transactions whose marker is in the segment

Kafka allocates the first two in advance: zeros may follow their entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct

from pyk.command_line.disk.lines import DumpItem, Line, Problem
from pyk.command_line.disk.log_segment import StoredBatch
from pyk.protocol import ProtocolError
from pyk.protocol.messages.transaction_index import AbortedTxn
from pyk.protocol.persisted import decode_versioned
from pyk.protocol.records.index_layout import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY

ABORTED_ENTRY_BYTES = 34


def dump_offset_index(
    data: bytes, base_offset: int, batches: Iterable[StoredBatch] | None
) -> Iterator[DumpItem]:
    """Yield the entries and their problems; ``batches`` are those of the segment."""
    last_offsets = (
        None if batches is None else {each.position: each.batch.last_offset for each in batches}
    )
    previous = -1
    for relative, position in _entries(OFFSET_INDEX_ENTRY, data):
        offset = base_offset + relative
        yield Line({"offset": offset, "position": position})
        if relative <= previous:
            yield Problem(f"offset {offset} is not above that of the entry before it")
        previous = relative
        if last_offsets is None:
            continue
        if position not in last_offsets:
            yield Problem(f"offset {offset}: no batch begins at position {position}")
        elif last_offsets[position] != offset:
            last = last_offsets[position]
            yield Problem(f"offset {offset}: the batch at {position} ends with offset {last}")


def dump_time_index(
    data: bytes, base_offset: int, batches: Iterable[StoredBatch] | None
) -> Iterator[DumpItem]:
    """Yield the entries and their problems; ``batches`` are those of the segment."""
    newest = None if batches is None else _newest_up_to(batches)
    previous = None
    for timestamp, relative in _entries(TIME_INDEX_ENTRY, data):
        offset = base_offset + relative
        yield Line({"timestamp": timestamp, "offset": offset})
        if previous is not None and timestamp <= previous:
            yield Problem(f"timestamp {timestamp} is not after {previous}, the one before it")
        previous = timestamp
        if newest is None:
            continue
        if offset not in newest:
            yield Problem(f"timestamp {timestamp}: no batch ends with offset {offset}")
        elif newest[offset] != timestamp:
            found = newest[offset]
            yield Problem(f"timestamp {timestamp}: the newest up to offset {offset} is {found}")


def dump_transaction_index(data: bytes) -> Iterator[DumpItem]:
    """Yield the aborted transactions."""
    for start in range(0, len(data), ABORTED_ENTRY_BYTES):
        entry = data[start : start + ABORTED_ENTRY_BYTES]
        try:
            aborted = decode_versioned(AbortedTxn, entry)
        except ProtocolError as error:
            yield Problem(f"position {start}: {error}")
            return
        yield Line(
            {
                "version": int.from_bytes(entry[:2]),
                "producerId": aborted.producer_id,
                "firstOffset": aborted.first_offset,
                "lastOffset": aborted.last_offset,
                "lastStableOffset": aborted.last_stable_offset,
            }
        )


def sanity_problem(entry: Struct, data: bytes) -> str | None:
    """Return why a broker would rebuild the index when it starts, None if it would not."""
    if len(data) % entry.size:
        return f"its {len(data)} bytes are not a multiple of its entries of {entry.size} bytes"
    entries = list(_entries(entry, data))
    if entries and not entries[0] <= entries[-1]:
        return f"the last entry, {entries[-1]}, is before the first, {entries[0]}"
    return None


def _entries(entry: Struct, data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the entries up to the zeros that were allocated in advance."""
    nothing = bytes(entry.size)
    for start in range(0, len(data) - entry.size + 1, entry.size):
        if start and data.startswith(nothing, start):
            return
        first, second = entry.unpack_from(data, start)
        yield first, second


def _newest_up_to(batches: Iterable[StoredBatch]) -> Mapping[int, int]:
    newest, by_last_offset = -1, {}
    for stored in batches:
        newest = max(newest, stored.batch.max_timestamp)
        by_last_offset[stored.batch.last_offset] = newest
    return by_last_offset
