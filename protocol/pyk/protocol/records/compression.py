"""Compress and decompress what stands behind a batch header.

What is decompressed came from outside, so the output is bounded *while it streams*: never more than the
limit, plus one piece, is in memory, whatever a frame declares. A codec's input may be several frames one
behind the other; their number is bounded too, because an empty frame costs its reader much more than its
writer.

Codec objects that cost something to make are kept in pools: ``list.pop`` and ``list.append`` are atomic, so
every call has an object to itself and no two threads ever share one.
"""

from __future__ import annotations

import struct
import zlib
from enum import StrEnum
from typing import Any

import lz4.frame
import zstandard

from pyk.protocol.records.errors import (
    CorruptRecordError,
    DecompressionLimitError,
    UnsupportedCompressionError,
)

DEFAULT_MAX_DECOMPRESSED_BYTES = 64 * 1024 * 1024
MAX_FRAMES = 100_000

_PIECE = 1024 * 1024
_GZIP_INPUT_PIECE = 64 * 1024
_GZIP_WINDOW_BITS = 31

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
_SNAPPY_MAX_RATIO = 22  # a copy of 3 bytes gives at most 64

_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_VERSION_MASK, _LZ4_VERSION = 0xC0, 0x40
_LZ4_INDEPENDENT_BLOCKS = 0x20
_LZ4_RESERVED_OR_DICTIONARY = 0x03

_ZSTD_MAGIC = 0xFD2FB528
_ZSTD_SKIPPABLE_MAGIC = 0x184D2A50
_ZSTD_MAX_WINDOW_BYTES = 1 << 27  # the largest that Kafka's own clients read
_ZSTD_BLOCK_BYTES = 128 * 1024
_ZSTD_RLE, _ZSTD_COMPRESSED = 1, 2


class Compression(StrEnum):
    """The codec of a batch. The values are those of ``compression.type``."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"

    @property
    def codec(self) -> int:
        """The number in bits 0 to 2 of the batch attributes."""
        return _CODECS.index(self)

    @classmethod
    def of_codec(cls, codec: int) -> Compression:
        """Return the codec with this number; raise ``UnsupportedCompressionError`` for 5, 6 and 7."""
        if codec < len(_CODECS):
            return _CODECS[codec]
        raise UnsupportedCompressionError(
            f"compression codec {codec} is unknown; Kafka defines 0 to 4"
        )


_CODECS = (
    Compression.NONE,
    Compression.GZIP,
    Compression.SNAPPY,
    Compression.LZ4,
    Compression.ZSTD,
)


def check_available(compression: Compression) -> None:
    """Raise ``UnsupportedCompressionError``, naming what to install, if this codec cannot be used here."""
    if compression is Compression.SNAPPY:
        _cramjam()


def compress(
    compression: Compression, data: bytes | bytearray | memoryview, level: int | None = None
) -> bytes:
    """Return ``data`` compressed, framed as Kafka's clients do; ``level`` None is the codec's default."""
    if compression is Compression.GZIP:
        return zlib.compress(data, -1 if level is None else level, _GZIP_WINDOW_BITS)
    if compression is Compression.SNAPPY:
        return _compress_snappy(data)
    if compression is Compression.LZ4:
        # Brokers refuse frames with linked blocks.
        compressed: bytes = lz4.frame.compress(
            data, compression_level=level or 0, block_linked=False
        )
        return compressed
    if compression is Compression.ZSTD:
        return _compress_zstd(data, 3 if level is None else level)
    return bytes(data)


def decompress(
    compression: Compression, data: memoryview, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES
) -> bytes | bytearray | memoryview:
    """Return what ``data`` holds, at most ``max_bytes``.

    Raises ``CorruptRecordError`` for data that is not of this codec, ``DecompressionLimitError`` when there
    is more.
    """
    if compression is Compression.NONE:
        return data
    if compression is Compression.GZIP:
        return _decompress_gzip(data, max_bytes)
    if compression is Compression.SNAPPY:
        return _decompress_snappy(data, max_bytes)
    if compression is Compression.LZ4:
        return _decompress_lz4(data, max_bytes)
    return _decompress_zstd(data, max_bytes)


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise DecompressionLimitError(
            f"it decompresses to more than max_decompressed_bytes={max_bytes}"
        )


def _check_frame(frames: int) -> None:
    if frames > MAX_FRAMES:
        raise CorruptRecordError(f"the compressed data consists of more than {MAX_FRAMES} frames")


def _corrupt(compression: Compression, why: object) -> CorruptRecordError:
    return CorruptRecordError(f"the records are not valid {compression} data: {why}")


# gzip


def _decompress_gzip(data: memoryview, max_bytes: int) -> bytearray:
    output = bytearray()
    position = frames = 0
    while position < len(data) or not frames:
        frames += 1
        _check_frame(frames)
        position = _decompress_gzip_member(data, position, output, max_bytes)
    return output


def _decompress_gzip_member(
    data: memoryview, position: int, output: bytearray, max_bytes: int
) -> int:
    """Append one member to ``output`` and return the position behind it."""
    member = zlib.decompressobj(_GZIP_WINDOW_BITS)
    # Fed in pieces: zlib hands back a copy of what it did not use, which must not be all the rest each time.
    while not member.eof:
        piece = data[position : position + _GZIP_INPUT_PIECE]
        try:
            decompressed = member.decompress(piece, _PIECE)
        except zlib.error as error:
            raise _corrupt(Compression.GZIP, error) from error
        if not (piece or decompressed or member.eof):
            raise _corrupt(Compression.GZIP, "it ends within a member")
        output += decompressed
        _check_size(len(output), max_bytes)
        position += len(piece) - len(member.unconsumed_tail) - len(member.unused_data)
    return position


# snappy


def _cramjam() -> Any:
    try:
        import cramjam
    except ImportError:
        raise UnsupportedCompressionError(
            "snappy needs the package cramjam: pip install 'pyk-kafka[snappy]'"
        ) from None
    return cramjam


def _compress_snappy(data: bytes | bytearray | memoryview) -> bytes:
    snappy = _cramjam().snappy
    view = memoryview(data)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytearray:
    cramjam = _cramjam()
    output = bytearray()
    if data[:8] != _XERIAL_MAGIC:
        _decompress_snappy_block(cramjam, data, output, max_bytes)
        return output
    position = frames = 0
    while position < len(data):
        frames += 1
        _check_frame(frames)
        if data[position : position + 8] == _XERIAL_MAGIC:
            position += len(_XERIAL_HEADER)
            continue
        start = position + 4
        position = start + int.from_bytes(data[position:start], "big")
        if start > len(data) or position > len(data):
            raise _corrupt(Compression.SNAPPY, "a block is cut off")
        _decompress_snappy_block(cramjam, data[start:position], output, max_bytes)
    if position > len(data):
        raise _corrupt(Compression.SNAPPY, "the stream header is cut off")
    return output


def _decompress_snappy_block(
    cramjam: Any, block: memoryview, output: bytearray, max_bytes: int
) -> None:
    size = _snappy_size(block)
    _check_size(len(output) + size, max_bytes)
    if size > _SNAPPY_MAX_RATIO * len(block):
        raise _corrupt(Compression.SNAPPY, f"a block of {len(block)} bytes declares {size}")
    try:
        decompressed = cramjam.snappy.decompress_raw(block)
    except cramjam.DecompressionError as error:
        raise _corrupt(Compression.SNAPPY, error) from error
    output += decompressed


def _snappy_size(block: memoryview) -> int:
    """Return the size that a raw block declares: an unsigned varint of 32 bits at its start."""
    size = 0
    for index, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80 and size < 1 << 32:
            return size
    raise _corrupt(Compression.SNAPPY, "a block does not begin with its size")


# lz4

_lz4_contexts: list[Any] = []


def _decompress_lz4(data: memoryview, max_bytes: int) -> bytes | bytearray:
    try:
        context = _lz4_contexts.pop()
    except IndexError:
        context = lz4.frame.create_decompression_context()
    try:
        return _decompress_lz4_frames(context, data, max_bytes)
    finally:
        lz4.frame.reset_decompression_context(context)
        _lz4_contexts.append(context)


def _decompress_lz4_frames(context: Any, data: memoryview, max_bytes: int) -> bytes | bytearray:
    output = bytearray()
    position = frames = 0
    while position < len(data) or not frames:
        frames += 1
        _check_frame(frames)
        _check_lz4_descriptor(data[position : position + 5])
        end_of_frame = False
        while not end_of_frame:
            try:
                piece, used, end_of_frame = lz4.frame.decompress_chunk(
                    context, data[position:], max_length=_PIECE
                )
            except RuntimeError as error:
                raise _corrupt(Compression.LZ4, error) from error
            if not (used or piece or end_of_frame):
                raise _corrupt(Compression.LZ4, "it ends within a frame")
            _check_size(len(output) + len(piece), max_bytes)
            position += used
            if end_of_frame and not output and position == len(data):
                return bytes(piece)
            output += piece
    return output


def _check_lz4_descriptor(descriptor: memoryview) -> None:
    if len(descriptor) < 5 or descriptor[:4] != _LZ4_MAGIC:
        raise _corrupt(Compression.LZ4, "a frame does not begin with the lz4 magic number")
    flags = descriptor[4]
    if flags & _LZ4_VERSION_MASK != _LZ4_VERSION or flags & _LZ4_RESERVED_OR_DICTIONARY:
        raise _corrupt(
            Compression.LZ4,
            f"frame flags {flags:#04x} are not those of version 1 without a dictionary",
        )
    if not flags & _LZ4_INDEPENDENT_BLOCKS:
        raise _corrupt(
            Compression.LZ4, "its blocks depend on each other, which Kafka does not allow"
        )


# zstd

_zstd_compressors: dict[int, list[zstandard.ZstdCompressor]] = {}
_zstd_decompressors: list[zstandard.ZstdDecompressor] = []


def _compress_zstd(data: bytes | bytearray | memoryview, level: int) -> bytes:
    pool = _zstd_compressors.setdefault(level, [])
    try:
        compressor = pool.pop()
    except IndexError:
        compressor = zstandard.ZstdCompressor(level=level)
    try:
        return compressor.compress(data)
    finally:
        pool.append(compressor)


def _decompress_zstd(data: memoryview, max_bytes: int) -> bytes | bytearray:
    try:
        decompressor = _zstd_decompressors.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor()
    try:
        return _decompress_zstd_frames(decompressor, data, max_bytes)
    except zstandard.ZstdError as error:
        raise _corrupt(Compression.ZSTD, error) from error
    finally:
        _zstd_decompressors.append(decompressor)


def _decompress_zstd_frames(
    decompressor: zstandard.ZstdDecompressor, data: memoryview, max_bytes: int
) -> bytes | bytearray:
    output = bytearray()
    position = frames = 0
    while position < len(data) or not frames:
        frames += 1
        _check_frame(frames)
        start = position
        if _is_zstd_skippable(data, start):
            position = _end_of_zstd_skippable(data, start)
            continue
        position, most = _measure_zstd_frame(data, start, max_bytes - len(output))
        piece = decompressor.decompress(data[start:position], max_output_size=most)
        _check_size(len(output) + len(piece), max_bytes)
        if start == 0 and position == len(data):
            return piece
        output += piece
    return output


def _is_zstd_skippable(data: memoryview, position: int) -> bool:
    return int.from_bytes(data[position : position + 4], "little") & ~0xF == _ZSTD_SKIPPABLE_MAGIC


def _end_of_zstd_skippable(data: memoryview, position: int) -> int:
    end = position + 8 + int.from_bytes(data[position + 4 : position + 8], "little")
    if end > len(data):
        raise _corrupt(Compression.ZSTD, "it ends within a frame")
    return end


def _measure_zstd_frame(data: memoryview, start: int, left: int) -> tuple[int, int]:
    """Return the end of the frame at ``start`` and how much may come out of it, having checked that against
    ``left``.

    Decompressing into one buffer of the right size needs no window, so a frame's declared window costs
    nothing.
    """
    if int.from_bytes(data[start : start + 4], "little") != _ZSTD_MAGIC or len(data) - start < 6:
        raise _corrupt(Compression.ZSTD, "a frame does not begin with the zstd magic number")
    parameters = zstandard.get_frame_parameters(data[start : start + 18])
    if parameters.window_size > _ZSTD_MAX_WINDOW_BYTES:
        raise _corrupt(
            Compression.ZSTD,
            f"its window of {parameters.window_size} bytes is larger than Kafka allows",
        )
    end, most = _walk_zstd_blocks(
        data, start + zstandard.frame_header_size(data[start : start + 18])
    )
    if parameters.has_checksum:
        end += 4
    if end > len(data):
        raise _corrupt(Compression.ZSTD, "it ends within a frame")
    if parameters.content_size != zstandard.CONTENTSIZE_UNKNOWN:
        _check_size(parameters.content_size, left)
        if parameters.content_size > most:
            raise _corrupt(
                Compression.ZSTD,
                f"a frame declares {parameters.content_size} bytes and holds fewer",
            )
    return end, max(1, min(most, left + 1))


def _walk_zstd_blocks(data: memoryview, position: int) -> tuple[int, int]:
    """Return the end of the last block of a frame and an upper bound of what its blocks hold."""
    most = blocks = 0
    is_last = False
    while not is_last:
        blocks += 1
        _check_frame(blocks)
        header = int.from_bytes(data[position : position + 3], "little")
        is_last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        most += _ZSTD_BLOCK_BYTES if kind == _ZSTD_COMPRESSED else size
        position += 3 + (1 if kind == _ZSTD_RLE else size)
        if position > len(data):
            raise _corrupt(Compression.ZSTD, "it ends within a block")
    return position, most
