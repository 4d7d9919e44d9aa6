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
    BatchAction,
    BatchOutcome,
    conclude,
    outcome_of_code,
    outcome_of_error,
)
from pyk.protocol.errors import ErrorCode
from support.producer_parts import make_batch, make_identity, make_queue, numbers_of, send_all

IDEMPOTENT = make_identity()


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (ErrorCode.NONE, BatchOutcome.WRITTEN),
        (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, BatchOutcome.DUPLICATE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, BatchOutcome.UNKNOWN),
        (ErrorCode.UNKNOWN_SERVER_ERROR, BatchOutcome.UNKNOWN),
        (ErrorCode.REQUEST_TIMED_OUT, BatchOutcome.UNKNOWN),
        (ErrorCode.NETWORK_EXCEPTION, BatchOutcome.UNKNOWN),
        (ErrorCode.KAFKA_STORAGE_ERROR, BatchOutcome.UNKNOWN),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, BatchOutcome.UNKNOWN),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, BatchOutcome.UNKNOWN),
        (ErrorCode.NOT_ENOUGH_REPLICAS, BatchOutcome.REFUSED),
        (ErrorCode.CORRUPT_MESSAGE, BatchOutcome.REFUSED),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, BatchOutcome.OUT_OF_ORDER),
        (ErrorCode.UNKNOWN_PRODUCER_ID, BatchOutcome.OUT_OF_ORDER),
        (ErrorCode.INVALID_PRODUCER_EPOCH, BatchOutcome.FENCED),
        (ErrorCode.MESSAGE_TOO_LARGE, BatchOutcome.TOO_LARGE),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, BatchOutcome.FAILED),
        (ErrorCode.INVALID_RECORD, BatchOutcome.FAILED),
        (ErrorCode.RECORD_LIST_TOO_LARGE, BatchOutcome.FAILED),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, BatchOutcome.UNCLEAR),
        (ErrorCode(31_000), BatchOutcome.UNCLEAR),
    ],
)
def test_the_outcome_of_a_batch_by_error_code(code, outcome):
    assert outcome_of_code(code) is outcome


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (NodeUnavailableError("no"), BatchOutcome.REFUSED),
        (NodeDisconnectedError("gone"), BatchOutcome.UNKNOWN),
        (KafkaTimeoutError("late"), BatchOutcome.UNKNOWN),
        (UnsupportedVersionError("old"), BatchOutcome.FAILED),
    ],
)
def test_the_outcome_of_a_batch_without_a_response(error, outcome):
    assert outcome_of_error(error) is outcome


@pytest.mark.parametrize(
    ("outcome", "action", "may_be_written"),
    [
        (BatchOutcome.WRITTEN, BatchAction.WRITTEN, False),
        (BatchOutcome.REFUSED, BatchAction.KEPT, False),
        (BatchOutcome.UNKNOWN, BatchAction.KEPT, True),
        (BatchOutcome.OUT_OF_ORDER, BatchAction.KEPT, False),
        (BatchOutcome.DUPLICATE, BatchAction.KEPT, False),
        (BatchOutcome.FENCED, BatchAction.KEPT, False),
        (BatchOutcome.TOO_LARGE, BatchAction.SPLIT, False),
        (BatchOutcome.FAILED, BatchAction.FAILED, False),
        (BatchOutcome.UNCLEAR, BatchAction.FAILED, True),
    ],
)
def test_the_action_for_a_batch_after_its_first_attempt(outcome, action, may_be_written):
    queue = make_queue(make_batch(b"a", b"b"))
    (batch,) = send_all(queue)

    assert conclude(queue, batch, outcome, 1.0, IDEMPOTENT) is action
    assert batch.may_be_written is may_be_written


@pytest.mark.parametrize(
    ("outcome", "action"),
    [
        (BatchOutcome.WRITTEN, BatchAction.WRITTEN),
        (BatchOutcome.DUPLICATE, BatchAction.WRITTEN),
        (BatchOutcome.OUT_OF_ORDER, BatchAction.FAILED),
        (BatchOutcome.FENCED, BatchAction.FAILED),
        (BatchOutcome.TOO_LARGE, BatchAction.FAILED),
    ],
)
def test_the_action_for_a_batch_that_may_have_been_written_before(outcome, action):
    queue = make_queue(make_batch(b"a", b"b"))
    (batch,) = send_all(queue)
    batch.may_be_written = True

    assert conclude(queue, batch, outcome, 1.0, IDEMPOTENT) is action


def test_a_batch_after_an_unsettled_one_waits_for_it():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    conclude(queue, first, BatchOutcome.UNKNOWN, 0.0, IDEMPOTENT)

    assert conclude(queue, second, BatchOutcome.OUT_OF_ORDER, 0.0, IDEMPOTENT) is BatchAction.KEPT

    assert not queue.must_restart
    assert send_all(queue) == [first]


def test_the_oldest_batch_out_of_order_begins_a_new_order():
    queue = make_queue(make_batch(b"a"))
    (batch,) = send_all(queue)

    conclude(queue, batch, BatchOutcome.OUT_OF_ORDER, 0.0, IDEMPOTENT)

    assert queue.must_restart
    assert not queue.sequence.needs_new_producer_id


def test_the_oldest_batch_in_doubt_out_of_order_leaves_the_order_to_the_next():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    for batch in (first, second):
        conclude(queue, batch, BatchOutcome.UNKNOWN, 0.0, IDEMPOTENT)
    send_all(queue)

    assert conclude(queue, first, BatchOutcome.OUT_OF_ORDER, 0.0, IDEMPOTENT) is BatchAction.FAILED

    assert not queue.must_restart
    assert send_all(queue) == [second]
    assert numbers_of(second) == (7, 0, 1)


def test_fencing_needs_a_new_producer_id():
    queue = make_queue(make_batch(b"a"))
    (batch,) = send_all(queue)

    conclude(queue, batch, BatchOutcome.FENCED, 0.0, IDEMPOTENT)

    assert queue.sequence.needs_new_producer_id


@pytest.mark.parametrize("outcome", [BatchOutcome.OUT_OF_ORDER, BatchOutcome.FENCED])
def test_without_idempotence_answers_about_sequences_are_failures(outcome):
    queue = make_queue(make_batch(b"a"), is_idempotent=False)
    (batch,) = send_all(queue)

    assert conclude(queue, batch, outcome, 0.0, NoIdentity()) is BatchAction.FAILED


def test_a_single_record_that_is_too_large_fails():
    queue = make_queue(make_batch(b"a"))
    (batch,) = send_all(queue)

    assert conclude(queue, batch, BatchOutcome.TOO_LARGE, 0.0, IDEMPOTENT) is BatchAction.FAILED


def test_a_response_for_a_batch_that_was_given_up_only_tells_of_the_gap():
    queue = make_queue(make_batch(b"a"), make_batch(b"b"))
    first, second = send_all(queue)
    queue.drop(first)
    queue.drop(second)

    assert (
        conclude(queue, first, BatchOutcome.UNKNOWN, 0.0, IDEMPOTENT) is BatchAction.GIVEN_UP_BEFORE
    )
    assert queue.has_gap
    assert (
        conclude(queue, second, BatchOutcome.WRITTEN, 0.0, IDEMPOTENT)
        is BatchAction.GIVEN_UP_BEFORE
    )
    assert not queue.has_gap
    assert queue.is_idle()
