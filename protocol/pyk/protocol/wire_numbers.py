"""Numbers as they lie on the wire: highest byte first, or as unsigned varints.

This is the plain form; ``compiled/wire_numbers.pyx`` is the compiled one.
"""

from __future__ import annotations

from struct import Struct

_INT32 = Struct(">i")
_INT64 = Struct(">q")


def get_int32(data: bytes | bytearray | memoryview, position: int) -> int:
    """Return the int32 at ``position``; raise ``IndexError`` if its four bytes are not there."""
    _check(position, len(data))
    number: int = _INT32.unpack_from(data, position)[0]
    return number


def get_int64(data: bytes | bytearray | memoryview, position: int) -> int:
    """Return the int64 at ``position``; raise ``IndexError`` if its eight bytes are not there."""
    if not 0 <= position <= len(data) - _INT64.size:
        raise IndexError(f"no int64 at byte {position} of {len(data)}")
    number: int = _INT64.unpack_from(data, position)[0]
    return number


def has_bytes(data: bytes | bytearray | memoryview, position: int, expected: bytes) -> bool:
    """Return whether ``expected`` stands at ``position``, which is 0 or more."""
    return data[position : position + len(expected)] == expected


def put_int32(out: bytearray, position: int, value: int) -> None:
    """Write an int32 over the four bytes at ``position``; raise as :func:`get_int32`."""
    _check(position, len(out))
    _INT32.pack_into(out, position, value)


def put_int64(out: bytearray, position: int, value: int) -> None:
    """Write an int64 over the eight bytes at ``position``; raise as :func:`get_int64`."""
    if not 0 <= position <= len(out) - _INT64.size:
        raise IndexError(f"no int64 at byte {position} of {len(out)}")
    _INT64.pack_into(out, position, value)


def bytearray_of(data: bytes) -> bytearray:
    """Return a copy that can be changed; compiled, without the call of a type."""
    return bytearray(data)


def append_bytes(out: bytearray, data: bytes | bytearray) -> None:
    """Append bytes; compiled, without the protocols of numbers and buffers."""
    out += data


def append_int32(out: bytearray, value: int) -> None:
    """Append an int32."""
    out += _INT32.pack(value)


def append_varint(out: bytearray, value: int) -> None:
    """Append an unsigned varint of at most 32 bits."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _check(position: int, size: int) -> None:
    if not 0 <= position <= size - _INT32.size:
        raise IndexError(f"no int32 at byte {position} of {size}")
