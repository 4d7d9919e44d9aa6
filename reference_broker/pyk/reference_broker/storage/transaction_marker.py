"""Transaction markers: the control record that ends a transaction in one partition (KIP-98)."""

from __future__ import annotations

from pyk.protocol.errors import ProtocolError
from pyk.protocol.records import RecordBatch, RecordBatchBuilder
from pyk.runtime import slotted

# The messages are imported when they are needed: a broker must start fast.

ABORT = 0
COMMIT = 1

_VERSION = 0


@slotted.frozen
class TransactionMarker:
    """The end of a producer's transaction, as its coordinator decided it."""

    producer_id: int
    producer_epoch: int
    """Of a transaction of version 2, one higher than the epoch of its records (KIP-890)."""
    coordinator_epoch: int
    is_commit: bool

    def encode(self, time_ms: int) -> memoryview:
        """Return the control batch that holds the marker."""
        from pyk.protocol.messages.control_records import ControlRecordTypeSchema, EndTxnMarker
        from pyk.protocol.persisted import encode_versioned

        key = ControlRecordTypeSchema(type=COMMIT if self.is_commit else ABORT)
        value = EndTxnMarker(coordinator_epoch=self.coordinator_epoch)
        builder = RecordBatchBuilder()
        builder.append(time_ms, encode_versioned(key, _VERSION), encode_versioned(value, _VERSION))
        return builder.seal(
            self.producer_id, self.producer_epoch, is_transactional=True, is_control=True
        )

    @classmethod
    def decode(cls, batch: RecordBatch) -> TransactionMarker | None:
        """Return the marker in a control batch, None if it holds none.

        It holds none if compaction has removed the marker, or if it is of another kind.
        """
        from pyk.protocol.messages.control_records import ControlRecordTypeSchema, EndTxnMarker
        from pyk.protocol.persisted import decode_versioned

        record = next(iter(batch), None)
        if record is None or batch.producer_id < 0:
            return None
        try:
            kind = decode_versioned(
                ControlRecordTypeSchema, record.key or b"", accept_newer=True
            ).type
            if kind not in (ABORT, COMMIT):
                return None
            ended = decode_versioned(EndTxnMarker, record.value or b"", accept_newer=True)
        except ProtocolError:
            return None
        return cls(batch.producer_id, batch.producer_epoch, ended.coordinator_epoch, kind == COMMIT)
