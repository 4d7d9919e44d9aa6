"""Sending markers: each leader on its own, until they are written, and no longer than asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.coordinator.transaction.markers import MarkersToWrite
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.marker_sender import RETRY_MS, MarkerSender
from pyk.runtime.timers import Moment, TimerQueue

ORDERS, BILLS, GONE = (TopicPartition(name, 0) for name in ("orders", "bills", "gone"))
NOBODY = -1


class Leaders:
    """The leaders of two partitions, which answer when the test says so."""

    def __init__(self) -> None:
        self.leader_of = {ORDERS: 1, BILLS: 2}
        self.asked: list[tuple[int, list[TopicPartition], Deferred[Any]]] = []
        self.seconds = 0.0
        self.timers = TimerQueue(lambda _: None)
        image = SimpleNamespace(brokers={1, 2}, partition=self._partition)
        environment: Any = SimpleNamespace(
            channels=self, image=image, timers=self.timers, moment=self._moment
        )
        self.sender = MarkerSender(environment)

    def _partition(self, name: TopicPartition) -> Any:
        leader = self.leader_of.get(name)
        return None if leader is None else SimpleNamespace(leader=leader)

    def _moment(self) -> Moment:
        return Moment(self.seconds, 0)

    def send(self, node_id: int, request: Any) -> Deferred[Any]:
        (marker,) = request.markers
        names = [TopicPartition(t.name, n) for t in marker.topics for n in t.partition_indexes]
        response: Deferred[Any] = Deferred()
        self.asked.append((node_id, names, response))
        return response

    def write(self, *partitions: TopicPartition) -> Deferred[ErrorCode]:
        return self.sender.write(
            MarkersToWrite(
                transactional_id="payments",
                producer_id=7,
                producer_epoch=3,
                coordinator_epoch=5,
                commit=True,
                partitions=frozenset(partitions),
                transaction_version=2,
            )
        )

    def answer(self, node_id: int, code: ErrorCode = ErrorCode.NONE) -> None:
        """Answer the oldest request to a node, with the same code for all partitions."""
        asked = next(each for each in self.asked if each[0] == node_id)
        self.asked.remove(asked)
        topics = [
            WritableTxnMarkerTopicResult(
                name=name.topic,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=name.partition, error_code=code
                    )
                ],
            )
            for name in asked[1]
        ]
        result = WritableTxnMarkerResult(producer_id=7, topics=topics)
        asked[2].complete(WriteTxnMarkersResponse(markers=[result]))

    def wait(self) -> None:
        """Let the time pass after which leaders are asked again."""
        self.seconds += RETRY_MS / 1000
        self.timers.advance(self.seconds)

    @property
    def nodes(self) -> list[int]:
        return [node_id for node_id, _, _ in self.asked]


def outcome(result: Deferred[ErrorCode]) -> ErrorCode | None:
    found: list[ErrorCode] = []
    result.when_done(found.append)
    return found[0] if found else None


def test_markers_are_written_when_all_leaders_have_answered() -> None:
    leaders = Leaders()
    result = leaders.write(ORDERS, BILLS, GONE)

    leaders.answer(1)
    assert outcome(result) is None
    leaders.answer(2)

    assert outcome(result) is ErrorCode.NONE
    assert leaders.timers.next_deadline() is None


def test_all_leaders_that_could_not_write_are_asked_again() -> None:
    leaders = Leaders()
    first, second = leaders.write(ORDERS, BILLS), leaders.write(BILLS)
    for node_id in (1, 2, 2):
        leaders.answer(node_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    leaders.wait()

    assert sorted(leaders.nodes) == [1, 2, 2]
    for node_id in (1, 2, 2):
        leaders.answer(node_id)
    assert outcome(first) is outcome(second) is ErrorCode.NONE


def test_without_partitions_there_is_nothing_to_write() -> None:
    assert outcome(Leaders().write()) is ErrorCode.NONE
    assert outcome(Leaders().write(GONE)) is ErrorCode.NONE


def test_a_silent_leader_does_not_hold_the_others_up() -> None:
    leaders = Leaders()
    leaders.write(ORDERS, BILLS)

    leaders.answer(2, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    leaders.leader_of[BILLS] = 1
    leaders.wait()

    assert [(node_id, names) for node_id, names, _ in leaders.asked] == [
        (1, [ORDERS]),
        (1, [BILLS]),
    ]


def test_a_partition_without_leader_is_looked_at_until_it_has_one() -> None:
    leaders = Leaders()
    leaders.leader_of[BILLS] = NOBODY
    result = leaders.write(BILLS)
    for _ in range(3):
        leaders.wait()
    assert not leaders.asked

    leaders.leader_of[BILLS] = 2
    leaders.wait()
    leaders.answer(2)

    assert outcome(result) is ErrorCode.NONE


def test_a_fenced_coordinator_gives_up() -> None:
    leaders = Leaders()
    result = leaders.write(ORDERS, BILLS)
    leaders.answer(2, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    leaders.answer(1, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
    leaders.wait()

    assert outcome(result) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert not leaders.asked


def test_the_markers_of_a_fenced_coordinator_are_not_written() -> None:
    leaders = Leaders()
    result = leaders.write(ORDERS)

    leaders.answer(1, ErrorCode.INVALID_PRODUCER_EPOCH)

    assert outcome(result) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert leaders.timers.next_deadline() is None


def test_nobody_is_asked_for_a_shard_that_was_unloaded() -> None:
    leaders = Leaders()
    result = leaders.write(ORDERS, BILLS)
    leaders.answer(1, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    result.abandon()
    leaders.answer(2, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    leaders.wait()

    assert leaders.nodes == []
    assert leaders.timers.next_deadline() is None
