"""Fetch sessions (KIP-227)."""

from __future__ import annotations

from itertools import count

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.handlers.fetch_session import FetchContext, FetchSessions


def new_sessions(slots: int = 10) -> FetchSessions:
    ids = count(1)
    return FetchSessions(slots, lambda: next(ids))


def request(
    session_id: int = 0,
    epoch: int = 0,
    *partitions: int,
    forget: tuple[int, ...] = (),
    offset: int = 0,
) -> FetchRequest:
    asked = [FetchPartition(partition=number, fetch_offset=offset) for number in partitions]
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic="t", partitions=asked)] if asked else [],
        forgotten_topics_data=[ForgottenTopic(topic="t", partitions=list(forget))],
    )


def begin(sessions: FetchSessions, asked: FetchRequest, now: float = 0) -> FetchContext:
    return sessions.begin(asked, uses_topic_ids=False, now=now)


def numbers(context: FetchContext) -> list[int]:
    return [fetched.asked.partition for fetched in context.partitions]


def answer(context: FetchContext, **data: object) -> list[int]:
    """Give every partition the same data; return the numbers of those in the response."""
    read = [
        (fetched, PartitionData(partition_index=fetched.asked.partition, **data))  # type: ignore[arg-type]
        for fetched in context.partitions
    ]
    return [fetched.asked.partition for fetched, _ in context.select(read)]


def refused(sessions: FetchSessions, asked: FetchRequest) -> ErrorCode:
    with pytest.raises(ApiError) as error:
        begin(sessions, asked)
    return error.value.code


def test_a_fetch_of_the_final_epoch_has_no_session() -> None:
    sessions = new_sessions()

    context = begin(sessions, request(0, -1, 0, 1))

    assert context.session_id == 0
    assert numbers(context) == [0, 1]
    assert len(sessions) == 0


def test_a_session_remembers_its_partitions() -> None:
    sessions = new_sessions()
    opened = begin(sessions, request(0, 0, 0, 1))

    context = begin(sessions, request(opened.session_id, 1))

    assert numbers(context) == [0, 1]
    assert context.is_incremental


def test_a_fetch_session_changes_by_the_partitions_that_a_request_names() -> None:
    sessions = new_sessions()
    session_id = begin(sessions, request(0, 0, 0, 1)).session_id

    context = begin(sessions, request(session_id, 1, 1, 2, forget=(0,), offset=9))

    assert numbers(context) == [1, 2]
    assert [fetched.asked.fetch_offset for fetched in context.partitions] == [9, 9]


def test_an_incremental_response_holds_only_news() -> None:
    sessions = new_sessions()
    opened = begin(sessions, request(0, 0, 0, 1))
    assert answer(opened, high_watermark=5) == [0, 1]

    second = begin(sessions, request(opened.session_id, 1))
    assert answer(second, high_watermark=5) == []
    third = begin(sessions, request(opened.session_id, 2))

    assert answer(third, high_watermark=6) == [0, 1]


def test_an_error_is_news_and_so_is_its_end() -> None:
    sessions = new_sessions()
    opened = begin(sessions, request(0, 0, 0))
    answer(opened, high_watermark=5)

    failed = begin(sessions, request(opened.session_id, 1))
    assert answer(failed, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, high_watermark=-1) == [0]
    recovered = begin(sessions, request(opened.session_id, 2))

    assert answer(recovered, high_watermark=5) == [0]


def test_a_partition_that_was_read_comes_last_next_time() -> None:
    sessions = new_sessions()
    opened = begin(sessions, request(0, 0, 0, 1, 2))
    data = [PartitionData(partition_index=n, records=b"x" if n == 0 else b"") for n in range(3)]
    opened.select(list(zip(opened.partitions, data, strict=True)))

    context = begin(sessions, request(opened.session_id, 1))

    assert numbers(context) == [1, 2, 0]


def test_a_session_with_a_wrong_epoch_or_an_unknown_id_is_refused() -> None:
    sessions = new_sessions()
    session_id = begin(sessions, request(0, 0, 0)).session_id

    assert refused(sessions, request(session_id, 2)) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert refused(sessions, request(99, 1)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_does_not_change_from_names_to_ids() -> None:
    sessions = new_sessions()
    session_id = begin(sessions, request(0, 0, 0)).session_id

    with pytest.raises(ApiError) as error:
        sessions.begin(request(session_id, 1), uses_topic_ids=True, now=0)

    assert error.value.code is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_without_partitions_ends() -> None:
    sessions = new_sessions()
    session_id = begin(sessions, request(0, 0, 0)).session_id

    context = begin(sessions, request(session_id, 1, forget=(0,)))

    assert context.session_id == 0
    assert len(sessions) == 0


def test_a_full_fetch_closes_the_session_it_names() -> None:
    sessions = new_sessions()
    session_id = begin(sessions, request(0, 0, 0)).session_id

    begin(sessions, request(session_id, -1, 0))

    assert len(sessions) == 0


def test_epochs_begin_again_after_the_last() -> None:
    sessions = new_sessions()
    opened = begin(sessions, request(0, 0, 0))
    assert opened.session is not None
    opened.session.epoch = 2**31 - 1

    begin(sessions, request(opened.session_id, 2**31 - 1))
    context = begin(sessions, request(opened.session_id, 1))

    assert context.is_incremental


def test_a_full_cache_gives_no_session_until_one_is_stale() -> None:
    sessions = new_sessions(slots=1)
    first = begin(sessions, request(0, 0, 0), now=0)

    assert begin(sessions, request(0, 0, 0, 1), now=120).session_id == 0
    second = begin(sessions, request(0, 0, 0), now=121)

    assert second.session_id not in (0, first.session_id)
    assert len(sessions) == 1


def test_a_larger_session_takes_the_place_of_an_old_smaller_one() -> None:
    sessions = new_sessions(slots=1)
    small = begin(sessions, request(0, 0, 0), now=0)
    begin(sessions, request(small.session_id, 1), now=100)

    assert begin(sessions, request(0, 0, 0), now=130).session_id == 0
    assert begin(sessions, request(0, 0, 0, 1), now=130).session_id != 0
    assert len(sessions) == 1


def test_a_log_that_begins_later_is_news() -> None:
    sessions = new_sessions()
    first = begin(sessions, request(0, 0, 1, 2))
    answer(first, high_watermark=5, log_start_offset=0)

    same = begin(sessions, request(first.session_id, 1))
    assert answer(same, high_watermark=5, log_start_offset=0) == []
    later = begin(sessions, request(first.session_id, 2))

    assert answer(later, high_watermark=5, log_start_offset=3) == [1, 2]


def test_a_partition_is_news_once_its_error_is_over() -> None:
    sessions = new_sessions()
    first = begin(sessions, request(0, 0, 1))
    failed = {"high_watermark": 5, "error_code": ErrorCode.KAFKA_STORAGE_ERROR}
    answer(first, **failed)

    recovered = begin(sessions, request(first.session_id, 1))

    assert answer(recovered, high_watermark=5) == [1]


def test_records_below_the_last_high_watermark_are_also_sent() -> None:
    sessions = new_sessions()
    opened = begin(sessions, request(0, 0, 0))
    answer(opened, high_watermark=5, records=b"first half")

    context = begin(sessions, request(opened.session_id, 1))

    assert answer(context, high_watermark=5, records=b"second half") == [0]


def test_an_error_that_lasts_is_in_every_response() -> None:
    sessions = new_sessions()
    opened = begin(sessions, request(0, 0, 0))
    failed = {"high_watermark": -1, "error_code": ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert answer(opened, **failed) == [0]

    context = begin(sessions, request(opened.session_id, 1))

    assert answer(context, **failed) == [0]


def test_a_log_that_diverged_is_news() -> None:
    sessions = new_sessions()
    opened = begin(sessions, request(0, 0, 0))
    answer(opened, high_watermark=5)

    context = begin(sessions, request(opened.session_id, 1))

    diverged = EpochEndOffset(epoch=3, end_offset=2)
    assert answer(context, high_watermark=5, diverging_epoch=diverged) == [0]


def test_a_full_response_holds_every_partition() -> None:
    opened = begin(new_sessions(), request(0, 0, 0, 1))

    assert answer(opened, high_watermark=-1, log_start_offset=-1) == [0, 1]


def test_a_partition_that_is_forgotten_while_it_is_read_stays_forgotten() -> None:
    sessions = new_sessions()
    reading = begin(sessions, request(0, 0, 0, 1))

    begin(sessions, request(reading.session_id, 1, forget=(0,)))
    assert answer(reading, records=b"x") == [0, 1]

    assert numbers(begin(sessions, request(reading.session_id, 2))) == [1]


def test_the_session_that_was_not_used_for_longest_makes_room() -> None:
    sessions = new_sessions(slots=2)
    used = begin(sessions, request(0, 0, 0), now=0)
    unused = begin(sessions, request(0, 0, 0), now=1)
    begin(sessions, request(used.session_id, 1), now=100)

    assert begin(sessions, request(0, 0, 0), now=130).session_id != 0

    assert refused(sessions, request(unused.session_id, 1)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert begin(sessions, request(used.session_id, 2), now=130).is_incremental


def test_a_fetch_of_nothing_opens_no_session() -> None:
    sessions = new_sessions()

    assert begin(sessions, request(0, 0)).session_id == 0
    assert len(sessions) == 0


def test_without_slots_there_are_no_sessions() -> None:
    assert begin(new_sessions(slots=0), request(0, 0, 0)).session_id == 0


def test_a_session_gets_an_unused_id_that_is_not_zero() -> None:
    ids = iter((0, 5, 0, 5, 6))
    sessions = FetchSessions(10, lambda: next(ids))

    assert [begin(sessions, request(0, 0, 0)).session_id for _ in range(2)] == [5, 6]
