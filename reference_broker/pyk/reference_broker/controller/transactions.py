"""Transactions in the metadata log (KIP-868): records that take effect together or never. Pure.

A controller that dies in a transaction leaves it open. The next one aborts it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyk.protocol.schema import Message, MessageKind
from pyk.runtime import slotted

from .control_records import is_control

# Metadata record types. Their classes are not imported for a log that has none.
_BEGIN, _END, _ABORT = 23, 24, 25


@slotted.define
class MetadataTransaction:
    """Holds back the records of an open transaction."""

    _held: list[Message] | None = None

    @property
    def is_open(self) -> bool:
        """Return whether a transaction has begun and not ended."""
        return self._held is not None

    def take(self, record: Message) -> Sequence[Message]:
        """Return the records that take effect with this one, oldest first."""
        if is_control(record):  # about the log, not in it: a new leader may come in between
            return (record,)
        marker = record.api_key if record.kind is MessageKind.METADATA else None
        held = self._held
        if marker == _BEGIN:
            self._held = []
        elif marker == _ABORT:
            self._held = None
        elif marker == _END:
            self._held = None
            return held or ()
        elif held is None:
            return (record,)
        else:
            held.append(record)
        return ()
