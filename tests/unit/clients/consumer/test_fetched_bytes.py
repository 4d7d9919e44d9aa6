from __future__ import annotations

from pyk.clients.consumer.fetched_bytes import find_end
from support.batches import batch, batches


def test_the_end_is_behind_the_last_whole_batch() -> None:
    data = batches(10, 3, 2)

    assert find_end(memoryview(data), 10).next_offset == 15
    assert find_end(memoryview(data[:-1]), 10).next_offset == 13


def test_the_epoch_is_that_of_the_last_batch() -> None:
    data = batch(0, [b"a"], leader_epoch=4) + batch(1, [b"b"], leader_epoch=6)

    assert find_end(memoryview(data), 0).leader_epoch == 6


def test_a_batch_below_the_offset_asked_for_is_passed_over() -> None:
    assert find_end(memoryview(batches(10, 5)), 12).next_offset == 15


def test_bytes_without_a_whole_batch_have_no_end() -> None:
    data = batches(0, 1)

    assert not find_end(memoryview(data[:-1]), 0).has_batch
    assert not find_end(memoryview(data[:20]), 0).has_batch


def test_headers_that_make_no_sense_leave_it_to_the_reader() -> None:
    negative_length, negative_delta, old_magic = batches(0, 1), batches(0, 1), batches(0, 1)
    negative_length[8:12] = (-5).to_bytes(4, "big", signed=True)
    negative_delta[23:27] = (-1).to_bytes(4, "big", signed=True)
    old_magic[16] = 1

    for data in (negative_length, negative_delta, old_magic):
        end = find_end(memoryview(data), 0)
        assert (end.next_offset, end.has_batch) == (-1, True)


def test_offsets_that_fall_leave_it_to_the_reader() -> None:
    assert find_end(memoryview(batches(10, 2) + batches(5, 2)), 10).next_offset == -1
