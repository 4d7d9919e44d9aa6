"""What a broker tells the controller about its log directories, and when it tells that again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)
from pyk.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from pyk.protocol.schema import Message
from pyk.reference_broker.controller.topics import Charge, uncharged
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.directory_reports import MAX_ASSIGNMENTS, RETRY_MS, DirectoryReports
from pyk.reference_broker.security.principal import ANONYMOUS, Principal
from pyk.runtime.timers import Moment, TimerQueue

NODE_ID, EPOCH = 3, 7
ORDERS, BILLS = UUID(int=1), UUID(int=2)
A, B = UUID(int=0xA), UUID(int=0xB)

Located = set[tuple[UUID, int, UUID]]


class Controller:
    """A controller that answers when a test wants it to."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self._answer: Deferred[Any] = Deferred()

    def send(
        self, request: Message, charge: Charge = uncharged, *, requester: Principal = ANONYMOUS
    ) -> Deferred[Any]:
        self.requests.append(request)
        self._answer = Deferred()
        return self._answer

    def answer(self, error_code: ErrorCode = ErrorCode.NONE, *, noted: int | None = None) -> None:
        """Answer the last request; each replica with this error, except the one that is noted."""
        request = self.requests[-1]
        if isinstance(request, BrokerHeartbeatRequest):
            self._answer.complete(BrokerHeartbeatResponse(error_code=error_code))
        else:
            self._answer.complete(answer_for(request, error_code, noted))

    def refuse(self, error_code: ErrorCode) -> None:
        """Answer the last request about replicas with an error of the whole request."""
        self._answer.complete(AssignReplicasToDirsResponse(error_code=error_code))


def answer_for(
    request: AssignReplicasToDirsRequest, error_code: ErrorCode, noted: int | None
) -> AssignReplicasToDirsResponse:
    return AssignReplicasToDirsResponse(
        directories=[
            ResponseDirectoryData(
                id=directory.id,
                topics=[
                    ResponseTopicData(
                        topic_id=topic.topic_id,
                        partitions=[
                            ResponsePartitionData(
                                partition_index=each.partition_index,
                                error_code=0 if each.partition_index == noted else error_code,
                            )
                            for each in topic.partitions
                        ],
                    )
                    for topic in directory.topics
                ],
            )
            for directory in request.directories
        ]
    )


def located_in(request: Any) -> Located:
    """Return the replicas that a request names, each with its directory."""
    assert isinstance(request, AssignReplicasToDirsRequest)
    return {
        (topic.topic_id, each.partition_index, directory.id)
        for directory in request.directories
        for topic in directory.topics
        for each in topic.partitions
    }


class Reporting:
    """Reports in virtual time, of a broker that has registered unless a test says otherwise."""

    def __init__(self, *, is_registered: bool = True) -> None:
        self.now = 0.0
        self.timers = TimerQueue(lambda _: None)
        self.reports = DirectoryReports(NODE_ID, self.timers, lambda: Moment(self.now, 0))
        self.controller = Controller()
        if is_registered:
            self.register()

    def register(self) -> None:
        self.reports.begin(self.controller, EPOCH)

    def wait(self, milliseconds: int = 0) -> None:
        """Let time pass, at least to the loop's next turn."""
        self.now += milliseconds / 1000
        self.timers.advance(self.now)

    @property
    def requests(self) -> list[Any]:
        return self.controller.requests


def test_nothing_is_told_before_the_broker_has_registered() -> None:
    reporting = Reporting(is_registered=False)
    reporting.reports.located(ORDERS, 0, A)
    reporting.wait(RETRY_MS)
    assert reporting.requests == []

    reporting.register()
    reporting.wait()

    (request,) = reporting.requests
    assert (request.broker_id, request.broker_epoch) == (NODE_ID, EPOCH)
    assert located_in(request) == {(ORDERS, 0, A)}


def test_nothing_is_told_where_nothing_is_new() -> None:
    reporting = Reporting()

    reporting.wait(RETRY_MS)

    assert reporting.requests == []


def test_all_replicas_of_a_turn_are_told_in_one_request_with_each_directory_once() -> None:
    reporting = Reporting()
    told = {(ORDERS, 0, A), (ORDERS, 1, B), (BILLS, 0, A), (ORDERS, 2, A)}
    for topic_id, number, directory in sorted(told):
        reporting.reports.located(topic_id, number, directory)

    reporting.wait()

    (request,) = reporting.requests
    assert located_in(request) == told
    assert [(each.id, len(each.topics)) for each in request.directories] == [(A, 2), (B, 1)]


def test_what_the_controller_has_noted_is_not_told_again() -> None:
    reporting = Reporting()
    reporting.reports.located(ORDERS, 0, A)
    reporting.wait()
    reporting.controller.answer()

    reporting.wait(RETRY_MS)

    assert len(reporting.requests) == 1


def test_one_request_is_under_way_at_a_time() -> None:
    reporting = Reporting()
    reporting.reports.located(ORDERS, 0, A)
    reporting.wait()
    reporting.reports.located(ORDERS, 1, B)
    reporting.wait(RETRY_MS)
    assert len(reporting.requests) == 1

    reporting.controller.answer()
    reporting.wait()

    assert located_in(reporting.requests[1]) == {(ORDERS, 1, B)}


def test_a_replica_that_moves_while_its_place_is_told_is_told_again() -> None:
    reporting = Reporting()
    reporting.reports.located(ORDERS, 0, A)
    reporting.wait()
    reporting.reports.located(ORDERS, 0, B)

    reporting.controller.answer()
    reporting.wait()

    assert located_in(reporting.requests[1]) == {(ORDERS, 0, B)}


@pytest.mark.parametrize(
    "error_code",
    [
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ],
)
def test_a_replica_that_was_deleted_is_not_told_again(error_code: ErrorCode) -> None:
    reporting = Reporting()
    reporting.reports.located(ORDERS, 0, A)
    reporting.wait()

    reporting.controller.answer(error_code)
    reporting.wait(RETRY_MS)

    assert len(reporting.requests) == 1


def test_a_request_that_is_refused_is_sent_again_after_a_while() -> None:
    reporting = Reporting()
    reporting.reports.located(ORDERS, 0, A)
    reporting.wait()
    reporting.controller.refuse(ErrorCode.NOT_CONTROLLER)

    reporting.wait(RETRY_MS - 1)
    assert len(reporting.requests) == 1
    reporting.wait(1)

    assert located_in(reporting.requests[1]) == {(ORDERS, 0, A)}


def test_a_replica_that_the_controller_could_not_note_is_told_again_after_a_while() -> None:
    reporting = Reporting()
    reporting.reports.located(ORDERS, 0, A)
    reporting.reports.located(ORDERS, 1, A)
    reporting.wait()
    reporting.controller.answer(ErrorCode.UNKNOWN_SERVER_ERROR, noted=1)

    reporting.wait(RETRY_MS - 1)
    assert len(reporting.requests) == 1
    reporting.wait(1)

    assert located_in(reporting.requests[1]) == {(ORDERS, 0, A)}


def test_replicas_are_not_told_again_where_the_metadata_have_no_room_for_directories() -> None:
    reporting = Reporting()
    reporting.reports.located(ORDERS, 0, A)
    reporting.wait()

    reporting.controller.refuse(ErrorCode.UNSUPPORTED_VERSION)
    reporting.wait(RETRY_MS)

    assert len(reporting.requests) == 1


def test_more_replicas_than_one_request_may_have_follow_at_once() -> None:
    reporting = Reporting()
    for number in range(MAX_ASSIGNMENTS + 1):
        reporting.reports.located(ORDERS, number, A)
    reporting.wait()
    assert len(located_in(reporting.requests[0])) == MAX_ASSIGNMENTS

    reporting.controller.answer()
    reporting.wait()

    assert located_in(reporting.requests[1]) == {(ORDERS, MAX_ASSIGNMENTS, A)}


def test_a_failed_directory_is_told_before_the_places_of_replicas() -> None:
    reporting = Reporting()
    reporting.reports.located(ORDERS, 0, A)
    reporting.reports.failed(B)
    reporting.wait()

    (heartbeat,) = reporting.requests
    assert isinstance(heartbeat, BrokerHeartbeatRequest)
    assert (heartbeat.broker_id, heartbeat.broker_epoch) == (NODE_ID, EPOCH)
    assert (heartbeat.offline_log_dirs, heartbeat.cordoned_log_dirs) == ([B], [])
    reporting.controller.answer()
    reporting.wait()
    assert located_in(reporting.requests[1]) == {(ORDERS, 0, A)}


def test_a_failed_directory_is_told_until_the_controller_knows() -> None:
    reporting = Reporting()
    reporting.reports.failed(A)
    reporting.wait()
    reporting.controller.answer(ErrorCode.NOT_CONTROLLER)
    reporting.wait(RETRY_MS - 1)
    assert len(reporting.requests) == 1

    reporting.wait(1)
    reporting.controller.answer()
    reporting.wait(RETRY_MS)

    assert [each.offline_log_dirs for each in reporting.requests] == [[A], [A]]


def test_a_directory_that_fails_while_another_is_told_is_told_at_once_after_it() -> None:
    reporting = Reporting()
    reporting.reports.failed(A)
    reporting.wait()
    reporting.reports.failed(B)

    reporting.controller.answer()
    reporting.wait()

    assert [each.offline_log_dirs for each in reporting.requests] == [[A], [A, B]]


def test_cordoned_directories_are_told_when_they_change() -> None:
    reporting = Reporting()
    reporting.reports.cordoned(frozenset())
    reporting.wait()
    assert reporting.requests == []

    for cordoned in (frozenset([B, A]), frozenset([B, A]), frozenset([A])):
        reporting.reports.cordoned(cordoned)
        reporting.wait()
        reporting.controller.answer()

    assert [each.cordoned_log_dirs for each in reporting.requests] == [[A, B], [A]]


def test_directories_that_are_cordoned_while_others_are_told_are_told_at_once_after_them() -> None:
    reporting = Reporting()
    reporting.reports.cordoned(frozenset([A]))
    reporting.wait()
    reporting.reports.cordoned(frozenset([A, B]))

    reporting.controller.answer()
    reporting.wait()

    assert [each.cordoned_log_dirs for each in reporting.requests] == [[A], [A, B]]
