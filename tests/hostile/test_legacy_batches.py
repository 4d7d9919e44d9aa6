"""Batches of magic 0 and 1 from a broken or hostile peer: typed errors in bounded memory."""

from __future__ import annotations

import random
import struct

import pytest

from pyk.protocol.records import (
    Compression,
    CorruptRecordError,
    DecompressionLimitError,
    FetchedRecords,
    RecordBatchError,
    UnsupportedCompressionError,
    read_batches,
)
from support.legacy_batches import LOG_APPEND_TIME, compressed, legacy, legacy_of, sized
from support.record_batches import NOW_MS, sealed

pytest.importorskip("cramjam")

MIB = 1024 * 1024
MAX_INT64 = (1 << 63) - 1
TIME = struct.pack(">q", NOW_MS)


def read_all(data: bytes, **limits: int) -> list[tuple[int, bytes | None]]:
    return [
        (record.offset, record.value) for batch in read_batches(data, **limits) for record in batch
    ]


@pytest.mark.parametrize(("magic", "length"), [(0, 13), (0, 0), (0, -1), (1, 21), (1, -(1 << 31))])
def test_an_invalid_length_is_corrupt(magic: int, length: int) -> None:
    with pytest.raises(CorruptRecordError, match=f"batch length of {length} is impossible"):
        read_all(legacy(magic=magic, length=length))


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_truncated_anywhere_is_partial(magic: int) -> None:
    whole = legacy(magic=magic)
    for size in range(len(whole)):
        assert read_all(legacy(magic=magic) + whole[:size]) == [(0, b"v")]


@pytest.mark.parametrize("magic", [0, 1])
def test_any_flipped_bit_after_the_crc_is_detected(magic: int) -> None:
    good = legacy(magic=magic)
    for position in range(17, len(good)):
        bad = bytearray(good)
        bad[position] ^= 0x10

        with pytest.raises(CorruptRecordError, match="stored CRC"):
            read_all(bytes(bad))


@pytest.mark.parametrize("offset", [-1, -(1 << 63), MAX_INT64])
def test_an_invalid_offset_is_corrupt(offset: int) -> None:
    with pytest.raises(CorruptRecordError, match="offsets lie outside"):
        read_all(legacy(offset=offset))


BAD_FIELDS = {
    "a key length below -1": (struct.pack(">i", -2) + sized(b"v"), "key length"),
    "a key beyond the message": (struct.pack(">i", 6) + sized(b"v"), "key length"),
    "a key over the value's length": (struct.pack(">i", 2) + sized(b""), "key length"),
    "a value length below -1": (sized(b"k") + struct.pack(">i", -2), "value length"),
    "a value beyond the message": (sized(b"k") + struct.pack(">i", 1), "value length"),
    "bytes after the value": (sized(b"k") + sized(b"v") + b"?", "fields end before"),
}


@pytest.mark.parametrize(("fields", "words"), BAD_FIELDS.values(), ids=BAD_FIELDS)
def test_fields_that_do_not_fit_their_message_are_corrupt(fields: bytes, words: str) -> None:
    with pytest.raises(CorruptRecordError, match=words):
        read_all(legacy_of(TIME + fields))
    with pytest.raises(CorruptRecordError, match=words):
        read_all(compressed(legacy_of(TIME + fields)))


def broken_crc(message: bytes) -> bytes:
    return message[:12] + bytes((message[12] ^ 1,)) + message[13:]


BAD_SETS = {
    "nothing": (compressed(), "holds no messages"),
    "a message cut off": (compressed(legacy(), legacy(offset=1)[:-1], offset=1), "impossible"),
    "less than a message": (compressed(legacy(), b"\0" * 9), "cut off"),
    "a length below the least": (compressed(legacy(length=21)), "length of 21 is impossible"),
    "another magic": (compressed(legacy(magic=0) + b"\0" * 9), "magic 0 in one of magic 1"),
    "a batch of magic 2": (compressed(sealed(b"v")), "magic 2 in one of magic 1"),
    "a compressed message": (compressed(compressed(legacy())), "holds another compressed one"),
    "a wrong CRC": (compressed(broken_crc(legacy())), "stored CRC"),
    "one offset twice": (compressed(legacy(), legacy()), "record 1 of 2: the offset delta"),
    "falling offsets": (compressed(legacy(offset=5), legacy(offset=4)), "record 0 of 2"),
    "offsets below 0": (compressed(legacy(), legacy(offset=9), offset=8), "below 0"),
    "offsets 2 billion apart": (
        compressed(legacy(), legacy(offset=1 << 31), offset=1 << 32),
        "too far apart",
    ),
    "extreme offsets": (
        compressed(legacy(offset=-(1 << 63)), legacy(offset=MAX_INT64), offset=5),
        "below 0",
    ),
    "magic 0 from the least offset": (
        compressed(legacy(magic=0, offset=-(1 << 63)), magic=0, offset=5),
        "below 0",
    ),
    "magic 0 far before its wrapper": (
        compressed(legacy(magic=0), magic=0, offset=1 << 62),
        "too far apart",
    ),
    "magic 0 beyond its wrapper": (
        compressed(legacy(magic=0, offset=3), magic=0, offset=2),
        "record 0 of 1",
    ),
    "no value": (legacy(None, attributes=1), "no value"),
    "no gzip": (legacy(b"?", attributes=1), "gzip"),
    "zstd": (legacy(b"?", attributes=4), "no zstd in message format 1"),
}


@pytest.mark.parametrize(("data", "words"), BAD_SETS.values(), ids=BAD_SETS)
def test_a_compressed_message_with_invalid_inner_messages_is_corrupt(data: bytes, words: str):
    with pytest.raises(CorruptRecordError, match=words):
        read_all(data)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_unsupported(codec: int) -> None:
    with pytest.raises(UnsupportedCompressionError, match=f"codec {codec}"):
        read_all(legacy(b"?", attributes=codec))


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_the_decompressed_size_of_a_message_is_limited(codec: Compression, magic: int) -> None:
    data = compressed(legacy(bytes(2 * MIB), magic=magic), magic=magic, codec=codec)

    with pytest.raises(DecompressionLimitError):
        read_all(data, max_decompressed_bytes=MIB)


def test_the_lz4_header_checksum_is_verified_in_magic_1_and_not_in_magic_0() -> None:
    def damaged(magic: int) -> bytes:
        good = compressed(legacy(magic=magic), magic=magic, codec=Compression.LZ4)
        fields = bytearray(good[18:])
        frame_at = fields.index(b"\x04\x22\x4d\x18")
        checksum_at = frame_at + (14 if fields[frame_at + 4] & 8 else 6)
        fields[checksum_at] ^= 0xFF
        return legacy_of(bytes(fields), magic=magic, attributes=3)

    assert read_all(damaged(0)) == [(0, b"v")]
    with pytest.raises(CorruptRecordError, match="lz4"):
        read_all(damaged(1))


@pytest.mark.parametrize("size", range(16))
def test_an_lz4_frame_of_magic_0_with_a_truncated_header_is_corrupt(size: int) -> None:
    frame = b"\x04\x22\x4d\x18\x68\x40" + bytes(9)

    with pytest.raises(CorruptRecordError, match="lz4"):
        read_all(legacy(frame[:size], magic=0, attributes=3))


def test_the_error_for_a_corrupt_message_has_the_offset_after_it() -> None:
    bad = compressed(broken_crc(legacy()), offset=7)

    with pytest.raises(CorruptRecordError) as caught:
        read_all(bad)

    assert (caught.value.base_offset, caught.value.next_offset) == (None, 8)


def test_a_consumer_stays_before_a_corrupt_message_at_every_poll() -> None:
    fetched = FetchedRecords("orders", 0, legacy(b"a") + broken_crc(legacy(b"b", offset=1)), 0)
    span = fetched.next_span(10)
    assert span is not None
    assert [one.value for one in span] == [b"a"]

    for _ in range(3):
        with pytest.raises(CorruptRecordError):
            fetched.next_span(10)
        assert fetched.next_offset == 1


def test_a_consumer_starts_in_the_middle_of_a_compressed_message() -> None:
    data = compressed(*(legacy(b"%d" % n, offset=n) for n in range(5)), offset=104)
    fetched = FetchedRecords("orders", 0, data, 103)

    span = fetched.next_span(10)

    assert span is not None
    assert [(one.offset, one.value) for one in span] == [(103, b"3"), (104, b"4")]
    assert fetched.next_span(10) is None
    assert fetched.next_offset == 105


def test_a_consumer_skips_messages_below_its_offset() -> None:
    fetched = FetchedRecords("orders", 0, legacy(b"a") + legacy(b"b", offset=1), 1)

    span = fetched.next_span(10)

    assert span is not None
    assert [one.value for one in span] == [b"b"]


def test_the_append_time_of_a_compressed_message_applies_to_all_messages_in_it() -> None:
    inner = [legacy(offset=n, timestamp=n) for n in range(2)]

    (batch,) = read_batches(compressed(*inner, offset=1, attributes=LOG_APPEND_TIME))

    assert [record.timestamp for record in batch] == [NOW_MS, NOW_MS]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4])
def test_random_damage_results_in_records_or_a_typed_error(magic: int, codec: Compression) -> None:
    inner = b"".join(legacy(b"%d" % n, magic=magic, offset=n) for n in range(20))
    source = random.Random(magic)
    outcomes = set()
    for _ in range(300):
        bad = bytearray(inner)
        for _ in range(source.randint(1, 3)):
            bad[source.randrange(len(bad))] = source.randrange(256)
        good = compressed(bytes(bad), magic=magic, offset=19, codec=codec)
        fields = bytearray(good[18:])
        if source.random() < 0.5:
            fields[source.randrange(len(fields))] ^= 1 << source.randrange(8)
        data = legacy_of(bytes(fields), magic=magic, offset=19, attributes=codec.codec)
        try:
            outcomes.add(len(read_all(data, max_decompressed_bytes=MIB)))
        except RecordBatchError as error:
            outcomes.add(type(error).__name__)

    assert "CorruptRecordError" in outcomes
    assert outcomes <= {20, "CorruptRecordError", "DecompressionLimitError"}
