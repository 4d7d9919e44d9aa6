"""The lz4 frame format with independent blocks; Kafka refuses blocks that depend on each other."""

from __future__ import annotations

from typing import Any

import lz4.frame

from pyk.protocol.records.codecs.bounds import PIECE_BYTES, check_frames, check_size
from pyk.protocol.records.errors import CorruptRecordError

_MAGIC = b"\x04\x22\x4d\x18"
_VERSION_MASK, _VERSION = 0xC0, 0x40
_INDEPENDENT_BLOCKS = 0x20
_RESERVED_OR_DICTIONARY = 0x03
_CONTENT_SIZE = 0x08
_CONTENT_SIZE_BYTES = 8
_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)  # of xxHash

_contexts: list[Any] = []


def compress(data: bytes | bytearray | memoryview, level: int | None) -> bytes:
    """Return ``data`` as one frame; level 0, the default, is fast, 3 to 12 are high compression."""
    compressed: bytes = lz4.frame.compress(data, compression_level=level or 0, block_linked=False)
    return compressed


def decompress(data: memoryview, max_bytes: int) -> bytes | bytearray:
    """Return what the frames hold."""
    try:
        context = _contexts.pop()
    except IndexError:
        context = lz4.frame.create_decompression_context()
    output = _decompress_frames(context, data, max_bytes)
    # Not after an error: a reset leaves what a frame has declared, which refuses the next good one.
    _contexts.append(context)
    return output


def with_right_header_checksum(data: memoryview) -> memoryview:
    """Return a frame of message format 0 with the header checksum that it should have.

    Its writers hashed the frame's magic number too (KIP-57), so the byte says nothing.
    """
    if len(data) < 6:
        return data
    has_content_size = data[4] & _CONTENT_SIZE
    checksum_at = 6 + (_CONTENT_SIZE_BYTES if has_content_size else 0)
    descriptor = bytes(data[4:checksum_at])
    checksum = _short_xxh32(descriptor) >> 8 & 0xFF
    return memoryview(b"".join((data[:checksum_at], bytes((checksum,)), data[checksum_at + 1 :])))


def _short_xxh32(data: bytes) -> int:
    """Return the xxHash of less than 16 bytes."""
    value = _PRIMES[4] + len(data)
    words = len(data) & ~3
    for at in range(0, words, 4):
        word = int.from_bytes(data[at : at + 4], "little")
        value = _rotated(value + word * _PRIMES[2], 17) * _PRIMES[3]
    for byte in data[words:]:
        value = _rotated(value + byte * _PRIMES[4], 11) * _PRIMES[0]
    value &= 0xFFFFFFFF
    value = (value ^ value >> 15) * _PRIMES[1] & 0xFFFFFFFF
    value = (value ^ value >> 13) * _PRIMES[2] & 0xFFFFFFFF
    return value ^ value >> 16


def _rotated(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return value << bits | value >> 32 - bits


def _decompress_frames(context: Any, data: memoryview, max_bytes: int) -> bytes | bytearray:
    output = bytearray()
    position = frames = 0
    while position < len(data) or not frames:
        frames += 1
        check_frames(frames)
        _check_descriptor(data[position : position + 5])
        end_of_frame = False
        while not end_of_frame:
            try:
                piece, used, end_of_frame = lz4.frame.decompress_chunk(
                    context, data[position:], max_length=PIECE_BYTES
                )
            except RuntimeError as error:
                raise _corrupt(error) from error
            if not (used or piece or end_of_frame):
                raise _corrupt("it ends within a frame")
            check_size(len(output) + len(piece), max_bytes)
            position += used
            if end_of_frame and not output and position == len(data):
                return bytes(piece)
            output += piece
    return output


def _check_descriptor(descriptor: memoryview) -> None:
    if len(descriptor) < 5 or descriptor[:4] != _MAGIC:
        raise _corrupt("a frame does not begin with the lz4 magic number")
    flags = descriptor[4]
    if flags & _VERSION_MASK != _VERSION or flags & _RESERVED_OR_DICTIONARY:
        raise _corrupt(
            f"frame flags {flags:#04x} are not those of version 1 without a dictionary",
        )
    if not flags & _INDEPENDENT_BLOCKS:
        raise _corrupt("its blocks depend on each other, which Kafka does not allow")


def _corrupt(why: object) -> CorruptRecordError:
    return CorruptRecordError(f"the records are not valid lz4 data: {why}")
