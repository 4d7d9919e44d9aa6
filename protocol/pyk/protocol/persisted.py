"""The framing of messages in records, files and byte fields: how it carries type and version.

============================  ==========================================================
``versioned``                 int16 version, body: consumer protocol, values of coordinator
                              records, control records, producer snapshots, transaction index,
                              principals
coordinator key               int16 record type, body at version 0
metadata record               unsigned varints: frame version 1, record type, version; body
``raft_records``              nothing in front: the body begins with its version, which is an int16
``streams_protocol``          the same, with an int32
============================  ==========================================================
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, TypeVar

from .codec import wire
from .errors import MalformedMessageError, UnknownMessageError, UnsupportedVersionError
from .registry import message_class, record_classes
from .schema import Message, MessageKind

if TYPE_CHECKING:
    from .messages.consumer_protocol import StickyAssignorUserData

M = TypeVar("M", bound=Message)

_INT16 = Struct(">h")
_METADATA_FRAME_VERSION = 1

# The modules with the records of each topic; one is loaded when those before it lack a type.
_FAMILIES = {
    "__consumer_offsets": (
        "group_records",
        "consumer_group_records",
        "share_group_records",
        "streams_group_records",
    ),
    "__share_group_state": ("share_state_records",),
    "__transaction_state": ("transaction_records",),
    "__cluster_metadata": ("metadata_records", "metadata_change_records", "access_records"),
    "__remote_log_metadata": ("remote_log_records",),
}


def encode_versioned(message: Message, version: int) -> bytes:
    """Return ``message`` with its version before it."""
    return _INT16.pack(version) + message.encode(version)


def decode_versioned(cls: type[M], data: bytes | memoryview, *, accept_newer: bool = False) -> M:
    """Return the message whose version stands before it.

    With ``accept_newer`` a version higher than pyk knows is read as the highest known one and what
    is left over ignored, which is how the consumer protocol and control records grow; without, it
    raises UnsupportedVersionError. Bytes that are not such a message raise MalformedMessageError.
    """
    version = _int16(cls.__name__, data)
    if accept_newer and version > cls.versions.highest:
        return cls.decode_prefix(data, cls.versions.highest, 2)[0]
    return cls.decode(memoryview(data)[2:], version)


def encode_coordinator_key(key: Message) -> bytes:
    """Return the record key that ``key`` is, with its record type."""
    return _INT16.pack(key.api_key) + key.encode(0)


def decode_coordinator_key(data: bytes | memoryview, topic: str = "__consumer_offsets") -> Message:
    """Return the key of a record in a coordinator's topic; each topic counts types for itself.

    Raises UnknownMessageError for an unknown type.
    """
    record_type = _int16("coordinator key", data)
    cls = _record_class(topic, MessageKind.COORDINATOR_KEY, record_type)
    return cls.decode(memoryview(data)[2:], 0)


def decode_coordinator_value(key: Message, data: bytes | memoryview | None) -> Message | None:
    """Return the value that belongs to ``key``; None if there is none, which deletes the key."""
    if data is None:
        return None
    cls = message_class(f"{type(key).__name__.removesuffix('Key')}Value")
    return decode_versioned(cls, data)


def encode_metadata_record(record: Message, version: int) -> bytes:
    """Return the value of a record of ``__cluster_metadata`` or ``__remote_log_metadata``."""
    frame = (_METADATA_FRAME_VERSION, record.api_key, version)
    return b"".join(map(wire.varint, frame)) + record.encode(version)


def decode_metadata_record(data: bytes | memoryview, topic: str = "__cluster_metadata") -> Message:
    """Return the metadata record in ``data``; ``__remote_log_metadata`` has types of its own.

    Raises UnknownMessageError for an unknown type.
    """
    record_type, version, position = read_metadata_frame(data)
    cls = _record_class(topic, MessageKind.METADATA, record_type)
    return cls.decode(memoryview(data)[position:], version)


def read_metadata_frame(data: bytes | memoryview) -> tuple[int, int, int]:
    """Return type and version of the metadata record in ``data``, and where its body begins."""
    numbers, position = [], 0
    try:
        for _ in range(3):
            number, position = wire.read_varint(data, position)
            numbers.append(number)
    except wire.FAULTS as fault:
        is_cut = isinstance(fault, IndexError)
        words = f"it ends early, after {len(data)} bytes" if is_cut else fault
        raise MalformedMessageError(f"metadata record: bad frame: {words}") from fault
    frame_version, record_type, version = numbers
    if frame_version != _METADATA_FRAME_VERSION:
        raise UnsupportedVersionError(f"metadata record: frame version {frame_version}, not 1")
    return record_type, version, position


def decode_sticky_user_data(data: bytes | memoryview) -> StickyAssignorUserData:
    """Return the partitions that a member of a ``sticky`` group had, none if ``data`` is in no
    known format.

    The format does not tell its version: what is not version 1 may be version 0.
    """
    from .messages.consumer_protocol import StickyAssignorUserData

    for version in (1, 0):
        try:
            return StickyAssignorUserData.decode(data, version)
        except MalformedMessageError:
            continue
    return StickyAssignorUserData()


def _record_class(topic: str, kind: MessageKind, record_type: int) -> type[Message]:
    for family in _FAMILIES.get(topic, ()):
        cls = record_classes(family, kind).get(record_type)
        if cls is not None:
            return cls
    raise UnknownMessageError(f"no record of type {record_type} in {topic}")


def _int16(what: str, data: bytes | memoryview) -> int:
    if len(data) < 2:
        raise MalformedMessageError(f"{what}: {len(data)} bytes, too short for the leading int16")
    return int(_INT16.unpack_from(data)[0])
