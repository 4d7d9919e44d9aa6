"""The order of one partition's batches."""

from __future__ import annotations

import zlib

import pytest

from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.identity import IdempotentIdentity
from pyk.clients.producer.sending.partition_queue import NEVER
from pyk.clients.producer.sending.sequences import MAX_EPOCH, ProducerIdentity
from pyk.protocol.records import Compression, RecordBatchBuilder
from support.producer_parts import (
    PARTITION,
    make_batch,
    make_identity,
    make_queue,
    numbers_of,
    send_all,
)

NEW_IDENTITY = ProducerIdentity(8, 0)


def test_batches_get_the_places_that_follow_each_other():
    queue = make_queue(make_batch(b"a", b"b"), make_batch(b"c"), make_batch(b"d"))

    sent = send_all(queue)

    assert [numbers_of(batch) for batch in sent] == [(7, 0, 0), (7, 0, 2), (7, 0, 3)]


def test_no_more_than_the_limit_is_in_flight():
    queue = make_queue(*[make_batch() for _ in range(7)])

    assert len(send_all(queue)) == 5


def test_the_first_batch_of_an_order_goes_alone():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"), make_batch(b"c"))
    queue.sequence.is_known = False

    (first,) = send_all(queue)
    queue.settle(first)

    assert len(send_all(queue)) == 2


def test_the_first_batch_of_a_new_order_goes_alone_too():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    queue.must_restart = True

    assert queue.restart(make_identity())

    assert len(send_all(queue)) == 1


def test_a_lost_batch_is_sent_again_with_the_same_bytes_before_anything_new():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"), make_batch(b"new"))
    first = queue.queued[0]
    queue.send(first, 1)
    bytes_sent = bytes(first.data)
    queue.keep(first, retry_at=0.5)

    assert queue.next_batch(0.4, 1, 5) is None
    assert queue.next_batch(0.5, 1, 5) is first
    queue.send(first, 1)

    assert bytes(first.data) == bytes_sent
    assert queue.next_batch(0.5, 1, 5) is not None


def test_retries_go_one_after_the_other_and_nothing_new_between_them():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    queue.queued.append(make_batch(b"new"))
    queue.keep(first, 0.0)
    queue.keep(second, 0.0)

    assert send_all(queue) == [first]
    queue.settle(first)
    sent = send_all(queue)
    assert sent[0] is second
    assert [numbers_of(batch) for batch in sent] == [(7, 0, 1), (7, 0, 2)]


def test_a_retry_is_not_looked_for_while_a_batch_after_it_is_in_flight():
    queue = make_queue(make_batch(), make_batch())
    first, second = send_all(queue)

    queue.keep(first, retry_at=0.5)
    assert queue.retry_at() == NEVER
    queue.keep(second, retry_at=0.5)

    assert queue.retry_at() == 0.5


def test_no_batch_goes_to_a_new_leader_while_one_is_in_flight_to_the_old_leader():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first = queue.queued[0]
    queue.send(first, node_id=1)

    assert queue.next_batch(0.0, 2, 5) is None
    queue.settle(first)
    assert queue.next_batch(0.0, 2, 5) is not None


def test_the_place_of_the_last_batch_is_taken_back_when_it_certainly_was_not_written():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    _, second = send_all(queue)
    queue.keep(second, 0.0)
    queue.drop(second)
    queue.queued.append(make_batch(b"c"))

    assert [numbers_of(batch) for batch in send_all(queue)] == [(7, 0, 1)]


def test_giving_up_a_batch_in_doubt_begins_a_new_order():
    queue = make_queue(make_batch(b"a"))
    (first,) = send_all(queue)
    first.may_be_written = True
    queue.keep(first, 0.0)
    queue.drop(first)
    queue.queued.append(make_batch(b"b"))

    assert queue.next_batch(0.0, 1, 5) is None
    assert queue.is_ready_to_restart()
    assert queue.restart(IdempotentIdentity())
    assert [numbers_of(batch) for batch in send_all(queue)] == [(7, 1, 0)]


def test_a_gap_was_none_if_a_later_batch_is_written():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    queue.keep(first, 0.0)
    first.may_be_written = True
    queue.drop(first)

    queue.settle(second)
    queue.queued.append(make_batch(b"c"))

    assert [numbers_of(batch) for batch in send_all(queue)] == [(7, 0, 2)]


def test_nothing_new_is_sent_while_a_gap_is_in_doubt():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, _ = send_all(queue)
    queue.keep(first, 0.0)
    first.may_be_written = True
    queue.drop(first)
    queue.queued.append(make_batch(b"c"))

    assert queue.next_batch(0.0, 1, 5) is None
    assert not queue.is_ready_to_restart()


def test_a_restart_gives_refused_batches_new_places_in_the_same_order():
    queue = make_queue(make_batch(b"a"), make_batch(b"b", b"c"), make_batch(b"d"))
    batches = send_all(queue)
    for batch in batches:
        queue.keep(batch, 0.0)
    queue.must_restart = True

    assert queue.restart(IdempotentIdentity())

    assert [numbers_of(batch) for batch in batches] == [(7, 1, 0), (7, 1, 1), (7, 1, 3)]


def test_a_batch_that_may_be_written_is_no_part_of_a_new_order():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    first.may_be_written = True
    for batch in (first, second):
        queue.keep(batch, 0.0)
    queue.must_restart = True

    with pytest.raises(AssertionError):
        queue.restart(IdempotentIdentity())


def test_a_batch_that_a_later_one_overtook_may_be_written():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"), make_batch(b"c"))
    first, second, third = send_all(queue)
    queue.keep(first, 0.0)

    queue.settle(second)

    assert first.may_be_written
    assert not third.may_be_written


def test_a_half_that_was_never_sent_is_not_written_although_a_later_batch_is():
    queue = make_queue(make_batch(b"a", b"b"), make_batch(b"c"))
    whole, later = send_all(queue)
    queue.keep(whole, 0.0)
    halves = make_batch(b"a"), make_batch(b"b")
    queue.split(whole, halves)

    queue.settle(later)

    assert [half.may_be_written for half in halves] == [False, False]


def test_a_restart_waits_until_nothing_is_in_flight():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    queue.keep(first, 0.0)
    queue.must_restart = True

    assert not queue.is_ready_to_restart()
    assert queue.next_batch(0.0, 1, 5) is None
    queue.keep(second, 0.0)
    assert queue.is_ready_to_restart()


def test_when_no_epoch_is_left_a_restart_needs_a_new_producer_id():
    queue = make_queue(make_batch(b"a"))
    queue.sequence.epoch = MAX_EPOCH
    queue.must_restart = True

    assert not queue.restart(make_identity())
    assert queue.sequence.needs_new_producer_id
    assert queue.restart(make_identity(NEW_IDENTITY))
    assert [numbers_of(batch) for batch in send_all(queue)] == [(8, 0, 0)]


def test_a_batch_that_was_given_up_in_flight_keeps_its_place_until_it_is_answered():
    queue = make_queue(make_batch(b"a"))
    (first,) = send_all(queue)
    queue.drop(first)

    assert queue.unsettled == [first]
    assert queue.oldest() is None
    queue.settle(first)
    assert queue.is_idle()


def test_nothing_new_follows_a_batch_that_was_given_up_in_flight():
    queue = make_queue(make_batch(b"a"))
    (first,) = send_all(queue)
    queue.drop(first)
    queue.queued.append(make_batch(b"b"))

    assert send_all(queue) == []
    queue.settle(first)
    assert len(send_all(queue)) == 1


def test_halves_take_the_place_of_the_whole():
    queue = make_queue(make_batch(b"a", b"b", b"c"), make_batch(b"d"))
    whole, _ = send_all(queue)
    queue.keep(whole, 0.0)
    halves = make_batch(b"a"), make_batch(b"b", b"c")

    queue.split(whole, halves)

    assert queue.unsettled[:2] == list(halves)
    assert [numbers_of(half) for half in halves] == [(7, 0, 0), (7, 0, 1)]


def test_sequences_wrap_to_zero():
    queue = make_queue(make_batch(b"a", b"b", b"c"), make_batch(b"d"))
    queue.sequence.next_sequence = (1 << 31) - 2

    _, second = send_all(queue)

    assert numbers_of(second) == (7, 0, 1)


def test_without_idempotence_batches_have_no_places_but_keep_their_order():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"), is_idempotent=False)
    first, second = send_all(queue)
    assert numbers_of(first) == (-1, -1, -1)

    queue.keep(second, 0.0)
    queue.keep(first, 0.0)

    assert send_all(queue) == [first]


def test_a_batch_that_cannot_be_sealed_still_gets_an_outcome():
    builder = RecordBatchBuilder(Compression.GZIP, level=99)
    batch = ProducerBatch(PARTITION, builder, 0.0)
    batch.append(0, None, b"a", ())
    queue = make_queue(batch)

    with pytest.raises(zlib.error):
        queue.send(batch, 1)

    assert queue.unsettled == [batch]


def test_without_sequences_a_later_batch_says_nothing_of_an_earlier_one():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"), is_idempotent=False)
    first, second = send_all(queue)

    queue.settle(second)

    assert not first.may_be_written
