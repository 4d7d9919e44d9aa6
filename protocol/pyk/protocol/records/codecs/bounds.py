"""The limits of every codec for its input and output."""

from __future__ import annotations

from pyk.protocol.records.errors import CorruptRecordError, DecompressionLimitError

MAX_FRAMES = 100_000
PIECE_BYTES = 1024 * 1024  # what is decompressed at once


def check_size(size: int, max_bytes: int) -> None:
    """Raise ``DecompressionLimitError`` if the output passes ``max_bytes``."""
    if size > max_bytes:
        raise DecompressionLimitError(
            f"it decompresses to more than max_decompressed_bytes={max_bytes}"
        )


def check_frames(frames: int) -> None:
    """Raise ``CorruptRecordError`` if the input consists of more frames than any writer makes."""
    if frames > MAX_FRAMES:
        raise CorruptRecordError(f"the compressed data has more than {MAX_FRAMES} frames or blocks")
