from __future__ import annotations

import pytest

from pyk.clients.consumer.commits.commits import (
    AutoCommit,
    CommitErrorAction,
    Finished,
    UnstableOffsets,
    action_after,
    commit_error,
    worst,
)
from pyk.clients.errors import CommitFailedError, MalformedResponseError, error_for
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def test_the_worst_error_is_the_one_that_asking_again_does_not_cure() -> None:
    errors = [
        error_for(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        error_for(ErrorCode.OFFSET_METADATA_TOO_LARGE),
        error_for(ErrorCode.REBALANCE_IN_PROGRESS),
    ]

    assert worst(errors) is errors[1]
    assert worst([]) is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, CommitErrorAction.RETRY),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, CommitErrorAction.RETRY),
        (ErrorCode.UNSTABLE_OFFSET_COMMIT, CommitErrorAction.RETRY),
        (ErrorCode.NOT_COORDINATOR, CommitErrorAction.FIND_COORDINATOR),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, CommitErrorAction.FIND_COORDINATOR),
        (ErrorCode.REBALANCE_IN_PROGRESS, CommitErrorAction.REJOIN),
        (ErrorCode.ILLEGAL_GENERATION, CommitErrorAction.REJOIN),
        (ErrorCode.UNKNOWN_MEMBER_ID, CommitErrorAction.REJOIN),
        (ErrorCode.STALE_MEMBER_EPOCH, CommitErrorAction.REJOIN),
        (ErrorCode.FENCED_INSTANCE_ID, CommitErrorAction.GIVE_UP),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, CommitErrorAction.GIVE_UP),
        (ErrorCode.OFFSET_METADATA_TOO_LARGE, CommitErrorAction.GIVE_UP),
        (ErrorCode(31_000), CommitErrorAction.GIVE_UP),
    ],
)
def test_every_error_has_an_action(code: ErrorCode, expected: CommitErrorAction) -> None:
    assert action_after(error_for(code)) is expected


def test_items_that_a_response_left_out_are_requested_again() -> None:
    assert action_after(MalformedResponseError("node 1 left out a-0")) is CommitErrorAction.RETRY


def test_a_commit_error_explains_a_lost_membership() -> None:
    lost = commit_error(error_for(ErrorCode.ILLEGAL_GENERATION, topic="a", partition=0))
    too_large = error_for(ErrorCode.OFFSET_METADATA_TOO_LARGE, topic="a", partition=0)

    assert isinstance(lost, CommitFailedError)
    assert lost.topic_partition == A0
    assert "offset of a-0 was not committed (ILLEGAL_GENERATION)" in str(lost)
    assert "read again" in str(lost)
    assert commit_error(too_large) is too_large


def test_only_news_is_committed_and_never_backwards() -> None:
    auto = AutoCommit(5.0, 0.0)
    auto.stored(A0, 10, version=1)

    assert auto.news({A0: finished(10), A1: finished(3)}) == {A1: finished(3)}
    assert auto.news({A0: finished(9)}) == {}
    assert auto.news({A0: finished(11)}) == {A0: finished(11)}


def test_once_a_position_was_set_its_offset_may_go_back() -> None:
    auto = AutoCommit(5.0, 0.0)
    auto.stored(A0, 10, version=1)

    assert auto.news({A0: finished(10, version=2)}) == {}
    assert auto.news({A0: finished(2, version=2)}) == {A0: finished(2, version=2)}


def finished(offset: int, *, version: int = 1) -> Finished:
    return Finished(OffsetAndMetadata(offset), version)


def test_commits_are_due_an_interval_apart() -> None:
    auto = AutoCommit(5.0, 100.0)
    assert auto.due_at == 105.0

    auto.began(106.0)

    assert auto.due_at == 111.0


class TestUnstableOffsets:
    def test_a_short_wait_is_no_warning(self) -> None:
        unstable = UnstableOffsets()

        assert unstable.waited(0.0, is_unstable=True) is None
        assert unstable.waited(9.9, is_unstable=True) is None

    def test_a_long_wait_is_one_warning_a_minute(self) -> None:
        unstable = UnstableOffsets()
        unstable.waited(0.0, is_unstable=True)

        assert unstable.waited(10.0, is_unstable=True) == 10.0
        assert unstable.waited(69.9, is_unstable=True) is None
        assert unstable.waited(70.0, is_unstable=True) == 70.0

    def test_a_wait_ends_with_stable_offsets(self) -> None:
        unstable = UnstableOffsets()
        unstable.waited(0.0, is_unstable=True)
        unstable.waited(5.0, is_unstable=False)

        assert unstable.waited(11.0, is_unstable=True) is None
