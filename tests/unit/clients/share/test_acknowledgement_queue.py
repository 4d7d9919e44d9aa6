"""What one leader is to get: what is sent again, what is settled, and with which words."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.clients import AcknowledgeType
from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.errors import (
    InvalidRecordStateError,
    KafkaError,
    KafkaTimeoutError,
    NotLeaderOrFollowerError,
    ShareSessionNotFoundError,
)
from pyk.clients.share.acknowledgement_queue import AcknowledgementQueue
from pyk.clients.share.acknowledgements import Acknowledgements
from pyk.clients.share.acquired_records import AcquiredRecords
from pyk.clients.share.commit_ticket import CommitTicket, PendingAcknowledgements
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.records.cursor import FetchedRecords

E = ErrorCode
ACCEPT, RENEW = int(AcknowledgeType.ACCEPT), int(AcknowledgeType.RENEW)
ORDERS = UUID(int=1)
LOST = [E.SHARE_SESSION_NOT_FOUND, E.INVALID_SHARE_SESSION_EPOCH]


class Queue(AcknowledgementQueue):
    """A queue whose outcomes a test can look at; each attempt delays the next by ten seconds."""

    def __init__(self) -> None:
        super().__init__(7, lambda attempts: 10.0 * attempts)
        self.outcomes: list[tuple[PendingAcknowledgements, KafkaError | None]] = []

    def pending(
        self, number: int = 0, *, kind: int = ACCEPT, deadline: float = 60.0
    ) -> PendingAcknowledgements:
        """Add acknowledgements of a partition."""
        ticket = CommitTicket(lambda _, one, outcome: self.outcomes.append((one, outcome.error)))
        partition = TopicIdPartition(ORDERS, "orders", number)
        records = FetchedRecords("orders", number, b"", 0, max_decompressed_bytes=1000)
        acquired = AcquiredRecords(partition, 7, records, [(0, 4, 1)], 30.0)
        one = ticket.add(acquired, Acknowledgements([(0, 4, kind)]), deadline)
        self.add([one])
        return one

    def answer(self, due: list[PendingAcknowledgements], now: float = 0.0, **codes: E) -> None:
        """Take what a leader answered about partitions, named ``p0``, ``p1`` and so on."""
        answers = {(ORDERS, int(name[1:])): (int(code), None) for name, code in codes.items()}
        self.settle_by(answers, due, api_key=ApiKey.SHARE_ACKNOWLEDGE, now=now)

    def errors(self) -> list[type[KafkaError]]:
        return [type(error) for _, error in self.outcomes if error is not None]


@pytest.fixture
def queue() -> Queue:
    return Queue()


def test_what_is_put_back_is_sent_before_the_others(queue: Queue):
    first, second = queue.pending(), queue.pending()
    due = queue.take_due(0.0)
    third = queue.pending()

    queue.put_back(due)

    assert queue.take_due(0.0) == [first, second, third]
    assert not queue


def test_it_counts_offsets(queue: Queue):
    assert queue.count == 0
    queue.pending(), queue.pending(1)
    assert queue.count == 10


def test_something_is_due_at_deadlines_and_when_what_waits_may_be_sent(queue: Queue):
    queue.pending(deadline=60.0)
    queue.pending(deadline=50.0).not_before = 10.0

    assert sorted(queue.next_moments(9.0)) == [10.0, 50.0, 60.0]
    assert sorted(queue.next_moments(10.0)) == [50.0, 60.0]


# -- what is not sent ------------------------------------------------------------------------------


def test_what_is_late_fails_with_the_reason_and_nothing_else(queue: Queue):
    late, in_time = queue.pending(deadline=50.0), queue.pending(deadline=50.1)

    queue.expire(50.0, NotLeaderOrFollowerError("the broker is confused"))

    [(one, error)] = queue.outcomes
    assert one is late
    assert isinstance(error, KafkaTimeoutError)
    assert "could not acknowledge at node 7 in time: the broker is confused" in str(error)
    assert queue.take_due(0.0) == [in_time]


def test_without_a_reason_none_is_told(queue: Queue):
    queue.pending()
    queue.expire(60.0, None)

    [(_, error)] = queue.outcomes
    assert str(error) == "could not acknowledge at node 7 in time"


def test_what_was_delivered_again_is_not_sent(queue: Queue):
    overtaken, kept = queue.pending(), queue.pending()
    overtaken.acquired.is_overtaken = True

    queue.refuse_overtaken()

    [(one, error)] = queue.outcomes
    assert one is overtaken
    assert isinstance(error, InvalidRecordStateError)
    assert "delivered them again" in str(error)
    assert queue.take_due(0.0) == [kept]


def test_without_a_session_nothing_is_sent(queue: Queue):
    queue.pending(), queue.pending(1)

    queue.settle_without_session()

    assert queue.errors() == [ShareSessionNotFoundError] * 2
    assert not queue


def test_nothing_is_renewed_at_the_end(queue: Queue):
    accepted, renewed = queue.pending(), queue.pending(kind=RENEW)

    assert queue.take_last() == [accepted]
    queue.settle_at_the_end(None)

    [(one, error)] = queue.outcomes
    assert one is renewed
    assert isinstance(error, ShareSessionNotFoundError)
    assert str(error).endswith("so the records are delivered again")
    assert not queue


# -- what a response says --------------------------------------------------------------------------


@pytest.mark.parametrize("code", LOST)
def test_after_a_lost_session_they_are_sent_once_more(queue: Queue, code: E):
    one, error = queue.pending(), ShareSessionNotFoundError("lost")

    queue.settle_refused(queue.take_due(0.0), code, error)
    assert queue.outcomes == []
    queue.settle_refused(queue.take_due(0.0), code, error)

    assert queue.errors() == [ShareSessionNotFoundError]
    assert queue.outcomes[0][0] is one
    assert not queue


def test_after_another_refusal_they_are_settled_at_once(queue: Queue):
    queue.pending(), queue.pending(1)

    queue.settle_refused(queue.take_due(0.0), E.INVALID_REQUEST, NotLeaderOrFollowerError("no"))

    assert queue.errors() == [NotLeaderOrFollowerError] * 2
    assert not queue


def test_a_partition_without_an_answer_leaves_the_outcome_in_doubt(queue: Queue):
    queue.pending(0), queue.pending(1)

    queue.answer(queue.take_due(0.0), p1=E.NONE)

    [(_, error), (_, success)] = queue.outcomes
    assert isinstance(error, InvalidRecordStateError)
    assert not error.definite
    assert "did not answer" in str(error)
    assert success is None


def test_what_was_refused_together_is_sent_apart_and_then_settled(queue: Queue):
    some = [queue.pending(), queue.pending()]
    queue.answer(queue.take_due(0.0), p0=E.INVALID_RECORD_STATE)
    assert queue.outcomes == []

    for one in some:
        due = queue.take_due(0.0)
        assert due == [one]
        queue.answer(due, p0=E.INVALID_RECORD_STATE)

    assert queue.errors() == [InvalidRecordStateError] * 2


@pytest.mark.parametrize(
    "code",
    [
        *LOST,
        E.NOT_LEADER_OR_FOLLOWER,
        E.FENCED_LEADER_EPOCH,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.UNKNOWN_TOPIC_ID,
        E.TOPIC_AUTHORIZATION_FAILED,
    ],
)
def test_what_another_request_cannot_change_is_settled(queue: Queue, code: E):
    queue.pending(), queue.pending()

    queue.answer(queue.take_due(0.0), p0=code)

    assert [error.code for _, error in queue.outcomes if error is not None] == [code] * 2
    assert not queue


def test_what_a_leader_cannot_take_for_now_waits_longer_each_time(queue: Queue):
    one = queue.pending(deadline=99.0)

    queue.answer(queue.take_due(0.0), 0.0, p0=E.COORDINATOR_NOT_AVAILABLE)
    assert one.not_before == 10.0
    assert queue.take_due(9.9) == []
    queue.answer(queue.take_due(10.0), 10.0, p0=E.COORDINATOR_NOT_AVAILABLE)
    assert one.not_before == 30.0

    assert queue.outcomes == []


@pytest.mark.parametrize("code", [E.COORDINATOR_NOT_AVAILABLE, E.INVALID_RECORD_STATE])
def test_at_the_end_nothing_is_tried_again(queue: Queue, code: E):
    queue.pending(), queue.pending()
    queue.is_ending = True

    queue.answer(queue.take_last(), p0=code)

    assert len(queue.errors()) == 2


def test_each_failure_is_an_error_of_its_own(queue: Queue):
    queue.pending(), queue.pending()
    reason: Any = NotLeaderOrFollowerError("no")

    queue.settle(queue.take_due(0.0), reason)

    assert len({id(error) for _, error in queue.outcomes} | {id(reason)}) == 3
