"""The codecs of batches: by name in ``compression.type``, by number in the batch attributes."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib import import_module
from types import ModuleType

from pyk.protocol.records.errors import UnsupportedCompressionError

DEFAULT_MAX_DECOMPRESSED_BYTES = 64 * 1024 * 1024


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
        """Return the codec of this number; raise ``UnsupportedCompressionError`` for an unknown."""
        if codec < len(_CODECS):
            return _CODECS[codec]
        raise UnsupportedCompressionError(
            f"compression codec {codec} is unknown; Kafka defines 0 to {len(_CODECS) - 1}"
        )


_CODECS = tuple(Compression)


def check_available(compression: Compression) -> None:
    """Raise ``UnsupportedCompressionError``, naming what to install, if it cannot be used here."""
    if compression is Compression.SNAPPY:
        _module(compression).check_available()


def compress(
    compression: Compression, data: bytes | bytearray | memoryview, level: int | None = None
) -> bytes:
    """Return ``data`` compressed and framed as by Kafka's clients; None is the default level."""
    if compression is Compression.NONE:
        return bytes(data)
    compressed: bytes = _module(compression).compress(data, level)
    return compressed


def decompress(
    compression: Compression, data: memoryview, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES
) -> bytes | bytearray | memoryview:
    """Return what ``data`` holds, at most ``max_bytes``.

    Raises ``CorruptRecordError`` for data that is not of this codec, ``DecompressionLimitError``
    when there is more.
    """
    if compression is Compression.NONE:
        return data
    decompressed: bytes | bytearray = _module(compression).decompress(data, max_bytes)
    return decompressed


@cache
def _module(compression: Compression) -> ModuleType:
    """Return the codec's module, loaded when it is first needed: few programs meet all four."""
    return import_module(f"pyk.protocol.records.codecs.{compression.value}")
