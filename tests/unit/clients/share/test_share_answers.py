"""What the responses of leaders bring: records with their locks, errors, and new leaders."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from pyk.clients import TopicPartition
from pyk.clients.config import ShareConsumerConfig
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.errors import TopicAuthorizationFailedError
from pyk.clients.share.share_answers import LAST_OFFSET, ShareAnswers
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import share_acknowledge, share_fetch
from support.record_batches import sealed

E = ErrorCode
ORDERS, UNKNOWN = UUID(int=1), UUID(int=2)
P0, P1 = (TopicIdPartition(ORDERS, "orders", number) for number in range(2))
NAME0 = TopicPartition("orders", 0)
LEADERS = [(-1, {}), (0, {NAME0: (0, 7)}), (2, {NAME0: (2, 7)})]
"""The leader that a response names, and what the metadata learn of it."""


class Answers(ShareAnswers):
    """What a consumer that is assigned both partitions makes of responses."""

    def __init__(self) -> None:
        self.now = 10.0
        self.leaders: list[Any] = []
        self.updates = self.looks = 0
        self.given_back: list[Any] = []
        self.buffer = ShareBuffer(lambda: None, lambda: None)
        keeper = SimpleNamespace(
            update_leaders=lambda *told: self.leaders.append(told),
            request_update=self.request_update,
        )
        client = SimpleNamespace(
            clock=SimpleNamespace(now=lambda: self.now), metadata_keeper=keeper
        )
        config = ShareConsumerConfig.from_kwargs("broker:9092", group_id="g")
        super().__init__(
            cast(Any, client), config, self.buffer, self.given_back.extend, self.look_at_all
        )
        self.assign(frozenset({P0, P1}))

    def request_update(self) -> None:
        self.updates += 1

    def look_at_all(self) -> None:
        self.looks += 1

    def take(self, *data: Any, topic_id: UUID = ORDERS, **fields: Any) -> bool:
        """Take the response to a fetch that was sent at 8 s."""
        topic = share_fetch.ShareFetchableTopicResponse(topic_id=topic_id, partitions=list(data))
        response = share_fetch.ShareFetchResponse(responses=[topic], **fields)
        return self.fetched(1, response, 8.0)

    def take_acknowledged(self, *data: Any, topic_id: UUID = ORDERS, lock_ms: int = 0) -> None:
        topic = share_acknowledge.ShareAcknowledgeTopicResponse(
            topic_id=topic_id, partitions=list(data)
        )
        self.acknowledged(
            share_acknowledge.ShareAcknowledgeResponse(
                acquisition_lock_timeout_ms=lock_ms, responses=[topic]
            )
        )


def partition(
    number: int = 0,
    *ranges: tuple[int, int],
    code: E = E.NONE,
    leader_id: int = -1,
    records: bytes | None = None,
) -> share_fetch.PartitionData:
    return share_fetch.PartitionData(
        partition_index=number,
        error_code=code,
        current_leader=share_fetch.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=7),
        records=None if records is None else memoryview(records),
        acquired_records=[
            share_fetch.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=1)
            for first, last in ranges
        ],
    )


def acknowledged(
    number: int = 0, *, code: E = E.NONE, leader_id: int = -1
) -> share_acknowledge.PartitionData:
    return share_acknowledge.PartitionData(
        partition_index=number,
        error_code=code,
        current_leader=share_acknowledge.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=7),
    )


@pytest.fixture
def answers() -> Answers:
    return Answers()


# -- records ---------------------------------------------------------------------------------------


def test_locks_are_counted_from_when_the_fetch_was_sent(answers: Answers):
    batch = sealed(b"a", b"b")

    assert answers.take(partition(0, (0, 1), records=batch), acquisition_lock_timeout_ms=6_000)

    [acquired] = answers.buffer.queue
    assert (acquired.partition, acquired.node_id, acquired.locked_until) == (P0, 1, 14.0)
    assert answers.lock_timeout_ms == 6_000
    assert len(answers.acquisitions) == 1
    assert answers.looks == 1


def test_a_response_that_does_not_say_how_long_locks_last_changes_nothing(answers: Answers):
    answers.lock_timeout_ms = 6_000

    answers.take(partition(0, (0, 1)))

    assert answers.buffer.queue[0].locked_until == float("inf")
    assert answers.lock_timeout_ms == 6_000


def test_one_partition_with_records_is_enough(answers: Answers):
    assert answers.take(partition(0, (0, 1)), partition(1))
    assert answers.take(partition(1), partition(0, (2, 3)))
    assert not answers.take(partition(0), partition(1))


def test_a_response_with_an_error_brings_nothing(answers: Answers):
    assert not answers.take(partition(0, (0, 1)), error_code=E.SHARE_SESSION_NOT_FOUND)

    assert not answers.buffer.queue


def test_records_of_a_topic_that_was_never_assigned_are_left_alone(answers: Answers):
    assert not answers.take(partition(0, (0, 1)), topic_id=UNKNOWN)

    assert not answers.buffer.queue
    assert not answers.given_back


def test_records_of_a_partition_that_is_not_assigned_any_more_are_given_back(answers: Answers):
    answers.assign(frozenset({P1}))

    assert answers.take(partition(0, (0, 1)))

    assert not answers.buffer.queue
    assert [acquired.partition for acquired in answers.given_back] == [P0]


def test_an_offset_that_no_record_can_have_is_not_acquired(answers: Answers):
    assert not answers.take(partition(0, (0, LAST_OFFSET)))
    assert answers.take(partition(0, (0, LAST_OFFSET - 1)))


# -- errors ----------------------------------------------------------------------------------------


def test_an_error_that_passes_shows_until_the_partition_is_read_again(answers: Answers):
    answers.take(partition(0, code=E.NOT_LEADER_OR_FOLLOWER), partition(1))

    error = answers.error_of(P0)
    assert error is not None
    assert (error.code, answers.error_of(P1)) == (E.NOT_LEADER_OR_FOLLOWER, None)
    assert answers.updates == 1
    assert not answers.errors
    answers.take(partition(0))
    assert answers.error_of(P0) is None


def test_an_error_is_forgotten_with_the_assignment(answers: Answers):
    answers.take(partition(0, code=E.NOT_LEADER_OR_FOLLOWER))

    answers.assign(frozenset({P0}))

    assert answers.error_of(P0) is None


def test_an_error_that_needs_a_change_is_told_once_a_second(answers: Answers):
    for now in (10.0, 10.9, 11.0):
        answers.now = now
        answers.take(partition(0, code=E.TOPIC_AUTHORIZATION_FAILED))
    answers.take(partition(1, code=E.TOPIC_AUTHORIZATION_FAILED))

    assert [type(error) for error in answers.errors] == [TopicAuthorizationFailedError] * 3
    assert answers.buffer.attention == EVENT


@pytest.mark.parametrize(
    ("leader_id", "told"), [(-1, {}), (0, {NAME0: (0, 7)}), (2, {NAME0: (2, 7)})]
)
def test_a_response_tells_who_leads_now(answers: Answers, leader_id: int, told: Any):
    endpoint = share_fetch.NodeEndpoint(node_id=2, host="b", port=9092)

    answers.take(
        partition(0, code=E.NOT_LEADER_OR_FOLLOWER, leader_id=leader_id),
        partition(1, leader_id=3),
        node_endpoints=[endpoint],
    )

    assert answers.leaders == ([(told, [endpoint])] if told else [])


# -- responses to acknowledgements -----------------------------------------------------------------


def test_acknowledgements_tell_how_long_locks_last_if_they_do(answers: Answers):
    answers.take_acknowledged(acknowledged(), lock_ms=6_000)
    answers.take_acknowledged(acknowledged())

    assert answers.lock_timeout_ms == 6_000


@pytest.mark.parametrize(
    ("leader_id", "told"), [(-1, {}), (0, {NAME0: (0, 7)}), (2, {NAME0: (2, 7)})]
)
def test_refused_acknowledgements_tell_who_leads_now(answers: Answers, leader_id: int, told: Any):
    answers.take_acknowledged(
        acknowledged(0, code=E.NOT_LEADER_OR_FOLLOWER, leader_id=leader_id),
        acknowledged(1, leader_id=3),
    )

    assert answers.leaders == ([(told, [])] if told else [])


def test_who_leads_an_unknown_topic_is_not_told(answers: Answers):
    answers.take_acknowledged(
        acknowledged(0, code=E.NOT_LEADER_OR_FOLLOWER, leader_id=2), topic_id=UNKNOWN
    )

    assert answers.leaders == []
