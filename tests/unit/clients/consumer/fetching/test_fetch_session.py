from __future__ import annotations

from uuid import UUID

from pyk.clients.consumer.fetching.fetch_call import FetchTerms, WantedPartition
from pyk.clients.consumer.fetching.fetch_session import FetchSession, rotated
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchRequest, FetchResponse

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
B0 = TopicPartition("b", 0)
TOPIC_ID = UUID(int=7)


def at(offset: int, topic_id: UUID = TOPIC_ID, max_bytes: int = 100) -> WantedPartition:
    return WantedPartition(offset, max_bytes=max_bytes, leader_epoch=4, topic_id=topic_id)


def ask(session: FetchSession, wanted: dict[TopicPartition, WantedPartition]) -> FetchRequest:
    return session.request(wanted, max_wait_ms=500, max_bytes=1000).message()


def asked(request: FetchRequest) -> dict[int, int]:
    return {
        partition.partition: partition.fetch_offset
        for topic in request.topics
        for partition in topic.partitions
    }


def forgotten(request: FetchRequest) -> list[int]:
    return [number for topic in request.forgotten_topics_data for number in topic.partitions]


def opened(session: FetchSession, wanted: dict[TopicPartition, WantedPartition]) -> FetchSession:
    ask(session, wanted)
    session.answered(FetchResponse(session_id=9))
    return session


def test_the_first_request_opens_a_session_with_everything() -> None:
    request = ask(FetchSession(FetchTerms()), {A0: at(5), A1: at(6)})

    assert (request.session_id, request.session_epoch) == (0, 0)
    assert asked(request) == {0: 5, 1: 6}
    assert request.topics[0].topic_id == TOPIC_ID
    assert request.topics[0].partitions[0].current_leader_epoch == 4


def test_later_requests_name_only_changed_partitions() -> None:
    session = opened(FetchSession(FetchTerms()), {A0: at(5), A1: at(6)})

    request = ask(session, {A0: at(5), A1: at(7)})

    assert (request.session_id, request.session_epoch) == (9, 1)
    assert asked(request) == {1: 7}
    assert forgotten(request) == []


def test_a_partition_of_which_more_bytes_are_wanted_is_named() -> None:
    session = opened(FetchSession(FetchTerms()), {A0: at(5)})

    assert asked(ask(session, {A0: at(5, max_bytes=200)})) == {0: 5}


def test_partitions_that_are_not_wanted_are_forgotten() -> None:
    session = opened(FetchSession(FetchTerms()), {A0: at(5), A1: at(6)})

    request = ask(session, {A1: at(6)})

    assert asked(request) == {}
    assert forgotten(request) == [0]


def test_a_broker_without_sessions_gets_all_partitions_each_time() -> None:
    session = FetchSession(FetchTerms())
    ask(session, {A0: at(5)})
    session.answered(FetchResponse(session_id=0))

    request = ask(session, {A0: at(5)})

    assert (request.session_id, request.session_epoch) == (0, 0)
    assert asked(request) == {0: 5}


def test_a_session_that_the_broker_forgot_is_opened_again() -> None:
    session = opened(FetchSession(FetchTerms()), {A0: at(5)})
    ask(session, {A0: at(6)})

    refusal = FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, session_id=9)
    code = session.answered(refusal)

    assert code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    request = ask(session, {A0: at(6)})
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert asked(request) == {0: 6}


def test_an_answer_for_another_session_is_not_trusted() -> None:
    session = opened(FetchSession(FetchTerms()), {A0: at(5)})
    ask(session, {A0: at(5)})

    session.answered(FetchResponse(session_id=10))

    assert ask(session, {A0: at(5)}).session_id == 0


def test_a_topic_that_was_made_again_opens_a_new_session() -> None:
    session = opened(FetchSession(FetchTerms()), {A0: at(5)})

    request = ask(session, {A0: at(0, UUID(int=8))})

    assert request.session_id == 0
    assert forgotten(request) == []


def test_names_are_known_by_topic_id_also_without_a_session() -> None:
    session = FetchSession(FetchTerms())
    ask(session, {A0: at(5)})
    session.answered(FetchResponse(session_id=0))

    assert session.name_of(TOPIC_ID) == "a"
    assert session.name_of(UUID(int=99)) is None
    assert session.uses_topic_ids


def test_a_topic_without_id_needs_versions_with_names() -> None:
    session = FetchSession(FetchTerms())

    ask(session, {A0: at(5), B0: at(5, UUID(int=0))})
    assert not session.uses_topic_ids

    ask(session, {A0: at(5)})
    assert session.uses_topic_ids


def test_each_request_begins_with_another_partition() -> None:
    wanted = {A0: at(5), A1: at(6)}

    assert [next(iter(rotated(wanted, turn))) for turn in range(4)] == [A0, A1, A0, A1]
    assert rotated({}, 3) == {}
