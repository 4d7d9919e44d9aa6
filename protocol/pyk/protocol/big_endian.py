"""Numbers as they lie on the wire, highest byte first.

This is the plain form; ``big_endian.pyx`` is the compiled one.
"""

from __future__ import annotations

from struct import Struct

_INT32 = Struct(">i")


def put_int32(out: bytearray, position: int, value: int) -> None:
    """Write an int32 over the four bytes at ``position``; raise ``IndexError`` if they lack."""
    if not 0 <= position <= len(out) - 4:
        raise IndexError(f"no int32 at byte {position} of {len(out)}")
    _INT32.pack_into(out, position, value)


def get_int32(data: bytes, position: int) -> int:
    """Return the int32 at ``position``; raise ``IndexError`` where the data ends before it does."""
    if not 0 <= position <= len(data) - 4:
        raise IndexError(f"no int32 at byte {position} of {len(data)}")
    number: int = _INT32.unpack_from(data, position)[0]
    return number
