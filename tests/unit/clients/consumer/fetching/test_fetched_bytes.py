from __future__ import annotations

import pytest

from pyk.clients.consumer.fetching.fetched_bytes import find_end
from support.batches import batch, batches
from support.legacy_batches import legacy


def test_the_end_is_after_the_last_whole_batch() -> None:
    data = batches(10, 3, 2)

    assert find_end(memoryview(data), 10).next_offset == 15
    assert find_end(memoryview(data[:-1]), 10).next_offset == 13


def test_the_epoch_is_that_of_the_last_batch() -> None:
    data = batch(0, [b"a"], leader_epoch=4) + batch(1, [b"b"], leader_epoch=6)

    assert find_end(memoryview(data), 0).leader_epoch == 6


def test_a_batch_below_the_offset_asked_for_is_passed_over() -> None:
    assert find_end(memoryview(batches(10, 5)), 12).next_offset == 15
    assert find_end(memoryview(batches(10, 2, 3)), 12).next_offset == 15


def test_bytes_without_a_whole_batch_have_no_end() -> None:
    data = batches(0, 1)

    assert not find_end(memoryview(data[:-1]), 0).has_batch
    assert not find_end(memoryview(data[:20]), 0).has_batch


@pytest.mark.parametrize("offset", [2**63 - 1, -1, -(2**63)])
def test_offsets_that_no_log_has_leave_it_to_the_reader(offset: int) -> None:
    data = batches(0, 1)
    data[:8] = offset.to_bytes(8, "big", signed=True)

    end = find_end(memoryview(data), 0)

    assert (end.next_offset, end.has_batch) == (-1, True)


def test_headers_that_make_no_sense_leave_it_to_the_reader() -> None:
    negative_length, negative_delta, unknown_magic = batches(0, 1), batches(0, 1), batches(0, 1)
    empty = bytearray(legacy(magic=1, offset=0))
    empty[8:12] = bytes(4)
    negative_length[8:12] = (-5).to_bytes(4, "big", signed=True)
    negative_delta[23:27] = (-1).to_bytes(4, "big", signed=True)
    unknown_magic[16] = 3

    for data in (empty, negative_length, negative_delta, unknown_magic):
        end = find_end(memoryview(data), 0)
        assert (end.next_offset, end.has_batch) == (-1, True)


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_before_kafka_0_11_end_with_the_last_offset_in_them(magic: int) -> None:
    data = legacy(b"", key=None, magic=magic, offset=7) + legacy(magic=magic, offset=12)

    ends = [find_end(memoryview(data), 7), find_end(memoryview(data[:-1]), 7)]

    assert [end.next_offset for end in ends] == [13, 8]
    assert [end.leader_epoch for end in ends] == [-1, -1]
    assert all(end.has_batch for end in ends)


def test_offsets_that_fall_leave_it_to_the_reader() -> None:
    assert find_end(memoryview(batches(10, 2) + batches(5, 2)), 10).next_offset == -1
