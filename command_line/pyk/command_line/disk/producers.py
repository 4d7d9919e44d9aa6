"""Read producer snapshots: the state of a partition's producers."""

from __future__ import annotations

from collections.abc import Iterator

from pyk.command_line.disk.lines import DumpItem, Line, Problem
from pyk.protocol import ProtocolError
from pyk.protocol.messages.producer_snapshot import ProducerSnapshot
from pyk.protocol.persisted import decode_versioned
from pyk.protocol.records.checksum import crc32c

_CHECKED_FROM = 6  # the first byte after version and CRC


def dump_producer_snapshot(data: bytes) -> Iterator[DumpItem]:
    """Yield the producers."""
    try:
        snapshot = decode_versioned(ProducerSnapshot, data)
    except ProtocolError as error:
        yield Problem(str(error))
        return
    computed = crc32c(data[_CHECKED_FROM:])
    if computed != snapshot.crc:
        yield Problem(f"the stored CRC is {snapshot.crc:#010x}, the computed CRC {computed:#010x}")
    for producer in snapshot.producer_entries:
        first_offset = producer.current_txn_first_offset
        facts = {
            "producerId": producer.producer_id,
            "producerEpoch": producer.epoch,
            "coordinatorEpoch": producer.coordinator_epoch,
            "currentTxnFirstOffset": first_offset if first_offset >= 0 else None,
            "lastTimestamp": producer.timestamp,
        }
        if producer.last_offset >= 0:
            first = (producer.last_sequence - producer.offset_delta) & 0x7FFFFFFF
            facts["firstSequence"] = first
            facts["lastSequence"] = producer.last_sequence
            facts["lastOffset"] = producer.last_offset
            facts["offsetDelta"] = producer.offset_delta
            facts["timestamp"] = producer.timestamp
        yield Line(facts)
