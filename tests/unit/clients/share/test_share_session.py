from __future__ import annotations

from uuid import UUID

from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.share.acknowledgements import Acknowledgements
from pyk.clients.share.share_session import LAST_EPOCH, FetchTerms, ShareSession
from pyk.protocol.errors import ErrorCode

A0, A1 = (TopicIdPartition(UUID(int=1), "a", number) for number in (0, 1))
B0 = TopicIdPartition(UUID(int=2), "b", 0)
OK = ErrorCode.NONE


def new_session(**terms: int) -> ShareSession:
    return ShareSession("g", "me", FetchTerms(**terms))


def open_session() -> ShareSession:
    session = new_session()
    session.fetch([A0, A1], {}, 500, 500)
    session.answered(OK)
    return session


def test_the_first_request_opens_a_session_with_all_partitions() -> None:
    session = new_session(min_bytes=1, max_bytes=7, limits_records=True)

    request = session.fetch([A0, A1, B0], {}, 500, 10)

    assert (request.group_id, request.member_id) == ("g", "me")
    assert (request.share_session_epoch, request.max_wait_ms) == (0, 500)
    assert (request.max_records, request.batch_size, request.max_bytes) == (10, 10, 7)
    assert request.share_acquire_mode == 1
    assert [
        (topic.topic_id.int, [one.partition_index for one in topic.partitions])
        for topic in request.topics
    ] == [(1, [0, 1]), (2, [0])]
    assert not session.is_open


def test_later_requests_name_what_changed_and_count_up() -> None:
    session = open_session()

    same = session.fetch([A0, A1], {}, 0, 500)
    session.answered(OK)
    other = session.fetch([A1, B0], {}, 0, 500)

    assert (same.share_session_epoch, same.topics, same.forgotten_topics_data) == (1, [], [])
    assert other.share_session_epoch == 2
    assert [topic.topic_id for topic in other.topics] == [B0.topic_id]
    assert [(one.topic_id, one.partitions) for one in other.forgotten_topics_data] == [
        (A0.topic_id, [0])
    ]


def test_epochs_begin_again_after_the_last_one_that_fits_into_a_request() -> None:
    assert LAST_EPOCH == 2_147_483_647


def test_acknowledgements_go_with_a_fetch_or_alone() -> None:
    session = open_session()
    some = {A1: Acknowledgements([(3, 5, 1), (6, 6, 3)])}

    fetch = session.fetch([A0, A1], some, 0, 500)
    session.answered(OK)
    alone = session.acknowledge(some)

    for request in (fetch, alone):
        ((partition,),) = (topic.partitions for topic in request.topics)
        assert partition.partition_index == 1
        assert [
            (one.first_offset, one.last_offset, one.acknowledge_types)
            for one in partition.acknowledgement_batches
        ] == [(3, 5, [1]), (6, 6, [3])]
    assert (alone.share_session_epoch, alone.is_renew_ack) == (2, False)
    assert session.acknowledge({A0: Acknowledgements([(0, 0, 4)])}).is_renew_ack


def test_the_last_request_ends_the_session() -> None:
    assert open_session().acknowledge({}, ends=True).share_session_epoch == -1


def test_a_lost_session_is_opened_again_with_everything() -> None:
    for code in (
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    ):
        session = open_session()
        session.answered(code)
        request = session.fetch([A0, A1], {}, 500, 500)

        assert request.share_session_epoch == 0
        assert len(request.topics[0].partitions) == 2


def test_other_errors_do_not_end_a_session_and_do_not_open_one() -> None:
    session = open_session()
    session.answered(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert session.acknowledge({}).share_session_epoch == 2

    never = new_session()
    never.answered(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert not never.is_open


def test_epochs_begin_again_after_the_last() -> None:
    session = open_session()
    session._epoch = LAST_EPOCH
    session.answered(OK)

    assert session.acknowledge({}).share_session_epoch == 1


def test_a_session_may_exist_from_its_first_request_until_the_leader_denies_it() -> None:
    session = new_session()
    assert not session.may_exist
    assert not session.is_open

    session.fetch([A0], {}, 0, 500)
    assert session.may_exist
    assert not session.is_open
    session.answered(OK)
    assert session.is_open

    session.reset()
    assert session.may_exist
    assert not session.is_open
    session.answered(ErrorCode.SHARE_SESSION_NOT_FOUND)
    assert not session.may_exist


def test_acknowledgements_of_all_partitions_of_a_topic_go_in_one_request() -> None:
    session = open_session()
    said = {one: Acknowledgements([(0, 4, 1), (5, 5, 2)]) for one in (B0, A1, A0)}

    request = session.acknowledge(said)

    assert [
        (topic.topic_id.int, [one.partition_index for one in topic.partitions])
        for topic in request.topics
    ] == [(1, [0, 1]), (2, [0])]
    batches = [
        (one.first_offset, one.last_offset, one.acknowledge_types)
        for one in request.topics[0].partitions[0].acknowledgement_batches
    ]
    assert batches == [(0, 4, [1]), (5, 5, [2])]


def test_fetch_terms_are_those_of_kafka_by_default() -> None:
    request = new_session().fetch([A0], {}, 500, 500)

    assert (request.min_bytes, request.max_bytes) == (1, 52_428_800)
    assert request.share_acquire_mode == 0


def test_a_request_says_that_it_renews_whatever_else_it_acknowledges() -> None:
    accepted, renewed = Acknowledgements([(0, 4, 1)]), Acknowledgements([(0, 4, 4)])

    assert open_session().acknowledge({A0: accepted, A1: renewed}).is_renew_ack
    assert not open_session().acknowledge({A0: accepted, A1: accepted}).is_renew_ack
