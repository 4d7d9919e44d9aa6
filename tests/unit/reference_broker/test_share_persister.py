"""Asking share coordinators: together where possible, in order, and again while they move."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.find_coordinator import FindCoordinatorResponse
from pyk.protocol.messages.write_share_group_state import PartitionData
from pyk.protocol.registry import response_class
from pyk.reference_broker.controller.image import MetadataImage, PartitionImage, TopicImage
from pyk.reference_broker.controller.names import SHARE_GROUP_STATE_TOPIC
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.handlers.partitioned import element_class
from pyk.reference_broker.share_persister import MAX_ATTEMPTS, SharePersister
from support.shard_time import ShardTime

ORDERS = UUID(int=7)
KEYS = [SharePartitionKey("workers", ORDERS, number) for number in range(4)]


class Brokers(ShardTime):
    """Brokers that answer when the test says so; the first one coordinates everything."""

    def __init__(self, *, has_topic: bool = True) -> None:
        super().__init__()
        self.image = MetadataImage(brokers=dict.fromkeys((1, 2)))  # type: ignore[arg-type]
        self.asked: list[tuple[int, Any, Deferred[Any]]] = []
        if has_topic:
            self.create_topic()
        self.persister = SharePersister(self, self.image, self.timers, self.moment)

    def create_topic(self) -> None:
        self.image.topics[SHARE_GROUP_STATE_TOPIC] = TopicImage(
            name=SHARE_GROUP_STATE_TOPIC, topic_id=UUID(int=1)
        )
        self.lead(1)

    def lead(self, leader: int) -> None:
        """Let a broker, or nobody, coordinate everything."""
        self.image.topics[SHARE_GROUP_STATE_TOPIC].partitions[0] = PartitionImage(
            replicas=(1, 2), isr=(1, 2), leader=leader, leader_epoch=0, partition_epoch=0
        )

    def send(self, node_id: int, request: Any) -> Deferred[Any]:
        response: Deferred[Any] = Deferred()
        self.asked.append((node_id, request, response))
        return response

    @property
    def asked_about(self) -> list[list[tuple[str, int]]]:
        """The group and partition of each share partition in each request in flight."""
        return [
            [
                (request.group_id, partition.partition)
                for topic in request.topics
                for partition in topic.partitions
            ]
            for _, request, _ in self.asked
        ]

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """Answer the oldest request, with the same code for all partitions."""
        _, request, response = self.asked.pop(0)
        answer: Any = response_class(ApiKey(request.api_key))()
        new_topic = element_class(answer, "results")
        for topic in request.topics:
            result = new_topic(topic_id=topic.topic_id)
            new_partition = element_class(result, "partitions")
            result.partitions = [
                new_partition(partition=asked.partition, error_code=code)
                for asked in topic.partitions
            ]
            answer.results.append(result)
        response.complete(answer)

    def lose(self) -> None:
        """Let the connection of the oldest request break."""
        self.asked.pop(0)[2].complete(ErrorCode.NETWORK_EXCEPTION)


def codes(*results: Deferred[Any]) -> list[ErrorCode | None]:
    """Return the error codes of results, None for one that has not come."""
    found: list[ErrorCode | None] = [None] * len(results)
    for number, result in enumerate(results):

        def take(value: Any, number: int = number) -> None:
            found[number] = ErrorCode(value.error_code)

        result.when_done(take)
    return found


def test_what_is_asked_while_a_request_is_in_flight_goes_together_in_the_next() -> None:
    brokers = Brokers()
    results = [brokers.persister.read(key, 0) for key in KEYS]
    assert brokers.asked_about == [[("workers", 0)]]

    brokers.answer()
    assert brokers.asked_about == [[("workers", 1), ("workers", 2), ("workers", 3)]]
    brokers.answer()

    assert codes(*results) == [ErrorCode.NONE] * 4


def test_each_group_has_a_request_of_its_own() -> None:
    brokers = Brokers()
    for group in ("first", "second", "third", "second"):
        brokers.persister.delete(SharePartitionKey(group, ORDERS, len(brokers.asked_about)))
        brokers.persister.delete(SharePartitionKey(group, ORDERS, 9))

    brokers.answer()

    assert sorted(map(sorted, brokers.asked_about)) == [
        [("first", 9)],
        [("second", 1), ("second", 9)],
        [("third", 1), ("third", 9)],
    ]


def test_different_requests_do_not_wait_for_each_other() -> None:
    brokers = Brokers()

    brokers.persister.read(KEYS[0], 0)
    brokers.persister.summarize(KEYS[1])

    assert len(brokers.asked) == 2


def test_calls_about_one_share_partition_keep_their_order_also_when_one_is_repeated() -> None:
    brokers = Brokers()
    first = brokers.persister.write(KEYS[0], PartitionData(start_offset=1))
    second = brokers.persister.write(KEYS[0], PartitionData(start_offset=2))

    brokers.answer(ErrorCode.NOT_COORDINATOR)
    assert not brokers.asked
    brokers.advance(1)

    (_, request, _) = brokers.asked[0]
    assert request.topics[0].partitions[0].start_offset == 1
    brokers.answer()
    (_, request, _) = brokers.asked[0]
    assert request.topics[0].partitions[0].start_offset == 2
    brokers.answer()
    assert codes(first, second) == [ErrorCode.NONE] * 2


def test_a_coordinator_that_has_moved_is_asked_where_it_is() -> None:
    brokers = Brokers()
    result = brokers.persister.read(KEYS[0], 0)

    brokers.lead(2)
    brokers.answer(ErrorCode.NOT_COORDINATOR)
    brokers.advance(1)

    assert brokers.asked[0][0] == 2
    brokers.answer()
    assert codes(result) == [ErrorCode.NONE]


def test_nobody_is_asked_while_there_is_no_coordinator() -> None:
    brokers = Brokers()
    brokers.lead(-1)
    result = brokers.persister.read(KEYS[0], 0)
    assert not brokers.asked

    brokers.lead(1)
    brokers.advance(1)

    brokers.answer()
    assert codes(result) == [ErrorCode.NONE]


def test_a_lost_connection_is_not_the_end() -> None:
    brokers = Brokers()
    results = [brokers.persister.read(key, 0) for key in KEYS[:2]]

    brokers.lose()
    brokers.answer()
    brokers.advance(1)
    brokers.answer()

    assert codes(*results) == [ErrorCode.NONE] * 2


def test_other_errors_are_final() -> None:
    brokers = Brokers()
    result = brokers.persister.write(KEYS[0], PartitionData())

    brokers.answer(ErrorCode.FENCED_STATE_EPOCH)

    assert codes(result) == [ErrorCode.FENCED_STATE_EPOCH]
    assert brokers.timers.next_deadline() is None


def test_the_last_error_is_the_result_after_many_attempts() -> None:
    brokers = Brokers()
    result = brokers.persister.read(KEYS[0], 0)

    for _ in range(MAX_ATTEMPTS):
        brokers.answer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        brokers.advance(1)

    assert codes(result) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    assert not brokers.asked


@pytest.mark.parametrize(
    ("has_topic", "has_brokers"), [(True, True), (False, True), (False, False)]
)
def test_that_there_is_no_coordinator_is_the_result_after_many_attempts(
    has_topic: bool, has_brokers: bool
) -> None:
    brokers = Brokers(has_topic=has_topic)
    if has_topic:
        brokers.lead(-1)
    if not has_brokers:
        brokers.image.brokers.clear()
    result = brokers.persister.read(KEYS[0], 0)

    for _ in range(MAX_ATTEMPTS):
        for _, _, response in brokers.asked:
            response.complete(FindCoordinatorResponse())
        brokers.asked.clear()
        brokers.advance(1)

    assert codes(result) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_the_first_request_creates_the_topic() -> None:
    brokers = Brokers(has_topic=False)
    result = brokers.persister.initialize(KEYS[0], 1, 0)

    _, request, response = brokers.asked.pop()
    assert (request.key_type, request.coordinator_keys) == (2, [str(KEYS[0])])
    brokers.create_topic()
    response.complete(FindCoordinatorResponse())

    brokers.answer()
    assert codes(result) == [ErrorCode.NONE]


def test_abandoned_calls_are_left_out_and_hold_nobody_up() -> None:
    brokers = Brokers()
    calls = [brokers.persister.read(KEYS[0], 0), brokers.persister.read(KEYS[1], 0)]
    following = brokers.persister.read(KEYS[1], 1)

    calls[1].abandon()
    brokers.answer()

    assert brokers.asked_about == [[("workers", 1)]]
    brokers.answer()
    assert codes(following) == [ErrorCode.NONE]


def test_a_call_behind_one_in_flight_may_be_abandoned() -> None:
    brokers = Brokers()
    first = brokers.persister.read(KEYS[0], 0)
    second = brokers.persister.read(KEYS[0], 1)

    third = brokers.persister.read(KEYS[0], 2)

    second.abandon()
    assert brokers.asked_about == [[("workers", 0)]]
    brokers.answer(ErrorCode.NOT_COORDINATOR)
    third.abandon()
    assert not brokers.asked
    brokers.advance(1)
    brokers.answer()

    assert codes(first) == [ErrorCode.NONE]
    assert not brokers.asked


def test_an_abandoned_call_is_not_repeated() -> None:
    brokers = Brokers()
    result = brokers.persister.read(KEYS[0], 0)
    brokers.answer(ErrorCode.NOT_COORDINATOR)

    result.abandon()
    brokers.advance(1)

    assert not brokers.asked


def test_all_calls_of_a_coordinator_that_is_loading_are_repeated() -> None:
    brokers = Brokers()
    results = [brokers.persister.read(key, 0) for key in KEYS]
    for _ in range(2):
        brokers.answer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    while any(code is None for code in codes(*results)):
        brokers.advance(1)
        while brokers.asked:
            brokers.answer()

    assert codes(*results) == [ErrorCode.NONE] * 4


def test_each_attempt_waits_twice_as_long_up_to_a_second() -> None:
    brokers = Brokers()
    brokers.persister.read(KEYS[0], 0)

    delays = []
    for _ in range(7):
        brokers.answer(ErrorCode.NOT_COORDINATOR)
        deadline = brokers.timers.next_deadline()
        assert deadline is not None
        delays.append(round(1000 * (deadline - brokers.seconds)))
        brokers.advance(1)

    assert delays == [50, 100, 200, 400, 800, 1000, 1000]


def test_what_waits_is_sent_once_all_requests_in_flight_are_answered() -> None:
    brokers = Brokers()
    groups = [SharePartitionKey(group, ORDERS, 0) for group in ("first", "second")]
    brokers.persister.read(KEYS[0], 0)
    for key in groups:
        brokers.persister.read(key, 0)
    brokers.answer()
    brokers.persister.read(KEYS[1], 0)

    brokers.answer()
    assert brokers.asked_about == [[("second", 0)]]
    brokers.answer()
    assert brokers.asked_about == [[("workers", 1)]]


def test_a_share_partition_that_the_answer_lacks_is_an_error() -> None:
    brokers = Brokers()
    result = brokers.persister.read(KEYS[0], 0)
    _, request, response = brokers.asked.pop()

    response.complete(response_class(ApiKey(request.api_key))())

    assert codes(result) == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_the_topic_is_asked_for_again_until_it_is_there() -> None:
    brokers = Brokers(has_topic=False)
    known = dict(brokers.image.brokers)
    brokers.image.brokers.clear()
    result = brokers.persister.read(KEYS[0], 0)
    assert not brokers.asked

    brokers.image.brokers.update(known)
    for _ in range(2):
        brokers.advance(1)
        _, request, response = brokers.asked.pop()
        assert request.key_type == 2
        response.complete(FindCoordinatorResponse())
    brokers.create_topic()
    brokers.advance(1)
    brokers.answer()

    assert codes(result) == [ErrorCode.NONE]


def test_nothing_is_kept_of_calls_that_are_done() -> None:
    brokers = Brokers()
    brokers.persister.read(KEYS[0], 0)
    brokers.persister.read(KEYS[0], 1)

    brokers.answer()
    brokers.answer()

    assert brokers.persister._queues == {}


def test_a_write_is_about_the_partition_of_its_key() -> None:
    brokers = Brokers()

    brokers.persister.write(KEYS[3], PartitionData(start_offset=1))

    assert brokers.asked_about == [[("workers", 3)]]
