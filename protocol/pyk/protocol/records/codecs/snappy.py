"""Snappy in the stream of the xerial library, as Kafka's clients write it, or as one raw block.

The stream: a magic number and two versions, then blocks, each an int32 size and raw snappy. Other
producers send one raw block without the stream, so a reader takes both.
"""

from __future__ import annotations

import struct
from typing import Any

from pyk.protocol.records.codecs.bounds import check_frames, check_size
from pyk.protocol.records.errors import CorruptRecordError, UnsupportedCompressionError

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
_MAX_RATIO = 22  # a copy of 3 bytes gives at most 64


def check_available() -> None:
    """Raise ``UnsupportedCompressionError``, naming what to install, if snappy is not there."""
    _cramjam()


def _cramjam() -> Any:
    try:
        import cramjam
    except ImportError:
        raise UnsupportedCompressionError(
            "snappy needs the package cramjam: pip install 'pyk-kafka[snappy]'"
        ) from None
    return cramjam


def compress(data: bytes | bytearray | memoryview, level: int | None) -> bytes:
    """Return ``data`` as a xerial stream; snappy has no levels."""
    snappy = _cramjam().snappy
    view = memoryview(data)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def decompress(data: memoryview, max_bytes: int) -> bytearray:
    """Return what the stream, or the one raw block, holds."""
    cramjam = _cramjam()
    output = bytearray()
    if data[:8] != _XERIAL_MAGIC:
        _decompress_block(cramjam, data, output, max_bytes)
        return output
    position = frames = 0
    while position < len(data):
        frames += 1
        check_frames(frames)
        if data[position : position + 8] == _XERIAL_MAGIC:
            position += len(_XERIAL_HEADER)
            continue
        start = position + 4
        position = start + int.from_bytes(data[position:start], "big")
        if start > len(data) or position > len(data):
            raise _corrupt("a block is cut off")
        _decompress_block(cramjam, data[start:position], output, max_bytes)
    if position > len(data):
        raise _corrupt("the stream header is cut off")
    return output


def _decompress_block(cramjam: Any, block: memoryview, output: bytearray, max_bytes: int) -> None:
    size = _size_of_block(block)
    check_size(len(output) + size, max_bytes)
    if size > _MAX_RATIO * len(block):
        raise _corrupt(f"a block of {len(block)} bytes declares {size}")
    try:
        decompressed = cramjam.snappy.decompress_raw(block)
    except cramjam.DecompressionError as error:
        raise _corrupt(error) from error
    output += decompressed


def _size_of_block(block: memoryview) -> int:
    """Return the size that a raw block declares: an unsigned varint of 32 bits at its start."""
    size = 0
    for index, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80 and size < 1 << 32:
            return size
    raise _corrupt("a block does not begin with its size")


def _corrupt(why: object) -> CorruptRecordError:
    return CorruptRecordError(f"the records are not valid snappy data: {why}")
