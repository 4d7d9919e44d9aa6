"""Plain gzip, of one member or several."""

from __future__ import annotations

import zlib

from pyk.protocol.records.codecs.bounds import PIECE_BYTES, check_frames, check_size
from pyk.protocol.records.errors import CorruptRecordError

_GZIP = 31  # zlib's "window bits" that mean the gzip format
_INPUT_BYTES = 64 * 1024


def compress(data: bytes | bytearray | memoryview, level: int | None) -> bytes:
    """Return ``data`` as one member; levels 1 to 9, 6 by default."""
    return zlib.compress(data, -1 if level is None else level, _GZIP)


def decompress(data: memoryview, max_bytes: int) -> bytearray:
    """Return what the members hold; nothing but members may follow the first."""
    output = bytearray()
    position = frames = 0
    while position < len(data) or not frames:
        frames += 1
        check_frames(frames)
        position = _decompress_member(data, position, output, max_bytes)
    return output


def _decompress_member(data: memoryview, position: int, output: bytearray, max_bytes: int) -> int:
    """Append one member to ``output`` and return the position after it."""
    member = zlib.decompressobj(_GZIP)
    # Fed in pieces: zlib hands back a copy of what it did not use, which must not be all the rest.
    while not member.eof:
        piece = data[position : position + _INPUT_BYTES]
        try:
            decompressed = member.decompress(piece, PIECE_BYTES)
        except zlib.error as error:
            raise _corrupt(error) from error
        if not (piece or decompressed or member.eof):
            raise _corrupt("it ends within a member")
        output += decompressed
        check_size(len(output), max_bytes)
        position += len(piece) - len(member.unconsumed_tail) - len(member.unused_data)
    return position


def _corrupt(why: object) -> CorruptRecordError:
    return CorruptRecordError(f"the records are not valid gzip data: {why}")
