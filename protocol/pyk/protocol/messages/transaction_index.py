"""The file in which a broker notes the aborted transactions of a segment."""

from __future__ import annotations

from pyk.protocol.schema import Message, data, int64


@data(versions="0")
class AbortedTxn(Message):
    """An aborted transaction; the segment that holds its marker also holds this note of it."""

    producer_id: int = int64()
    first_offset: int = int64()
    last_offset: int = int64()
    """The offset of the abort marker."""
    last_stable_offset: int = int64()
    """As of when the transaction had ended: none that ended later began below it."""
