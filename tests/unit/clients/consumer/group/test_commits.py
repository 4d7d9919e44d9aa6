from __future__ import annotations

import pytest

from pyk.clients.consumer.group.commits import (
    AutoCommit,
    CommitOutcome,
    Identity,
    Remedy,
    commit_error,
    commit_request,
    fetch_request,
    read_commit,
    read_fetch,
    remedy,
)
from pyk.clients.errors import CommitFailedError, OffsetMetadataTooLargeError
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def commit_answer(**codes: ErrorCode) -> OffsetCommitResponse:
    """Return an answer; ``a0=…`` is the code of partition 0 of topic a."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=name[0],
                partitions=[
                    OffsetCommitResponsePartition(partition_index=int(name[1:]), error_code=code)
                ],
            )
            for name, code in codes.items()
        ]
    )


def test_a_commit_says_who_commits_what() -> None:
    offsets = {A0: OffsetAndMetadata(5, "note", 3), B0: OffsetAndMetadata(7)}

    request = commit_request("g", Identity(4, "me", "i"), offsets)

    assert (request.group_id, request.generation_id_or_member_epoch) == ("g", 4)
    assert (request.member_id, request.group_instance_id) == ("me", "i")
    a, b = request.topics
    assert (a.partitions[0].committed_offset, a.partitions[0].committed_leader_epoch) == (5, 3)
    assert (b.partitions[0].committed_offset, b.partitions[0].committed_leader_epoch) == (7, -1)
    assert (a.partitions[0].committed_metadata, b.partitions[0].committed_metadata) == ("note", "")


def test_an_answer_tells_stored_offsets_from_others() -> None:
    offsets = {A0: OffsetAndMetadata(5), A1: OffsetAndMetadata(6), B0: OffsetAndMetadata(7)}
    answer = commit_answer(a0=ErrorCode.NONE, a1=ErrorCode.NOT_COORDINATOR)

    outcome = read_commit(offsets, answer)

    assert outcome.stored == {A0: offsets[A0]}
    assert outcome.errors == {
        A1: ErrorCode.NOT_COORDINATOR,
        B0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # the answer leaves it out
    }


def test_the_worst_error_is_the_one_that_asking_again_does_not_cure() -> None:
    errors = {
        A0: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        A1: ErrorCode.OFFSET_METADATA_TOO_LARGE,
        B0: ErrorCode.REBALANCE_IN_PROGRESS,
    }

    assert CommitOutcome({}, errors).worst() == (A1, ErrorCode.OFFSET_METADATA_TOO_LARGE)
    assert CommitOutcome({}, {}).worst() is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Remedy.RETRY),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Remedy.RETRY),
        (ErrorCode.UNSTABLE_OFFSET_COMMIT, Remedy.RETRY),
        (ErrorCode.NOT_COORDINATOR, Remedy.FIND_COORDINATOR),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, Remedy.FIND_COORDINATOR),
        (ErrorCode.REBALANCE_IN_PROGRESS, Remedy.REJOIN),
        (ErrorCode.ILLEGAL_GENERATION, Remedy.REJOIN),
        (ErrorCode.UNKNOWN_MEMBER_ID, Remedy.REJOIN),
        (ErrorCode.FENCED_INSTANCE_ID, Remedy.GIVE_UP),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Remedy.GIVE_UP),
        (ErrorCode.OFFSET_METADATA_TOO_LARGE, Remedy.GIVE_UP),
        (ErrorCode(31_000), Remedy.GIVE_UP),
    ],
)
def test_every_error_has_a_remedy(code: ErrorCode, expected: Remedy) -> None:
    assert remedy(code) is expected


def test_the_application_is_told_what_a_lost_membership_means() -> None:
    error = commit_error(A0, ErrorCode.ILLEGAL_GENERATION)

    assert isinstance(error, CommitFailedError)
    assert "read again" in str(error)
    assert isinstance(
        commit_error(A0, ErrorCode.OFFSET_METADATA_TOO_LARGE), OffsetMetadataTooLargeError
    )


def test_committed_offsets_are_asked_for_by_topic() -> None:
    request = fetch_request("g", [A0, A1, B0], require_stable=True)

    assert request.topics is not None
    assert [(topic.name, topic.partition_indexes) for topic in request.topics] == [
        ("a", [0, 1]),
        ("b", [0]),
    ]
    assert request.require_stable


def test_an_answer_gives_offsets_or_errors_for_all_that_was_asked() -> None:
    partitions = [
        OffsetFetchResponsePartition(
            partition_index=0, committed_offset=5, committed_leader_epoch=2, metadata="note"
        ),
        OffsetFetchResponsePartition(partition_index=1, committed_offset=-1, metadata=None),
    ]
    response = OffsetFetchResponse(
        topics=[OffsetFetchResponseTopic(name="a", partitions=partitions)]
    )

    assert read_fetch([A0, A1, B0], response) == {
        A0: OffsetAndMetadata(5, "note", 2),
        A1: None,
        B0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_an_error_of_the_group_is_one_of_every_partition() -> None:
    response = OffsetFetchResponse(error_code=ErrorCode.NOT_COORDINATOR)

    assert read_fetch([A0], response) == {A0: ErrorCode.NOT_COORDINATOR}


def test_only_news_is_committed_and_never_backwards() -> None:
    auto = AutoCommit(5.0, 0.0)
    auto.stored({A0: OffsetAndMetadata(10)})

    finished = {A0: OffsetAndMetadata(10), A1: OffsetAndMetadata(3)}
    assert auto.news(finished) == {A1: OffsetAndMetadata(3)}
    assert auto.news({A0: OffsetAndMetadata(9)}) == {}
    assert auto.news({A0: OffsetAndMetadata(11)}) == {A0: OffsetAndMetadata(11)}


def test_after_a_seek_an_offset_may_go_back() -> None:
    auto = AutoCommit(5.0, 0.0)
    auto.stored({A0: OffsetAndMetadata(10)})

    auto.forget([A0])

    assert auto.news({A0: OffsetAndMetadata(2)}) == {A0: OffsetAndMetadata(2)}


def test_commits_are_due_an_interval_apart() -> None:
    auto = AutoCommit(5.0, 100.0)
    assert auto.due_at == 105.0

    auto.began(106.0)

    assert auto.due_at == 111.0
