"""Small compressed data that decompress to many zeros."""

from __future__ import annotations

import struct
import zlib

import lz4.frame

MIB = 1024 * 1024


def gzip_bomb(size: int) -> bytes:
    """Return a member that holds ``size`` zeros: one flushed block, many times."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    first = deflate.compress(bytes(MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    again = deflate.compress(bytes(MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return first + again * (size // MIB - 1)


def lz4_bomb(size: int) -> bytes:
    """Return a frame of undeclared size with ``size`` zeros, in independent blocks of 4 MiB."""
    frame = lz4.frame.compress(
        bytes(4 * MIB),
        block_size=lz4.frame.BLOCKSIZE_MAX4MB,
        block_linked=False,
        store_size=False,
    )
    header, block, end = frame[:7], frame[7:-4], frame[-4:]
    return bytes(header + block * (size // (4 * MIB)) + end)


def zstd_bomb(size: int, window_log: int = 17) -> bytes:
    """Return a frame of undeclared size with ``size`` zeros, in blocks of one repeated byte."""
    blocks = size // (128 * 1024)
    repeat = (128 * 1024 << 3 | 1 << 1).to_bytes(3, "little") + b"\x00"
    header = struct.pack("<IBB", 0xFD2FB528, 0, (window_log - 10) << 3)
    return header + repeat * (blocks - 1) + bytes((repeat[0] | 1,)) + repeat[1:]
