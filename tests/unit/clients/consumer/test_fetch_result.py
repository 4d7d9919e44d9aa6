from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.clients.consumer.fetch_call import FetchCall, FetchTerms
from pyk.clients.consumer.fetch_result import FIRST_VERSION, FetchResult, result_of
from pyk.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

VERSIONS = range(4, FetchResponse.versions.highest + 1)
USUAL_VERSIONS = range(FIRST_VERSION, FetchResponse.versions.highest + 1)
INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
PARTITIONS = st.builds(
    PartitionData,
    partition_index=INT32,
    high_watermark=INT64,
    last_stable_offset=INT64,
    log_start_offset=INT64,
    aborted_transactions=st.sampled_from([None, []]),
    preferred_read_replica=INT32,
    records=st.none() | st.binary(max_size=300),
)
TOPICS = st.builds(
    FetchableTopicResponse,
    topic=st.sampled_from(["", "orders"]),
    topic_id=st.uuids(),
    partitions=st.lists(PARTITIONS, max_size=3),
)
RESPONSES = st.builds(FetchResponse, session_id=INT32, responses=st.lists(TOPICS, max_size=3))
FIELDS = [
    "topic",
    "topic_id",
    "partition_index",
    "error_code",
    "high_watermark",
    "last_stable_offset",
    "preferred_read_replica",
    "leader_id",
    "leader_epoch",
    "aborted_transactions",
    "records",
]


def read(frame: Any, version: int, start: int = 0) -> FetchResult | None:
    result = FetchCall(FetchTerms(), 0, 0, 0, 0).read_response(frame, version, start)
    assert result is None or isinstance(result, FetchResult)
    return result


def said(result: FetchResult) -> list[Any]:
    """Everything that a result says."""
    partitions = [[getattr(data, name) for name in FIELDS] for data in result.partitions]
    return [
        result.throttle_time_ms,
        result.session_id,
        result.error_code,
        result.node_endpoints,
        partitions,
    ]


def response_with(*, error_code: int = 0, throttle_time_ms: int = 0, **data: Any) -> FetchResponse:
    partition = PartitionData(**{"records": b"some records"} | data)
    topic = FetchableTopicResponse(topic="a", topic_id=UUID(int=7), partitions=[partition])
    return FetchResponse(
        error_code=error_code,
        throttle_time_ms=throttle_time_ms,
        session_id=9,
        responses=[topic],
    )


@given(response=RESPONSES, version=st.sampled_from(USUAL_VERSIONS), start=st.integers(0, 5))
def test_a_usual_response_says_the_same_as_the_message(
    response: FetchResponse, version: int, start: int
) -> None:
    encoded = bytes(start) + response.encode(version)

    for frame in (encoded, memoryview(encoded)):
        result = read(frame, version, start)

        assert result is not None
        assert said(result) == said(result_of(FetchResponse.decode(frame, version, start)))
        assert all(type(data.records) is memoryview for data in result.partitions)


@given(response=RESPONSES, version=st.sampled_from(USUAL_VERSIONS), data=st.data())
def test_a_damaged_response_is_left_to_the_codec_or_says_the_same(
    response: FetchResponse, version: int, data: st.DataObject
) -> None:
    frame = bytearray(response.encode(version))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(frame) - 1))
        frame[at] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0x81, 0xFF]))

    result = read(bytes(frame), version)

    if result is not None:
        assert said(result) == said(result_of(FetchResponse.decode(bytes(frame), version)))


@pytest.mark.parametrize("version", USUAL_VERSIONS)
def test_a_response_that_was_cut_or_goes_on_is_left_to_the_codec(version: int) -> None:
    whole = response_with().encode(version)

    assert read(whole, version) is not None
    for size in range(len(whole)):
        assert read(whole[:size], version) is None
    assert read(whole + b"\0", version) is None


@pytest.mark.parametrize("version", USUAL_VERSIONS)
@pytest.mark.parametrize(
    "response",
    [
        response_with(error_code=70),
        response_with(error_code=0x100),
        response_with(throttle_time_ms=1),
        response_with(aborted_transactions=[AbortedTransaction(producer_id=1, first_offset=2)]),
        response_with(diverging_epoch=EpochEndOffset(epoch=1, end_offset=2)),
        response_with(current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=2)),
    ],
)
def test_any_other_response_is_left_to_the_codec(response: FetchResponse, version: int) -> None:
    assert read(response.encode(version), version) is None


def test_a_partition_with_an_error_is_left_to_the_codec() -> None:
    response = response_with()
    for code in (1, 0x100, -1):
        response.responses[0].partitions[0].error_code = code

        assert read(response.encode(13), 13) is None


def test_a_response_that_names_nodes_is_left_to_the_codec() -> None:
    response = response_with()
    response.node_endpoints = [NodeEndpoint(node_id=1, host="a", port=9092)]

    assert read(response.encode(16), 16) is None


@pytest.mark.parametrize("version", [v for v in VERSIONS if v not in USUAL_VERSIONS])
def test_a_response_that_names_topics_is_left_to_the_codec(version: int) -> None:
    response = response_with()
    response.session_id = 0  # versions without sessions cannot say more

    assert read(response.encode(version), version) is None


@pytest.mark.parametrize("count", [b"\x00", b"\x81\x00", b"\x81\x80\x80\x80\x00", b"\xff" * 5])
def test_an_odd_count_of_topics_is_left_to_the_codec(count: bytes) -> None:
    no_topics = FetchResponse(session_id=9).encode(13)
    assert no_topics.endswith(b"\x01\x00")

    assert read(no_topics[:-2] + count + b"\x00", 13) is None


def test_a_decoded_response_says_what_the_usual_one_cannot() -> None:
    response = response_with(
        throttle_time_ms=5,
        current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=2),
        aborted_transactions=[AbortedTransaction(producer_id=3, first_offset=4)],
        records=None,
    )
    response.responses[0].partitions[0].error_code = 6
    response.node_endpoints = [NodeEndpoint(node_id=1, host="a", port=9092)]

    result = result_of(response)

    (data,) = result.partitions
    assert (result.throttle_time_ms, result.session_id, result.error_code) == (5, 9, 0)
    assert result.node_endpoints == response.node_endpoints
    assert (data.topic, data.topic_id) == ("a", UUID(int=7).bytes)
    assert (data.error_code, data.leader_id, data.leader_epoch) == (6, 1, 2)
    assert data.aborted_transactions == [(3, 4)]
    assert bytes(data.records) == b""
