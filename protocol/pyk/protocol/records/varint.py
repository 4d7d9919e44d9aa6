"""The variable-length integers inside records: zig-zag, seven bits a byte, least significant first.

A *varint* holds an int32 in at most 5 bytes, a *varlong* an int64 in at most 10. Only the
shortest form of a value is read: every known writer produces it, and a longer one has no meaning
of its own.
"""

from __future__ import annotations

from functools import lru_cache

from pyk.protocol.records.errors import PROBLEMS, VARINT_CUT, VARINT_TOO_LONG, CorruptRecordError


@lru_cache(maxsize=4096)
def encode_varint(value: int) -> bytes:
    """Return ``value`` (an int32) as a varint; raise ``OverflowError`` beyond that range."""
    if not -(1 << 31) <= value < 1 << 31:
        raise OverflowError(f"{value} does not fit a varint, which holds an int32")
    return _encode((value << 1) ^ (value >> 31))


@lru_cache(maxsize=4096)
def encode_varlong(value: int) -> bytes:
    """Return ``value`` (an int64) as a varlong; raise ``OverflowError`` beyond that range."""
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} does not fit a varlong, which holds an int64")
    return _encode((value << 1) ^ (value >> 63))


def decode_varint(data: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    """Return the varint at ``position`` and where it ends; raise ``CorruptRecordError``."""
    if position < end and (byte := data[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    if position + 1 < end and 0 < (high := data[position + 1]) < 0x80:  # as most lengths are
        value = byte & 0x7F | high << 7
        return (value >> 1) ^ -(value & 1), position + 2
    return _decode(data, position, end, 32)


def decode_varlong(data: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    """Return the varlong at ``position`` and where it ends; raise ``CorruptRecordError``."""
    if position < end and (byte := data[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    if position + 1 < end and 0 < (high := data[position + 1]) < 0x80:
        value = byte & 0x7F | high << 7
        return (value >> 1) ^ -(value & 1), position + 2
    return _decode(data, position, end, 64)


def _encode(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _decode(data: bytes | memoryview, position: int, end: int, bits: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < bits:
        byte = data[position]
        position += 1
        if byte < 0x80:
            value |= byte << shift
            if value >> bits or (shift and not byte):
                raise CorruptRecordError(PROBLEMS[VARINT_TOO_LONG])
            return (value >> 1) ^ -(value & 1), position
        value |= (byte & 0x7F) << shift
        shift += 7
    raise CorruptRecordError(PROBLEMS[VARINT_TOO_LONG if shift >= bits else VARINT_CUT])
