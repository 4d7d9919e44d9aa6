"""The batches that a leader accepts, and its changes to them."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import Compression, read_batches, restamp
from pyk.protocol.records.compression import compress
from pyk.reference_broker.storage import (
    AppendOrigin,
    CorruptRecordsError,
    InvalidRecordError,
    InvalidTimestampError,
    LogError,
    RecordTooLargeError,
)
from pyk.runtime.virtual_time import START_MS, VirtualClock
from support.legacy_batches import legacy
from support.logs import append, batch, open_log, values
from support.record_batches import raw_batch, record, sealed

ALL_COMPRESSIONS = list(Compression)


def with_crc(data, position, content):
    """Return a batch that was changed, with a correct CRC."""
    changed = bytearray(data)
    changed[position : position + len(content)] = content
    producer_id = int.from_bytes(changed[43:51], signed=True)
    epoch = int.from_bytes(changed[51:53], signed=True)
    restamp(changed, producer_id, epoch, int.from_bytes(changed[53:57], signed=True))
    return bytes(changed)


UNCOUNTED = [(0, 0, 0), (2, 1, 0), (0, 5, 9), (-1, -5, 1)]


def uncounted(deltas, compression=Compression.NONE):
    """Return a batch whose records have any offset deltas, as some producers send it."""
    records = b"".join(record(d, value=b"%d" % n) for n, d in enumerate(deltas))
    return raw_batch(
        bytes(compress(compression, records)), len(deltas), attributes=compression.codec
    )


def refuse(records, error, match=None, **config):
    log = open_log(**config)
    with pytest.raises(error, match=match) as refused:
        log.append_as_leader(records, leader_epoch=0)
    assert log.log_end_offset == 0
    assert log.segments.size == 0
    return refused.value


def stored_batch(log):
    (found,) = read_batches(log.reader.read(0, 1 << 20).read())
    return found


def test_flipped_bit_is_corrupt():
    damaged = bytearray(batch(b"value"))
    damaged[-1] ^= 1

    error = refuse(bytes(damaged), CorruptRecordsError, "its stored CRC is")

    assert error.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("records", [b"", b"\0", batch(b"value")[:60], batch(b"value")[:-1]])
def test_batch_that_is_not_whole_is_invalid(records):
    refuse(records, InvalidRecordError, "no whole batch for orders-0")


def test_second_batch_is_invalid():
    error = refuse(batch(b"one") + batch(b"two"), InvalidRecordError, "send one batch")

    assert error.code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [0, 1, 7, 255])
def test_other_magic_is_invalid(magic):
    sent = bytearray(batch(b"value"))
    sent[16] = magic

    refuse(bytes(sent), InvalidRecordError)


def test_impossible_length_is_corrupt():
    sent = bytearray(batch(b"value"))
    sent[8:12] = (13).to_bytes(4)

    refuse(bytes(sent), CorruptRecordsError, "length of 13 is impossible")


def test_batch_larger_than_the_topic_allows_is_refused_before_anything_else():
    sent = bytearray(batch(bytes(1000)))
    sent[-1] ^= 1

    error = refuse(
        bytes(sent), RecordTooLargeError, r"exceeds max\.message\.bytes=500", max_message_bytes=500
    )

    assert error.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(
    ("position", "content", "reason"),
    [
        (0, (5).to_bytes(8), "its base offset is 5"),
        (21, b"\0\x20", "only brokers write control batches"),
        (23, (5).to_bytes(4), "2 records cannot have 6 offsets"),
        (23, b"\xff\xff\xff\xff", "last offset delta of -1"),
        (57, b"\xff\xff\xff\xff", "declares -1 records"),
        (57, (9).to_bytes(4), "declares 9 records"),
        (43, bytes(10) + b"\xff\xff\xff\xff", "gave it sequence number -1"),
        (43, bytes(8) + b"\xff\xff" + bytes(4), "gave it epoch -1"),
    ],
)
def test_header_that_contradicts_itself_is_invalid(position, content, reason):
    refuse(with_crc(batch(b"one", b"two"), position, content), InvalidRecordError, reason)


def test_batch_without_records_is_invalid():
    sent = batch(b"one")
    empty = with_crc(sent[:8] + (49).to_bytes(4) + sent[12:61], 57, bytes(4))
    empty = with_crc(empty, 23, b"\xff\xff\xff\xff")

    refuse(empty, InvalidRecordError)


@pytest.mark.parametrize("compression", ALL_COMPRESSIONS)
def test_records_that_are_not_well_formed_are_invalid(compression):
    sent = batch(b"one", b"two", compression=compression)
    broken = with_crc(sent, len(sent) - 2, b"\xff\xff")

    error = refuse(broken, LogError)

    assert error.code in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)


def test_unknown_codec_is_named():
    error = refuse(with_crc(batch(b"one"), 22, b"\x05"), LogError, "codec 5 is unknown")

    assert error.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_compressed_batch_is_looked_into():
    sent = with_crc(batch(b"one", compression=Compression.LZ4), 22, b"\x04")

    refuse(sent, InvalidRecordError)


def test_records_of_a_compacted_topic_need_a_key():
    config = {"cleanup_policy": ("compact",)}
    error = refuse(batch(b"one", b"two", key=None), InvalidRecordError, "need a key", **config)

    assert [each.batch_index for each in error.record_errors] == [0, 1]
    assert append(open_log(**config), b"one", key=b"key") == 0


def test_timestamp_too_far_ahead_is_invalid():
    config = {"message_timestamp_after_max_ms": 1000}
    sent = batch(b"fine", b"too late", timestamp_ms=START_MS + 1000)
    error = refuse(sent, InvalidTimestampError, "1 records for orders-0 refused", **config)

    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert [each.batch_index for each in error.record_errors] == [1]


def test_timestamp_too_far_behind_is_invalid():
    config = {"message_timestamp_before_max_ms": 1000}
    sent = batch(b"too old", b"fine", timestamp_ms=START_MS - 1001)

    error = refuse(sent, InvalidTimestampError, **config)

    assert [each.batch_index for each in error.record_errors] == [0]


def test_record_without_a_timestamp_is_never_too_old():
    log = open_log(message_timestamp_before_max_ms=1000)

    assert append(log, b"x", timestamp_ms=-1) == 0


def test_error_lists_a_bounded_number_of_records():
    sent = batch(*[b"x"] * 500, key=None)

    error = refuse(sent, InvalidRecordError, "500 records", cleanup_policy=("compact",))

    assert len(error.record_errors) == 100


def test_coordinator_may_write_control_batches():
    control = with_crc(batch(b"x"), 21, b"\0\x20")

    result = open_log().append_as_leader(control, 0, AppendOrigin.COORDINATOR)

    assert result.base_offset == 0


@pytest.mark.parametrize("compression", ALL_COMPRESSIONS)
def test_append_time_replaces_the_producers_timestamps(compression):
    clock = VirtualClock(seconds=5)
    log = open_log(clock=clock, message_timestamp_type="LogAppendTime")
    sent = batch(b"one", b"two", timestamp_ms=1, compression=compression)

    result = log.append_as_leader(sent, leader_epoch=0)

    assert result.log_append_time_ms == START_MS + 5000
    assert [record.timestamp for record in stored_batch(log)] == [START_MS + 5000] * 2
    assert log.reader.find_newest_record() == (0, START_MS + 5000, 0)


def test_create_time_topic_keeps_timestamps_and_says_so():
    log = open_log()

    result = log.append_as_leader(batch(b"one", timestamp_ms=START_MS - 7), leader_epoch=0)

    assert result.log_append_time_ms == -1
    assert [record.timestamp for record in stored_batch(log)] == [START_MS - 7]


def test_largest_timestamp_in_the_header_is_made_true():
    lied = with_crc(batch(b"one", b"two"), 35, bytes(8))
    log = open_log()

    log.append_as_leader(lied, leader_epoch=0)

    assert stored_batch(log).max_timestamp == START_MS + 1


@pytest.mark.parametrize("source", ALL_COMPRESSIONS)
@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_topic_with_a_codec_of_its_own_stores_everything_with_it(source, target):
    log = open_log(compression_type=target)
    sent = [b"value %d" % number for number in range(50)]

    append(log, *sent, compression=source)

    assert stored_batch(log).compression_type == target.replace("uncompressed", "none")
    assert values(log) == sent


@pytest.mark.parametrize(
    ("codec", "low", "high"), [("gzip", 1, 9), ("lz4", 1, 17), ("zstd", 1, 22)]
)
def test_topic_with_a_codec_of_its_own_has_a_level_of_its_own(codec, low, high):
    sent = [b"%d " % (number * number) * 20 for number in range(500)]

    def size_at(level):
        log = open_log(compression_type=codec, **{f"compression_{codec}_level": level})
        append(log, *sent)
        return log.segments.size

    assert size_at(high) < size_at(low)


def test_producers_codec_is_kept_to_the_byte():
    for compression in ALL_COMPRESSIONS:
        log = open_log()
        sent = batch(b"one", b"two", compression=compression)
        log.append_as_leader(sent, leader_epoch=0)
        assert log.reader.read(0, 1 << 20).read()[16:] == sent[16:]


def test_follower_refuses_damage_and_offsets_that_do_not_rise():
    leader, follower = open_log(), open_log()
    append(leader, b"one")
    append(leader, b"two")
    stored = leader.reader.read(0, 1 << 20).read()
    damaged = stored[:-1] + bytes([stored[-1] ^ 1])

    with pytest.raises(CorruptRecordsError):
        follower.append_as_follower(damaged)
    assert follower.append_as_follower(stored[: len(stored) // 2 - 1]) is None
    follower.append_as_follower(stored)
    with pytest.raises(LogError, match="cannot append offset 0 to orders-0: the next offset is 2"):
        follower.append_as_follower(stored)
    assert follower.log_end_offset == 2


@pytest.mark.parametrize("deltas", UNCOUNTED)
def test_uncompressed_batch_keeps_its_deltas_and_gets_an_offset_for_each_record(deltas):
    log = open_log()
    sent = uncounted(deltas)

    first = log.append_as_leader(sent, leader_epoch=0)
    second = log.append_as_leader(sent, leader_epoch=0)

    assert (first.base_offset, first.last_offset) == (0, 2)
    assert (second.base_offset, second.last_offset) == (3, 5)
    stored = log.reader.read(0, 1 << 20).read()
    assert [stored[16 : len(sent)], stored[len(sent) + 16 :]] == [sent[16:], sent[16:]]
    assert values(log) == [b"0", b"1", b"2"] * 2


@pytest.mark.parametrize("source", ALL_COMPRESSIONS)
def test_batch_that_is_compressed_for_its_topic_gets_the_right_deltas(source):
    target = "gzip" if source is not Compression.GZIP else "lz4"
    log = open_log(compression_type=target)

    log.append_as_leader(uncounted((0, 0, 0), source), leader_epoch=0)

    block = stored_batch(log).open()
    assert block.are_offsets_dense
    assert [(each.offset, each.value) for each in block] == [(0, b"0"), (1, b"1"), (2, b"2")]


@pytest.mark.parametrize("compression", ALL_COMPRESSIONS[1:])
def test_compressed_batch_must_count_its_offsets(compression):
    refuse(uncounted((0, 0, 0), compression), InvalidRecordError, "deltas of its compressed")


def test_batch_that_grows_over_the_limit_by_recompression_is_refused():
    sent = batch(bytes(5000), compression=Compression.LZ4)
    assert len(sent) < 1000

    error = refuse(
        sent,
        RecordTooLargeError,
        r"5\d\d\d bytes compressed as none .* max\.message\.bytes=1000",
        compression_type="uncompressed",
        max_message_bytes=1000,
    )

    assert error.code is ErrorCode.MESSAGE_TOO_LARGE


def test_producer_does_not_decide_the_timestamp_type_of_a_topic():
    sent = with_crc(batch(b"one"), 21, b"\0\x08")

    refuse(sent, InvalidTimestampError, "only brokers", message_timestamp_type="LogAppendTime")
    log = open_log()
    log.append_as_leader(sent, leader_epoch=0)
    assert stored_batch(log).attributes == 0


@pytest.mark.parametrize("magic", [0, 1])
def test_follower_refuses_messages_of_before_kafka_0_11(magic):
    follower = open_log()

    with pytest.raises(CorruptRecordsError, match=r"magic=.* for orders-0 is of before"):
        follower.append_as_follower(legacy(magic=magic))
    assert follower.log_end_offset == 0


def test_follower_refuses_offsets_that_do_not_rise_within_one_response():
    leader, follower = open_log(), open_log()
    append(leader, b"one", b"two")
    stored = leader.reader.read(0, 1 << 20).read()

    with pytest.raises(LogError, match="cannot append offset 0 to orders-0: the next offset is 2"):
        follower.append_as_follower(stored + stored)
    assert follower.log_end_offset == 0


def test_follower_takes_no_more_at_once_than_a_segment_can_hold():
    follower = open_log()
    far = sealed(b"far", base_offset=1 << 31)

    follower.append_as_follower(sealed(b"near") + far)
    assert follower.log_end_offset == 1

    follower.append_as_follower(far)
    assert follower.log_end_offset == (1 << 31) + 1


def test_batch_as_large_as_the_topic_allows_is_stored():
    sent = batch(bytes(1000))

    open_log(max_message_bytes=len(sent)).append_as_leader(sent, leader_epoch=0)


def test_producer_batch_with_log_append_time_is_refused():
    sent = with_crc(batch(b"one", timestamp_ms=-1), 21, b"\0\x08")
    sent = with_crc(sent, 35, b"\xff" * 8)

    refuse(sent, InvalidTimestampError, "only brokers")


def test_timestamps_have_no_limit_where_the_broker_replaces_them():
    log = open_log(message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms=1000)

    assert append(log, b"x", timestamp_ms=1) == 0
