"""What each answer means for a batch."""

from __future__ import annotations

import pytest

from pyk.clients.errors import (
    KafkaTimeoutError,
    NodeDisconnectedError,
    NodeUnavailableError,
    UnsupportedVersionError,
)
from pyk.clients.producer.sending.identity import NoIdentity
from pyk.clients.producer.sending.outcome import (
    Fate,
    Verdict,
    conclude,
    verdict_of_code,
    verdict_of_error,
)
from pyk.protocol.errors import ErrorCode
from support.producer_parts import make_batch, make_identity, make_queue, place_of, send_all

IDEMPOTENT = make_identity()


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (ErrorCode.NONE, Verdict.WRITTEN),
        (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, Verdict.DUPLICATE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, Verdict.UNKNOWN),
        (ErrorCode.UNKNOWN_SERVER_ERROR, Verdict.UNKNOWN),
        (ErrorCode.REQUEST_TIMED_OUT, Verdict.UNKNOWN),
        (ErrorCode.NETWORK_EXCEPTION, Verdict.UNKNOWN),
        (ErrorCode.KAFKA_STORAGE_ERROR, Verdict.UNKNOWN),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Verdict.UNKNOWN),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Verdict.UNKNOWN),
        (ErrorCode.NOT_ENOUGH_REPLICAS, Verdict.REFUSED),
        (ErrorCode.CORRUPT_MESSAGE, Verdict.REFUSED),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, Verdict.OUT_OF_ORDER),
        (ErrorCode.UNKNOWN_PRODUCER_ID, Verdict.OUT_OF_ORDER),
        (ErrorCode.INVALID_PRODUCER_EPOCH, Verdict.FENCED),
        (ErrorCode.MESSAGE_TOO_LARGE, Verdict.TOO_LARGE),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, Verdict.FAILED),
        (ErrorCode.INVALID_RECORD, Verdict.FAILED),
        (ErrorCode.RECORD_LIST_TOO_LARGE, Verdict.FAILED),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Verdict.UNCLEAR),
        (ErrorCode(31_000), Verdict.UNCLEAR),
    ],
)
def test_what_a_code_says(code, verdict):
    assert verdict_of_code(code) is verdict


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (NodeUnavailableError("no"), Verdict.REFUSED),
        (NodeDisconnectedError("gone"), Verdict.UNKNOWN),
        (KafkaTimeoutError("late"), Verdict.UNKNOWN),
        (UnsupportedVersionError("old"), Verdict.FAILED),
    ],
)
def test_what_no_answer_says(error, verdict):
    assert verdict_of_error(error) is verdict


@pytest.mark.parametrize(
    ("verdict", "fate", "may_be_written"),
    [
        (Verdict.WRITTEN, Fate.WRITTEN, False),
        (Verdict.REFUSED, Fate.KEPT, False),
        (Verdict.UNKNOWN, Fate.KEPT, True),
        (Verdict.OUT_OF_ORDER, Fate.KEPT, False),
        (Verdict.DUPLICATE, Fate.KEPT, False),
        (Verdict.FENCED, Fate.KEPT, False),
        (Verdict.TOO_LARGE, Fate.SPLIT, False),
        (Verdict.FAILED, Fate.FAILED, False),
        (Verdict.UNCLEAR, Fate.FAILED, True),
    ],
)
def test_what_follows_for_a_batch_on_its_first_try(verdict, fate, may_be_written):
    queue = make_queue(make_batch(b"a", b"b"))
    (batch,) = send_all(queue)

    assert conclude(queue, batch, verdict, 1.0, IDEMPOTENT) is fate
    assert batch.may_be_written is may_be_written


@pytest.mark.parametrize(
    ("verdict", "fate"),
    [
        (Verdict.WRITTEN, Fate.WRITTEN),
        (Verdict.DUPLICATE, Fate.WRITTEN),
        (Verdict.OUT_OF_ORDER, Fate.FAILED),
        (Verdict.FENCED, Fate.FAILED),
        (Verdict.TOO_LARGE, Fate.FAILED),
    ],
)
def test_what_follows_for_a_batch_that_may_have_been_written_before(verdict, fate):
    queue = make_queue(make_batch(b"a", b"b"))
    (batch,) = send_all(queue)
    batch.may_be_written = True

    assert conclude(queue, batch, verdict, 1.0, IDEMPOTENT) is fate


def test_a_batch_behind_an_unsettled_one_waits_for_it():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    conclude(queue, first, Verdict.UNKNOWN, 0.0, IDEMPOTENT)

    assert conclude(queue, second, Verdict.OUT_OF_ORDER, 0.0, IDEMPOTENT) is Fate.KEPT

    assert not queue.must_restart
    assert send_all(queue) == [first]


def test_the_oldest_batch_out_of_order_begins_a_new_order():
    queue = make_queue(make_batch(b"a"))
    (batch,) = send_all(queue)

    conclude(queue, batch, Verdict.OUT_OF_ORDER, 0.0, IDEMPOTENT)

    assert queue.must_restart
    assert not queue.sequence.needs_new_producer_id


def test_the_oldest_batch_in_doubt_out_of_order_leaves_the_order_to_the_next():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    for batch in (first, second):
        conclude(queue, batch, Verdict.UNKNOWN, 0.0, IDEMPOTENT)
    send_all(queue)

    assert conclude(queue, first, Verdict.OUT_OF_ORDER, 0.0, IDEMPOTENT) is Fate.FAILED

    assert not queue.must_restart
    assert send_all(queue) == [second]
    assert place_of(second) == (7, 0, 1)


def test_fencing_needs_a_new_producer_id():
    queue = make_queue(make_batch(b"a"))
    (batch,) = send_all(queue)

    conclude(queue, batch, Verdict.FENCED, 0.0, IDEMPOTENT)

    assert queue.sequence.needs_new_producer_id


@pytest.mark.parametrize("verdict", [Verdict.OUT_OF_ORDER, Verdict.FENCED])
def test_without_idempotence_answers_about_sequences_are_failures(verdict):
    queue = make_queue(make_batch(b"a"), is_idempotent=False)
    (batch,) = send_all(queue)

    assert conclude(queue, batch, verdict, 0.0, NoIdentity()) is Fate.FAILED


def test_a_single_record_that_is_too_large_fails():
    queue = make_queue(make_batch(b"a"))
    (batch,) = send_all(queue)

    assert conclude(queue, batch, Verdict.TOO_LARGE, 0.0, IDEMPOTENT) is Fate.FAILED


def test_an_answer_for_a_batch_that_was_given_up_only_tells_of_the_gap():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    queue.drop(first)
    queue.drop(second)

    assert conclude(queue, first, Verdict.UNKNOWN, 0.0, IDEMPOTENT) is Fate.GIVEN_UP_BEFORE
    assert queue.has_gap
    assert conclude(queue, second, Verdict.WRITTEN, 0.0, IDEMPOTENT) is Fate.GIVEN_UP_BEFORE
    assert not queue.has_gap
    assert queue.is_idle()
