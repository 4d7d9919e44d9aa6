"""The zstd frame format."""

from __future__ import annotations

from typing import NamedTuple

import zstandard

from pyk.protocol.records.codecs.bounds import check_frames, check_size
from pyk.protocol.records.errors import CorruptRecordError, DecompressionLimitError

_DEFAULT_LEVEL = 3
_MAGIC = 0xFD2FB528
_SKIPPABLE_MAGIC = 0x184D2A50
_MAX_WINDOW_BYTES = 1 << 27  # the largest that Kafka's own clients read
_BLOCK_BYTES = 128 * 1024
_RLE, _COMPRESSED = 1, 2
_MAX_HEADER_BYTES = 18
_CHECKSUM_BYTES = 4

# A frame that does not declare its size is decompressed through a window beside the output.
_MAX_UNDECLARED_WINDOW_BYTES = 32 * 1024 * 1024
_POOLED_WINDOW_BYTES = 8 * 1024 * 1024  # a decompressor keeps its window

_compressors: dict[int, list[zstandard.ZstdCompressor]] = {}
_decompressors: list[zstandard.ZstdDecompressor] = []


def compress(data: bytes | bytearray | memoryview, level: int | None) -> bytes:
    """Return ``data`` as one frame; levels 1 to 22 and negative ones, 3 by default."""
    pool = _compressors.setdefault(_DEFAULT_LEVEL if level is None else level, [])
    try:
        compressor = pool.pop()
    except IndexError:
        compressor = zstandard.ZstdCompressor(_DEFAULT_LEVEL if level is None else level)
    try:
        return compressor.compress(data)
    finally:
        pool.append(compressor)


def decompress(data: memoryview, max_bytes: int) -> bytes | bytearray:
    """Return what the frames hold, frames to be skipped left out."""
    output = bytearray()
    position = frames = 0
    while position < len(data) or not frames:
        frames += 1
        check_frames(frames)
        start = position
        if _is_skippable(data, start):
            position = _end_of_skippable(data, start)
            continue
        frame = _measure_frame(data, start, max_bytes - len(output))
        position = frame.end
        piece = _decompress_frame(data[start:position], frame)
        check_size(len(output) + len(piece), max_bytes)
        if start == 0 and position == len(data):
            return piece
        output += piece
    return output


class _Frame(NamedTuple):
    end: int
    window_bytes: int
    max_output_bytes: int


def _decompress_frame(data: memoryview, frame: _Frame) -> bytes:
    if frame.window_bytes > _POOLED_WINDOW_BYTES:
        return _read(zstandard.ZstdDecompressor(), data, frame)
    try:
        decompressor = _decompressors.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor()
    try:
        return _read(decompressor, data, frame)
    finally:
        _decompressors.append(decompressor)


def _read(decompressor: zstandard.ZstdDecompressor, data: memoryview, frame: _Frame) -> bytes:
    try:
        # One byte more than there may be: only at its end is a frame's checksum looked at.
        with decompressor.stream_reader(data) as reader:
            return reader.read(frame.max_output_bytes + 1)
    except zstandard.ZstdError as error:
        raise _corrupt(error) from error


def _is_skippable(data: memoryview, position: int) -> bool:
    return int.from_bytes(data[position : position + 4], "little") & ~0xF == _SKIPPABLE_MAGIC


def _end_of_skippable(data: memoryview, position: int) -> int:
    end = position + 8 + int.from_bytes(data[position + 4 : position + 8], "little")
    if end > len(data):
        raise _corrupt("it ends within a frame")
    return end


def _measure_frame(data: memoryview, start: int, left: int) -> _Frame:
    """Return the frame at ``start``, having checked what it declares against the ``left`` bytes."""
    header = data[start : start + _MAX_HEADER_BYTES]
    if int.from_bytes(header[:4], "little") != _MAGIC:
        raise _corrupt("a frame does not begin with the zstd magic number")
    try:
        parameters = zstandard.get_frame_parameters(header)
        header_bytes = zstandard.frame_header_size(header)
    except zstandard.ZstdError as error:
        raise _corrupt(error) from error
    if parameters.window_size > _MAX_WINDOW_BYTES:
        raise _corrupt(f"its window of {parameters.window_size} bytes is more than Kafka allows")
    end, most = _walk_blocks(data, start + header_bytes)
    end += _CHECKSUM_BYTES if parameters.has_checksum else 0
    if end > len(data):
        raise _corrupt("it ends within a frame")
    if parameters.content_size != zstandard.CONTENTSIZE_UNKNOWN:
        check_size(parameters.content_size, left)
        if parameters.content_size > most:
            raise _corrupt(f"a frame declares {parameters.content_size} bytes and holds fewer")
    elif min(parameters.window_size, most) > _MAX_UNDECLARED_WINDOW_BYTES:
        raise DecompressionLimitError(
            f"a zstd frame of undeclared size wants a window of {parameters.window_size} bytes"
        )
    return _Frame(end, parameters.window_size, min(most, left))


def _walk_blocks(data: memoryview, position: int) -> tuple[int, int]:
    """Return the end of a frame's last block and an upper bound of what its blocks hold."""
    most = blocks = 0
    is_last = False
    while not is_last:
        blocks += 1
        check_frames(blocks)
        header = int.from_bytes(data[position : position + 3], "little")
        is_last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        most += _BLOCK_BYTES if kind == _COMPRESSED else size
        position += 3 + (1 if kind == _RLE else size)
        if position > len(data):
            raise _corrupt("it ends within a block")
    return position, most


def _corrupt(why: object) -> CorruptRecordError:
    return CorruptRecordError(f"the records are not valid zstd data: {why}")
