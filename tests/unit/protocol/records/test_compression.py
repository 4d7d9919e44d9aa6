from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pyk.protocol.records import CorruptRecordError, UnsupportedCompressionError
from pyk.protocol.records.compression import Compression, check_available, compress, decompress

DATA = b"".join(b'{"id": %d, "name": "user %d"}' % (n, n * 7919) for n in range(20_000))


def test_codecs_have_kafkas_names_and_numbers() -> None:
    assert [(codec, codec.codec) for codec in Compression] == [
        ("none", 0),
        ("gzip", 1),
        ("snappy", 2),
        ("lz4", 3),
        ("zstd", 4),
    ]
    assert [Compression.of_codec(number) for number in range(5)] == list(Compression)


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("data", [b"", b"x", DATA, bytes(3_000_000)], ids=len)
def test_compressed_data_decompresses_to_the_original(codec: Compression, data: bytes) -> None:
    assert bytes(decompress(codec, memoryview(compress(codec, data)))) == data


def test_lz4_is_written_with_independent_blocks_as_brokers_demand() -> None:
    assert compress(Compression.LZ4, DATA)[4] & 0x20


def test_snappy_is_written_as_the_stream_that_kafkas_clients_write() -> None:
    assert compress(Compression.SNAPPY, DATA).startswith(b"\x82SNAPPY\x00\0\0\0\1\0\0\0\1")


def test_snappy_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = memoryview(compress(Compression.SNAPPY, DATA))
    monkeypatch.setitem(__import__("sys").modules, "cramjam", None)

    for use in (
        lambda: check_available(Compression.SNAPPY),
        lambda: compress(Compression.SNAPPY, DATA),
        lambda: decompress(Compression.SNAPPY, stream),
    ):
        with pytest.raises(UnsupportedCompressionError, match=r"pyk-kafka\[snappy\]"):
            use()


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_a_codec_is_right_again_after_bad_data(codec: Compression) -> None:
    good = memoryview(compress(codec, DATA))

    for bad in (good[: len(good) // 2], good[1:]):
        with pytest.raises(CorruptRecordError):
            decompress(codec, bad)

    assert bytes(decompress(codec, good)) == DATA


def test_threads_compress_and_decompress_side_by_side() -> None:
    barrier = threading.Barrier(8)

    def work(number: int) -> bool:
        data = DATA[number * 1000 :]
        barrier.wait()
        return all(
            bytes(decompress(codec, memoryview(compress(codec, data)))) == data
            for codec in Compression
            for _ in range(3)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
