"""Compressed data from a broken or hostile peer: typed errors in bounded memory."""

from __future__ import annotations

import gzip
import struct
import subprocess
import sys

import lz4.frame
import pytest
import zstandard

from pyk.protocol.records import (
    Compression,
    CorruptRecordError,
    DecompressionLimitError,
    RecordBatchError,
    UnsupportedCompressionError,
)
from pyk.protocol.records.compression import compress, decompress
from support.bombs import MIB, gzip_bomb, lz4_bomb, zstd_bomb
from support.record_batches import GOOD, raw_batch, read_all, record

cramjam = pytest.importorskip("cramjam")

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_unsupported(codec: int) -> None:
    with pytest.raises(UnsupportedCompressionError, match=f"codec {codec} is unknown") as caught:
        read_all(raw_batch(GOOD, 2, attributes=codec))

    assert caught.value.next_offset == 2


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("data", [b"", b"\x01", GOOD, b"\xff" * 200])
def test_data_that_its_codec_cannot_read_is_corrupt(codec: int, data: bytes) -> None:
    with pytest.raises(CorruptRecordError, match="not valid"):
        read_all(raw_batch(data, 2, attributes=codec))


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_truncated_compressed_data_is_corrupt(codec: Compression) -> None:
    data = compress(codec, GOOD * 40)
    for size in range(len(data)):
        with pytest.raises(CorruptRecordError):
            read_all(raw_batch(data[:size], 2, attributes=codec.codec))


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_any_flipped_bit_of_compressed_data_is_an_error_or_other_bytes(codec: Compression) -> None:
    good = compress(codec, GOOD * 10)
    for position in range(8 * len(good)):
        bad = bytearray(good)
        bad[position // 8] ^= 1 << position % 8

        try:
            decompressed = decompress(codec, memoryview(bad), 1000)
        except RecordBatchError:
            continue
        assert len(decompressed) <= 1000


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_garbage_after_compressed_data_is_corrupt(codec: Compression) -> None:
    with pytest.raises(CorruptRecordError):
        read_all(raw_batch(compress(codec, GOOD) + b"garbage", 2, attributes=codec.codec))


@pytest.mark.parametrize("codec", [GZIP, LZ4, ZSTD])
def test_several_frames_are_read_as_one(codec: int) -> None:
    whole = {GZIP: gzip.compress, LZ4: independent_lz4, ZSTD: zstandard.compress}[codec]
    data = whole(GOOD[:5]) + whole(b"") + whole(GOOD[5:])

    assert read_all(raw_batch(data, 2, attributes=codec)) == [b"v", b"v"]


def test_snappy_is_read_as_one_raw_block_and_as_several_streams() -> None:
    raw = bytes(cramjam.snappy.compress_raw(GOOD))
    streams = compress(Compression.SNAPPY, GOOD[:5]) + compress(Compression.SNAPPY, GOOD[5:])

    assert read_all(raw_batch(raw, 2, attributes=SNAPPY)) == [b"v", b"v"]
    assert read_all(raw_batch(streams, 2, attributes=SNAPPY)) == [b"v", b"v"]


def test_zstd_is_read_with_and_without_a_declared_size_and_with_skippable_frames() -> None:
    undeclared = zstandard.ZstdCompressor(write_content_size=False).compress(GOOD)
    skipped = struct.pack("<II", 0x184D2A50, 3) + b"???"

    for data in (zstandard.compress(GOOD), undeclared, skipped + undeclared):
        assert read_all(raw_batch(data, 2, attributes=ZSTD)) == [b"v", b"v"]


def independent_lz4(data: bytes) -> bytes:
    return bytes(lz4.frame.compress(data, block_linked=False))


def lz4_with_flags(flags: int) -> bytes:
    data = bytearray(independent_lz4(GOOD))
    data[4] ^= flags
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(lz4_with_flags(0x20), id="linked blocks"),
        pytest.param(lz4_with_flags(0x01), id="dictionary"),
        pytest.param(lz4_with_flags(0x02), id="reserved bit"),
        pytest.param(lz4_with_flags(0x80), id="version"),
        pytest.param(independent_lz4(GOOD)[:14] + b"\x00" + independent_lz4(GOOD)[15:], id="hash"),
        pytest.param(
            bytes(lz4.frame.compress(GOOD, block_linked=False, content_checksum=True))[:-1] + b"?",
            id="content checksum",
        ),
    ],
)
def test_lz4_frames_that_kafka_refuses_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptRecordError, match="not valid lz4 data"):
        read_all(raw_batch(data, 2, attributes=LZ4))


def test_a_good_lz4_frame_is_read_after_a_bad_one() -> None:
    cut = independent_lz4(GOOD * 40)[:-6]  # its header declares the size of the content
    without_size = bytes(lz4.frame.compress(GOOD, block_linked=False, store_size=False))

    with pytest.raises(CorruptRecordError, match="not valid lz4 data"):
        read_all(raw_batch(cut, 2, attributes=LZ4))

    assert read_all(raw_batch(without_size, 2, attributes=LZ4)) == [b"v", b"v"]


def test_a_wrong_lz4_block_checksum_is_corrupt() -> None:
    data = bytearray(lz4.frame.compress(GOOD, block_linked=False, block_checksum=True))
    data[-5] ^= 1

    with pytest.raises(CorruptRecordError, match="not valid lz4 data"):
        read_all(raw_batch(bytes(data), 2, attributes=LZ4))


def snappy_bomb(size: int) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(bytes(MIB)))
    blocks = (len(block).to_bytes(4, "big") + block) * (size // MIB)
    return compress(Compression.SNAPPY, b"") + blocks


BOMBS = {
    "gzip": (GZIP, lambda: gzip_bomb(1024 * MIB)),
    "gzip of many members": (GZIP, lambda: gzip.compress(bytes(MIB)) * 100),
    "snappy stream": (SNAPPY, lambda: snappy_bomb(256 * MIB)),
    "snappy raw": (SNAPPY, lambda: bytes(cramjam.snappy.compress_raw(bytes(100 * MIB)))),
    "lz4": (LZ4, lambda: lz4_bomb(1024 * MIB)),
    "lz4 of many frames": (LZ4, lambda: lz4_bomb(4 * MIB) * 100),
    "zstd": (ZSTD, lambda: zstd_bomb(1024 * MIB)),
    "zstd with a wide window": (ZSTD, lambda: zstd_bomb(1024 * MIB, window_log=27)),
    "zstd of many frames": (ZSTD, lambda: zstd_bomb(MIB) * 100),
    "zstd that declares its size": (ZSTD, lambda: zstandard.compress(bytes(100 * MIB))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_decompression_stops_at_the_limit_and_the_error_names_the_offsets(name: str) -> None:
    codec, make = BOMBS[name]
    data = raw_batch(make(), 2, attributes=codec, base_offset=70)

    with pytest.raises(DecompressionLimitError, match="offsets 70 to 71: ") as caught:
        read_all(data)

    assert caught.value.next_offset == 72


def test_a_decompression_bomb_takes_little_more_memory_than_the_limit() -> None:
    script = """
import resource
from hostile.test_compressed_batches import BOMBS, DecompressionLimitError, raw_batch, read_all

bombs = {name: raw_batch(make(), 2, attributes=codec) for name, (codec, make) in BOMBS.items()}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name, bomb in bombs.items():
    try:
        read_all(bomb)
    except DecompressionLimitError:
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    tests = str(__file__).rpartition("/hostile/")[0]

    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tests!r})\n{script}"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(done.stdout) <= 64 + 32


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd", "snappy"])
def test_a_million_empty_frames_are_refused_without_being_read(codec: str) -> None:
    frame = {
        "gzip": gzip.compress(b""),
        "lz4": independent_lz4(b""),
        "zstd": zstandard.compress(b""),
        "snappy": b"\x00\x00\x00\x01\x00",
    }[codec]
    lead = compress(Compression.SNAPPY, b"") if codec == "snappy" else b""
    data = raw_batch(lead + frame * 1_000_000, 2, attributes=Compression(codec).codec)

    with pytest.raises(CorruptRecordError, match="more than 100000 frames"):
        read_all(data)


def test_a_zstd_frame_of_a_million_empty_blocks_is_refused() -> None:
    data = struct.pack("<IBB", 0xFD2FB528, 0, 7 << 3) + bytes(3) * 1_000_000

    with pytest.raises(CorruptRecordError, match="more than 100000 frames or blocks"):
        read_all(raw_batch(data, 2, attributes=ZSTD))


def test_a_zstd_window_beyond_what_kafka_reads_is_corrupt() -> None:
    with pytest.raises(CorruptRecordError, match="window of 2147483648 bytes"):
        read_all(raw_batch(zstd_bomb(MIB, window_log=31), 2, attributes=ZSTD))


@pytest.mark.parametrize("declared", [0, 1, 10**6, 1 << 40])
def test_a_zstd_frame_with_a_wrong_declared_size_is_refused(declared: int) -> None:
    block = (len(GOOD) << 3 | 1).to_bytes(3, "little") + GOOD
    data = struct.pack("<IBBQ", 0xFD2FB528, 0xC0, 10 << 3, declared) + block

    with pytest.raises(RecordBatchError):
        read_all(raw_batch(data, 2, attributes=ZSTD))


@pytest.mark.parametrize("declared", [0, 1, 10**6, (1 << 32) - 1])
def test_a_snappy_block_with_a_wrong_declared_size_is_refused(declared: int) -> None:
    size = bytearray()
    while declared >= 0x80:
        size.append(declared & 0x7F | 0x80)
        declared >>= 7
    size.append(declared)
    raw = bytes(cramjam.snappy.compress_raw(GOOD))

    with pytest.raises(RecordBatchError):
        read_all(raw_batch(bytes(size) + raw[1:], 2, attributes=SNAPPY))


def test_every_codec_decompresses_exactly_as_much_as_the_limit() -> None:
    records = record(0, value=bytes(100_000))
    for codec in Compression:
        data = raw_batch(compress(codec, records), 1, attributes=codec.codec)

        assert read_all(data, max_decompressed_bytes=len(records)) == [bytes(100_000)]
        if codec is not Compression.NONE:
            with pytest.raises(DecompressionLimitError):
                read_all(data, max_decompressed_bytes=len(records) - 1)
