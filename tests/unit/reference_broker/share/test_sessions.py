"""Share sessions: epochs, what they read, and in which order."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.share.sessions import (
    FINAL_EPOCH,
    MAX_EPOCH,
    PartitionOfTopic,
    SessionName,
    ShareContext,
    ShareSessions,
)

A = SessionName("workers", "a")
B = SessionName("workers", "b")
P0, P1, P2 = (PartitionOfTopic(UUID(int=1), number) for number in range(3))


def begin(
    sessions: ShareSessions,
    epoch: int,
    *named: PartitionOfTopic,
    name: SessionName = A,
    forgotten: tuple[PartitionOfTopic, ...] = (),
    connection_id: int | None = None,
) -> ShareContext:
    return sessions.begin(
        name,
        epoch,
        named=named,
        forgotten=forgotten,
        acknowledges=False,
        connection_id=connection_id,
    )


def read(what: ShareContext, epoch: int = 0) -> list[int]:
    return [each.name.number for each in what.in_order(epoch)]


def test_a_session_remembers_its_partitions() -> None:
    sessions = ShareSessions(10)

    assert read(begin(sessions, 0, P0)) == [0]
    assert read(begin(sessions, 1, P1)) == [0, 1]
    assert read(begin(sessions, 2, forgotten=(P0,))) == [1]


def test_each_request_begins_with_another_partition() -> None:
    sessions = ShareSessions(10)
    begin(sessions, 0, P0, P1, P2)

    orders = [read(begin(sessions, epoch), epoch) for epoch in (1, 2, 3)]

    assert orders == [[1, 2, 0], [2, 0, 1], [0, 1, 2]]


def test_a_partition_that_was_read_comes_last() -> None:
    sessions = ShareSessions(10)
    begin(sessions, 0, P0, P1)
    what = begin(sessions, 1)

    assert what.must_have(what.partitions[0], has_records=True, has_error=False)

    assert read(begin(sessions, 2)) == [1, 0]


def test_what_the_first_request_reads_keeps_its_turn() -> None:
    sessions = ShareSessions(10)
    what = begin(sessions, 0, P0, P1)

    what.must_have(what.partitions[0], has_records=True, has_error=False)

    assert read(begin(sessions, 1)) == [0, 1]


def test_a_partition_that_was_forgotten_meanwhile_does_not_come_back() -> None:
    sessions = ShareSessions(10)
    begin(sessions, 0, P0, P1)
    waiting = begin(sessions, 1)
    begin(sessions, 2, forgotten=(P0,))

    waiting.must_have(waiting.partitions[0], has_records=True, has_error=False)

    assert read(begin(sessions, 3)) == [1]


def test_only_news_are_told_after_the_first_request() -> None:
    sessions = ShareSessions(10)
    first = begin(sessions, 0, P0)
    assert first.must_have(first.partitions[0], has_records=False, has_error=False)

    what = begin(sessions, 1, P1)
    told = [what.must_have(each, has_records=False, has_error=False) for each in what.partitions]
    assert told == [False, True]
    failed = begin(sessions, 2)
    assert failed.must_have(failed.partitions[0], has_records=False, has_error=True)
    healed = begin(sessions, 3)
    assert healed.must_have(healed.partitions[0], has_records=False, has_error=False)


def test_the_first_request_acknowledges_nothing() -> None:
    sessions = ShareSessions(10)

    with pytest.raises(ApiError) as refused:
        sessions.begin(A, 0, named=[P0], forgotten=[], acknowledges=True)

    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert len(sessions) == 0


def test_epochs_begin_again_after_the_highest() -> None:
    sessions = ShareSessions(10)
    what = begin(sessions, 0, P0)
    assert what.session is not None
    what.session.epoch = MAX_EPOCH

    begin(sessions, MAX_EPOCH)

    assert what.session.epoch == 1


def test_a_first_request_replaces_the_session_and_a_limit_refuses_others() -> None:
    sessions = ShareSessions(1)
    begin(sessions, 0, P0)

    assert read(begin(sessions, 0, P1)) == [1]
    with pytest.raises(ApiError) as refused:
        begin(sessions, 0, P0, name=B)
    assert refused.value.code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert sessions.close(A)
    assert not sessions.close(A)
    begin(sessions, 0, P0, name=B)


def test_the_final_request_needs_a_session_and_reads_nothing() -> None:
    sessions = ShareSessions(1)

    with pytest.raises(ApiError):
        begin(sessions, FINAL_EPOCH)
    begin(sessions, 0, P0)
    assert read(begin(sessions, FINAL_EPOCH)) == []


def test_the_sessions_of_a_connection_are_known() -> None:
    sessions = ShareSessions(10)
    begin(sessions, 0, P0, connection_id=1)
    begin(sessions, 0, P0, name=B, connection_id=2)

    assert sessions.of_connection(2) == [B]
    begin(sessions, 0, P0, name=SessionName("others too", "c"))
    assert sessions.has_group("workers")
    assert not sessions.has_group("others")


def test_acknowledgements_count_as_requests_of_a_session_and_never_open_one() -> None:
    sessions = ShareSessions(10)
    with pytest.raises(ApiError) as refusal:
        sessions.acknowledge(A, 0)
    assert refusal.value.code is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    for epoch in (1, FINAL_EPOCH):
        with pytest.raises(ApiError) as refusal:
            sessions.acknowledge(A, epoch)
        assert refusal.value.code is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert len(sessions) == 0

    begin(sessions, 0, P0)
    sessions.acknowledge(A, 1)
    sessions.acknowledge(A, FINAL_EPOCH)
    with pytest.raises(ApiError) as refusal:
        sessions.acknowledge(A, 1)
    assert refusal.value.code is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert read(begin(sessions, 2)) == [0]
    assert len(sessions) == 1


def test_a_session_of_no_partitions_reads_none() -> None:
    sessions = ShareSessions(10)
    begin(sessions, 0, P0)

    assert read(begin(sessions, 1, forgotten=(P0,)), 1) == []
