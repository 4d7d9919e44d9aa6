"""Control records about the quorum, in the metadata log and its snapshots (KIP-595, KIP-853). Pure.

They are for the log itself, not for the controller; but the level of ``kraft.version`` and the
voters are part of the image here, so that all that is known of the quorum is in one place.
"""

from __future__ import annotations

from pyk.protocol.errors import UnknownMessageError
from pyk.protocol.messages.control_records import ControlRecordTypeSchema, LeaderChangeMessage
from pyk.protocol.messages.raft_records import KRaftVersionRecord, VotersRecord
from pyk.protocol.persisted import decode_versioned, encode_versioned
from pyk.protocol.schema import Message

LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, VOTERS = 2, 3, 4, 5, 6

KeyValue = tuple[bytes | None, bytes | None]

_MESSAGES: dict[int, type[Message]] = {
    LEADER_CHANGE: LeaderChangeMessage,
    KRAFT_VERSION: KRaftVersionRecord,
    VOTERS: VotersRecord,
}
_TYPES = {message: number for number, message in _MESSAGES.items()}


def is_control(message: Message) -> bool:
    """Return whether a message is written as a control record."""
    return type(message) in _TYPES


def encode_control(message: Message) -> KeyValue:
    """Return the key and value of a record about the quorum."""
    return control_key(_TYPES[type(message)]), message.encode(0)


def control_key(control_type: int) -> bytes:
    return encode_versioned(ControlRecordTypeSchema(type=control_type), 0)


def control_type(key: bytes | None) -> int:
    """Return the type in the key of a control record; raise ``ProtocolError``."""
    return decode_versioned(ControlRecordTypeSchema, key or b"", accept_newer=True).type


def is_about_quorum(key: bytes | None) -> bool:
    """Return whether a control record is part of the image; raise ``ProtocolError``."""
    return control_type(key) in (KRAFT_VERSION, VOTERS)


def decode_control(key: bytes, value: bytes | None) -> Message:
    """Return a record about the quorum; raise ``ProtocolError``."""
    number = control_type(key)
    if number not in _MESSAGES:
        raise UnknownMessageError(f"no control record of the quorum has the type {number}")
    return _MESSAGES[number].decode(value or b"", 0)
