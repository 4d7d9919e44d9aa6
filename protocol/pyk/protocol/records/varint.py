"""The variable-length integers inside records: zig-zag, seven bits a byte, least significant first.

A *varint* holds an int32 in at most 5 bytes, a *varlong* an int64 in at most 10. Only the shortest form of
a value is read: every known writer produces it, and a longer one has no meaning of its own.
"""

from __future__ import annotations

from pyk.protocol.records.errors import PROBLEMS, VARINT_CUT, VARINT_TOO_LONG, CorruptRecordError

MAX_VARINT_BYTES = 5
MAX_VARLONG_BYTES = 10


def encode_varint(value: int) -> bytes:
    """Return ``value`` (an int32) as a varint; raise ``OverflowError`` beyond that range."""
    if not -(1 << 31) <= value < 1 << 31:
        raise OverflowError(f"{value} does not fit a varint, which holds an int32")
    return _encode((value << 1) ^ (value >> 31))


def encode_varlong(value: int) -> bytes:
    """Return ``value`` (an int64) as a varlong; raise ``OverflowError`` beyond that range."""
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} does not fit a varlong, which holds an int64")
    return _encode((value << 1) ^ (value >> 63))


def decode_varint(data: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    """Return the varint at ``position`` and the position behind it; raise ``CorruptRecordError``."""
    value, position = _decode(data, position, end, MAX_VARINT_BYTES)
    if value >> 32:
        raise CorruptRecordError(PROBLEMS[VARINT_TOO_LONG])
    return (value >> 1) ^ -(value & 1), position


def decode_varlong(data: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    """Return the varlong at ``position`` and the position behind it; raise ``CorruptRecordError``."""
    value, position = _decode(data, position, end, MAX_VARLONG_BYTES)
    if value >> 64:
        raise CorruptRecordError(PROBLEMS[VARINT_TOO_LONG])
    return (value >> 1) ^ -(value & 1), position


def _encode(value: int) -> bytes:
    if value < 0x80:
        return _ONE_BYTE[value]
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _decode(data: bytes | memoryview, position: int, end: int, max_bytes: int) -> tuple[int, int]:
    value = shift = 0
    for index in range(position, min(end, position + max_bytes)):
        byte = data[index]
        if byte < 0x80:
            if byte == 0 and shift:
                raise CorruptRecordError(PROBLEMS[VARINT_TOO_LONG])
            return value | byte << shift, index + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    problem = VARINT_TOO_LONG if end - position >= max_bytes else VARINT_CUT
    raise CorruptRecordError(PROBLEMS[problem])


_ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))
