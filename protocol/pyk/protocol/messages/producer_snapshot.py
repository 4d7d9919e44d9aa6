"""The file in which a broker keeps what it knows of a partition's producers."""

from __future__ import annotations

from pyk.protocol.schema import Message, Struct, array, data, int16, int32, int64, struct, uint32


@struct
class ProducerEntry(Struct):
    """The state of one producer at the snapshot's offset."""

    producer_id: int = int64()
    epoch: int = int16()
    last_sequence: int = int32()
    last_offset: int = int64()
    offset_delta: int = int32()
    """Last offset minus first offset of the last batch."""
    timestamp: int = int64()
    coordinator_epoch: int = int32()
    current_txn_first_offset: int = int64()
    """-1 if no transaction is open."""


@data(versions="1")
class ProducerSnapshot(Message):
    """All producers of a partition at the offset that is the file's name."""

    crc: int = uint32()
    """CRC-32C of what follows this field."""
    producer_entries: list[ProducerEntry] = array(ProducerEntry)
