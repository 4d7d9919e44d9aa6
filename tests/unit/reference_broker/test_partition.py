"""One partition: its leader, what readers see, and its listeners."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.protocol.records import read_batches
from pyk.reference_broker.partition import Isolation, Partition
from pyk.reference_broker.storage import (
    FencedLeaderEpochError,
    NotEnoughReplicasError,
    NotLeaderError,
    OffsetOutOfRangeError,
    UnknownLeaderEpochError,
)
from pyk.runtime.virtual_time import START_MS
from support.logs import ORDERS, batch, open_log

NODE = 1


def led_partition(leader_epoch=0, **config):
    partition = Partition(ORDERS, UUID(int=1), NODE, open_log(**config))
    partition.become_leader(leader_epoch, (NODE,), (NODE,))
    return partition


def test_high_watermark_moves_with_the_append():
    partition = led_partition()

    result = partition.append(batch(b"0", b"1"))

    assert (result.base_offset, result.last_offset) == (0, 1)
    assert partition.high_watermark == partition.log_end_offset == 2
    assert partition.last_stable_offset == 2


def test_listeners_are_called_when_a_partition_moves():
    partition = led_partition()
    told = []
    partition.add_listener(told.append)

    partition.append(batch(b"0"))
    partition.delete_records(-1)
    partition.resign(leader_id=2, leader_epoch=1)

    assert told == [partition] * 3


def test_retry_moves_nothing():
    partition = led_partition()
    sent = batch(b"0", producer_id=1, producer_epoch=0, base_sequence=0)
    partition.append(sent)
    told = []
    partition.add_listener(told.append)

    assert partition.append(sent).is_duplicate

    assert told == []


def test_records_carry_the_epoch_of_their_leader():
    partition = led_partition(leader_epoch=4)
    partition.append(batch(b"0"))
    partition.become_leader(7, (NODE,), (NODE,))
    partition.append(batch(b"1"))

    stored = read_batches(partition.read(0, 1 << 20).records.read())

    assert [each.partition_leader_epoch for each in stored] == [4, 7]
    assert partition.end_offset_of_epoch(4) == (4, 1)
    assert partition.end_offset_of_epoch(7) == (7, 2)


def test_only_the_leader_answers():
    partition = Partition(ORDERS, UUID(int=1), NODE, open_log())

    with pytest.raises(NotLeaderError, match="nobody does"):
        partition.append(batch(b"0"))
    partition.resign(leader_id=2, leader_epoch=0)
    for request in (
        lambda: partition.append(batch(b"0")),
        lambda: partition.read(0, 100),
        lambda: partition.list_offset(-1),
        lambda: partition.end_offset_of_epoch(0),
        lambda: partition.delete_records(-1),
    ):
        with pytest.raises(NotLeaderError, match="node 1 does not lead orders-0, node 2 does"):
            request()


def test_reader_with_another_epoch_gets_an_error():
    partition = led_partition(leader_epoch=5)

    partition.read(0, 100, current_leader_epoch=5)
    with pytest.raises(FencedLeaderEpochError, match="is 5, not 4"):
        partition.read(0, 100, current_leader_epoch=4)
    with pytest.raises(UnknownLeaderEpochError, match="is 5, not 6"):
        partition.list_offset(-1, current_leader_epoch=6)


def test_older_epoch_does_not_depose_a_newer():
    partition = led_partition(leader_epoch=5)

    partition.become_leader(4, (NODE, 2), (NODE,))

    assert partition.leader_epoch == 5
    assert partition.replicas == (NODE, 2)


def test_write_to_all_replicas_needs_enough_of_them():
    partition = led_partition(min_insync_replicas=2)

    with pytest.raises(NotEnoughReplicasError, match=r"1 replicas .* min\.insync\.replicas is 2"):
        partition.append(batch(b"0"), needs_all_replicas=True)
    assert partition.append(batch(b"0")).base_offset == 0


def test_read_says_where_the_partition_stands():
    partition = led_partition()
    partition.append(batch(b"0", b"1", b"2"))
    partition.delete_records(1)

    found = partition.read(1, 1 << 20)

    assert (found.high_watermark, found.last_stable_offset, found.log_start_offset) == (3, 3, 1)
    assert len(found.records) == len(batch(b"0", b"1", b"2"))
    with pytest.raises(OffsetOutOfRangeError):
        partition.read(0, 1 << 20)


def test_readers_see_records_up_to_the_end_of_their_isolation_level():
    partition = led_partition()
    partition.append(batch(b"0"))
    partition.append(batch(b"1"))
    partition.log.high_watermark = 1

    sizes = [len(partition.read(0, 1 << 20, isolation).records) for isolation in Isolation]

    one = len(batch(b"0"))
    assert sizes == [one, one, 2 * one]
    assert len(partition.read(1, 1 << 20).records) == 0


def test_offsets_are_listed():
    partition = led_partition(leader_epoch=3)
    for timestamp in (1000, 5000, 2000):
        partition.append(batch(b"x", b"y", timestamp_ms=START_MS + timestamp))
    partition.delete_records(1)

    assert partition.list_offset(-2) == (1, -1, 3)
    assert partition.list_offset(-1) == (6, -1, 3)
    assert partition.list_offset(-3) == (3, START_MS + 5001, 3)
    assert partition.list_offset(-4) == partition.list_offset(-2)
    assert partition.list_offset(-5) is None
    assert partition.list_offset(0) == (1, START_MS + 1001, 3)
    assert partition.list_offset(START_MS + 1002) == (2, START_MS + 5000, 3)
    assert partition.list_offset(START_MS + 5001) == (3, START_MS + 5001, 3)
    assert partition.list_offset(START_MS + 5002) is None


def test_empty_partition_has_no_newest_record():
    partition = led_partition()

    assert partition.list_offset(-3) is None
    assert partition.list_offset(0) is None
    assert partition.list_offset(-1) == (0, -1, 0)


def test_record_above_the_high_watermark_is_not_listed():
    partition = led_partition()
    partition.append(batch(b"0"))
    partition.log.high_watermark = 0

    assert partition.list_offset(0) is None


def test_offsets_are_found_by_time_across_segments_and_restarts():
    partition = led_partition(segment_bytes=300, index_interval_bytes=0)
    for number in range(50):
        partition.append(batch(b"%d" % number, timestamp_ms=START_MS + 10 * number))

    for number in range(50):
        assert partition.list_offset(START_MS + 10 * number - 5).offset == number


def test_records_are_deleted_up_to_the_high_watermark_only():
    partition = led_partition()
    partition.append(batch(b"0", b"1"))

    with pytest.raises(OffsetOutOfRangeError):
        partition.delete_records(3)
    with pytest.raises(OffsetOutOfRangeError):
        partition.delete_records(-2)
    assert partition.delete_records(1) == 1
    assert partition.delete_records(0) == 1
    assert partition.delete_records(-1) == 2
