"""One partition: appends, its leader, its high watermark, and its listeners."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.protocol.records import read_batches
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.storage import (
    NotEnoughReplicasError,
    NotLeaderError,
    OffsetOutOfRangeError,
)
from support.logs import ORDERS, batch, open_log
from support.partitions import NODE, led_partition


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

    stored = read_batches(partition.reader.read(0, 1 << 20).records.read())

    assert [each.partition_leader_epoch for each in stored] == [4, 7]
    assert partition.reader.end_offset_of_epoch(4) == (4, 1)
    assert partition.reader.end_offset_of_epoch(7) == (7, 2)


def test_only_the_leader_answers():
    partition = Partition(ORDERS, UUID(int=1), NODE, open_log())

    with pytest.raises(NotLeaderError, match="nobody does"):
        partition.append(batch(b"0"))
    partition.resign(leader_id=2, leader_epoch=0)
    for request in (
        lambda: partition.append(batch(b"0")),
        lambda: partition.reader.read(0, 100),
        lambda: partition.reader.list_offset(-1),
        lambda: partition.reader.end_offset_of_epoch(0),
        lambda: partition.delete_records(-1),
    ):
        with pytest.raises(NotLeaderError, match="node 1 does not lead orders-0, node 2 does"):
            request()


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
