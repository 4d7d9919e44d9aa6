"""Committed offsets of groups: requests to coordinators, and their responses."""

from __future__ import annotations

import pytest

from pyk.clients.errors import GroupAuthorizationFailedError, KafkaError, NotCoordinatorError
from pyk.clients.offsets import (
    OUTSIDER,
    Identity,
    committed_offsets,
    deleted_offsets,
    fetched_offsets,
    offset_commit_request,
    offset_delete_request,
    offset_fetch_request,
)
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def codes(answers: dict[TopicPartition, KafkaError | None]) -> dict[TopicPartition, int | None]:
    return {place: None if error is None else error.code for place, error in answers.items()}


def test_a_commit_request_names_the_member_and_the_offsets() -> None:
    offsets = {A0: OffsetAndMetadata(5, "note", 3), B0: OffsetAndMetadata(7)}

    request = offset_commit_request("g", offsets, Identity(4, "me", "i"))

    assert (request.group_id, request.generation_id_or_member_epoch) == ("g", 4)
    assert (request.member_id, request.group_instance_id) == ("me", "i")
    a, b = request.topics
    assert (a.partitions[0].committed_offset, a.partitions[0].committed_leader_epoch) == (5, 3)
    assert (b.partitions[0].committed_offset, b.partitions[0].committed_leader_epoch) == (7, -1)
    assert (a.partitions[0].committed_metadata, b.partitions[0].committed_metadata) == ("note", "")


def test_a_client_outside_of_the_group_commits_without_a_member_id() -> None:
    request = offset_commit_request("g", {A0: OffsetAndMetadata(5)})

    assert (request.generation_id_or_member_epoch, request.member_id) == (-1, "")
    assert request.group_instance_id is None


def test_a_response_separates_stored_offsets_from_others() -> None:
    answer = OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name="a",
                partitions=[
                    OffsetCommitResponsePartition(partition_index=0),
                    OffsetCommitResponsePartition(
                        partition_index=1, error_code=ErrorCode.NOT_COORDINATOR
                    ),
                ],
            )
        ]
    )

    outcome = committed_offsets(answer)

    assert codes(outcome) == {A0: None, A1: ErrorCode.NOT_COORDINATOR}
    error = outcome[A1]
    assert error is not None
    assert error.topic_partition == A1


def test_a_commit_that_is_not_allowed_names_the_missing_acl() -> None:
    refused = OffsetCommitResponsePartition(
        partition_index=0, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
    )
    answer = OffsetCommitResponse(
        topics=[OffsetCommitResponseTopic(name="a", partitions=[refused])]
    )

    assert "it needs an ACL for READ" in str(committed_offsets(answer)[A0])


@pytest.mark.parametrize("version", [7, 8, 9])
def test_committed_offsets_are_asked_for_by_topic(version: int) -> None:
    request = offset_fetch_request("g", [A0, B0, A1], version, require_stable=True)

    asked = request if version < 8 else request.groups[0]
    assert asked.group_id == "g"
    assert asked.topics is not None
    assert [(topic.name, topic.partition_indexes) for topic in asked.topics] == [
        ("a", [0, 1]),
        ("b", [0]),
    ]
    assert request.require_stable


@pytest.mark.parametrize(
    ("identity", "asked_as"),
    [
        (Identity(3, "me", has_member_epoch=True), ("me", 3)),
        (Identity(3, "me"), (None, -1)),
        (OUTSIDER, (None, -1)),
    ],
)
def test_only_members_with_an_epoch_are_checked_at_reads(
    identity: Identity, asked_as: tuple[str | None, int]
) -> None:
    request = offset_fetch_request("g", [A0], 9, require_stable=False, identity=identity)

    (group,) = request.groups
    assert (group.member_id, group.member_epoch) == asked_as


@pytest.mark.parametrize("version", [6, 9])
def test_no_partitions_named_are_all_there_are(version: int) -> None:
    request = offset_fetch_request("g", None, version, require_stable=False)

    assert (request if version < 8 else request.groups[0]).topics is None


@pytest.mark.parametrize(("version", "asks"), [(1, False), (6, False), (7, True), (9, True)])
def test_stable_offsets_are_asked_of_brokers_that_know_of_them(version: int, asks: bool) -> None:
    request = offset_fetch_request("g", [A0], version, require_stable=True)

    assert request.require_stable is asks
    assert request.encode(version)


def test_answers_of_old_and_new_brokers_say_the_same() -> None:
    committed = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": 2}
    nothing = {"partition_index": 1, "committed_offset": -1, "metadata": None}
    refused = {"partition_index": 0, "error_code": ErrorCode.UNSTABLE_OFFSET_COMMIT}
    old_one, new_one = OffsetFetchResponsePartition, OffsetFetchResponsePartitions
    old = OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name="a", partitions=[old_one(**committed, metadata="note"), old_one(**nothing)]
            ),
            OffsetFetchResponseTopic(name="b", partitions=[old_one(**refused)]),
        ]
    )
    topics = [
        OffsetFetchResponseTopics(
            name="a", partitions=[new_one(**committed, metadata="note"), new_one(**nothing)]
        ),
        OffsetFetchResponseTopics(name="b", partitions=[new_one(**refused)]),
    ]
    new = OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=topics)])

    for response in (old, new):
        fetched = fetched_offsets(response, "g")
        assert (fetched[A0], fetched[A1]) == (OffsetAndMetadata(5, "note", 2), None)
        error = fetched[B0]
        assert isinstance(error, KafkaError)
        assert error.code == ErrorCode.UNSTABLE_OFFSET_COMMIT


def test_an_error_of_the_group_is_raised() -> None:
    refused = OffsetFetchResponseGroup(
        group_id="g", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
    )

    with pytest.raises(NotCoordinatorError, match="group 'g'"):
        fetched_offsets(OffsetFetchResponse(error_code=ErrorCode.NOT_COORDINATOR), "g")
    with pytest.raises(GroupAuthorizationFailedError, match="group 'g'"):
        fetched_offsets(OffsetFetchResponse(groups=[refused]), "g")


def test_offsets_are_forgotten_one_by_one_unless_the_group_refuses() -> None:
    request = offset_delete_request("g", [A0, B0])
    read = OffsetDeleteResponsePartition(
        partition_index=0, error_code=ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    )
    answer = OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name="a", partitions=[OffsetDeleteResponsePartition(partition_index=0)]
            ),
            OffsetDeleteResponseTopic(name="b", partitions=[read]),
        ]
    )

    assert {topic.name: topic.partitions[0].partition_index for topic in request.topics} == {
        "a": 0,
        "b": 0,
    }
    assert codes(deleted_offsets(answer, "g")) == {
        A0: None,
        B0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }
    with pytest.raises(KafkaError, match="NON_EMPTY_GROUP"):
        deleted_offsets(OffsetDeleteResponse(error_code=ErrorCode.NON_EMPTY_GROUP), "g")
