from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.clients.consumer.fetching.fetch_call import FetchCall, FetchTerms, WantedPartition
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.fetch import FetchRequest

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TOPIC_ID, OTHER_ID = UUID(int=7), UUID(int=8)
INT32, INT64 = st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)
VERSIONS = range(4, FetchRequest.versions.highest + 1)


def encoded(call: FetchCall, version: int) -> bytes:
    parts = call.encode_parts(version, bytearray(b"header"))
    return b"".join(parts)


def as_message(call: FetchCall, version: int) -> bytes:
    return b"header" + b"".join(call.message().encode_parts(version))


@given(version=st.sampled_from(VERSIONS), numbers=st.tuples(*[INT32] * 7), offset=INT64)
def test_a_small_request_has_the_bytes_of_its_message(
    version: int, numbers: tuple[int, ...], offset: int
) -> None:
    terms = FetchTerms(3, 1, "rack")
    session_id, epoch, max_wait_ms, max_bytes, number, size, leader_epoch = numbers
    first = FetchCall(terms, 1, 1, 1, 1)
    first.wanted = {A0: WantedPartition(1, 1, 1, TOPIC_ID)}
    second = FetchCall(terms, session_id, epoch, max_wait_ms, max_bytes)
    moved = WantedPartition(offset, size, leader_epoch, TOPIC_ID)
    second.wanted = {TopicPartition("a", number): moved}

    assert encoded(first, version) == as_message(first, version)
    assert encoded(second, version) == as_message(second, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_of_every_shape_have_the_bytes_of_their_messages(version: int) -> None:
    terms = FetchTerms()
    shapes = [
        {},
        {A0: WantedPartition(5, 100, 4, TOPIC_ID)},
        {A0: WantedPartition(5, 100, 4, OTHER_ID)},
        {B0: WantedPartition(5, 100, 4, TOPIC_ID)},
        {A0: WantedPartition(6, 100, 4, TOPIC_ID), A1: WantedPartition(7, 100, 4, TOPIC_ID)},
        {A1: WantedPartition(8, 100, -1, TOPIC_ID)},
    ]
    for wanted in shapes:
        call = FetchCall(terms, 9, 1, 500, 1000)
        call.wanted = wanted

        assert encoded(call, version) == as_message(call, version)


def test_a_request_that_has_a_partition_forgotten_has_the_bytes_of_its_message() -> None:
    call = FetchCall(FetchTerms(), 9, 1, 500, 1000)
    call.wanted = {A0: WantedPartition(5, 100, 4, TOPIC_ID)}
    call.forgotten = {B0: WantedPartition(0, 100, 4, TOPIC_ID)}

    assert encoded(call, 13) == as_message(call, 13)


@pytest.mark.parametrize("version", [4, 6])
def test_a_node_that_went_back_to_a_version_without_sessions_has_nothing_to_forget(
    version: int,
) -> None:
    call = FetchCall(FetchTerms(), 9, 4, 500, 1000)
    call.wanted = {A0: WantedPartition(7, 100)}
    call.forgotten = {A1: WantedPartition(0, 100)}

    request = FetchRequest.decode(b"".join(call.encode_parts(version, bytearray())), version)

    assert [topic.topic for topic in request.topics] == ["a"]


def test_nodes_of_different_versions_get_their_own_bytes() -> None:
    call = FetchCall(FetchTerms(), 9, 1, 500, 1000)
    call.wanted = {A0: WantedPartition(5, 100, 4, TOPIC_ID)}

    for version in (12, 13, 12):
        assert encoded(call, version) == as_message(call, version)
