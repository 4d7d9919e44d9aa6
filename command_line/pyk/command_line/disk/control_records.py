"""Decode control records, which brokers write into a log themselves."""

from __future__ import annotations

from typing import Any

from pyk.command_line.readable import Style
from pyk.protocol import ProtocolError, message_class
from pyk.protocol.messages.control_records import ControlRecordTypeSchema, EndTxnMarker
from pyk.protocol.persisted import decode_versioned
from pyk.protocol.records import Record

_TRANSACTION_ENDS = {0: "ABORT", 1: "COMMIT"}
_OF_THE_QUORUM = {
    2: ("LeaderChange", "LeaderChangeMessage"),
    3: ("SnapshotHeader", "SnapshotHeaderRecord"),
    4: ("SnapshotFooter", "SnapshotFooterRecord"),
    5: ("KRaftVersion", "KRaftVersionRecord"),
    6: ("KRaftVoters", "VotersRecord"),
}


def control_facts(record: Record, style: Style) -> dict[str, Any]:
    """Return the fields of a control record under the names of Kafka's own tool."""
    try:
        key = decode_versioned(ControlRecordTypeSchema, record.key or b"", accept_newer=True)
        return _facts(key.type, record.value or b"", style)
    except ProtocolError as error:
        return {"undecoded": str(error)}


def _facts(control_type: int, value: bytes, style: Style) -> dict[str, Any]:
    if control_type in _TRANSACTION_ENDS:
        marker = decode_versioned(EndTxnMarker, value, accept_newer=True)
        return {
            "endTxnMarker": _TRANSACTION_ENDS[control_type],
            "coordinatorEpoch": marker.coordinator_epoch,
        }
    if control_type not in _OF_THE_QUORUM:
        return {"controlType": control_type}
    name, class_name = _OF_THE_QUORUM[control_type]
    version = int.from_bytes(value[:2], signed=True)  # the first field of each of them
    return {name: style.json_form(message_class(class_name).decode(value, version), version)}
