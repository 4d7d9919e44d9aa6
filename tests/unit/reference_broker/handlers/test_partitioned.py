from __future__ import annotations

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.reference_broker.handlers.error_responses import error_response
from pyk.reference_broker.handlers.partitioned import SHAPES, merge, split, topics_of


def produce(*partitions: tuple[str, int]) -> ProduceRequest:
    return ProduceRequest(
        acks=1,
        topic_data=[
            TopicProduceData(name=name, partition_data=[PartitionProduceData(index=number)])
            for name, number in partitions
        ],
    )


def names(request: ProduceRequest) -> list[tuple[str, int]]:
    return [
        (topic.name, partition.index)
        for topic, partitions in topics_of(ApiKey.PRODUCE, request)
        for partition in partitions
    ]


def test_an_error_goes_to_every_partition() -> None:
    request = FetchRequest(
        topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=n) for n in (3, 5)])]
    )

    response = error_response(ApiKey.FETCH, request, ErrorCode.KAFKA_STORAGE_ERROR)

    (topic,) = response.responses  # type: ignore[attr-defined]
    assert [(p.partition_index, p.error_code, p.high_watermark) for p in topic.partitions] == [
        (3, ErrorCode.KAFKA_STORAGE_ERROR, -1),
        (5, ErrorCode.KAFKA_STORAGE_ERROR, -1),
    ]


def test_a_request_is_split_and_its_responses_merged() -> None:
    request = produce(("a", 0), ("a", 1), ("b", 0))

    failing, others = split(
        ApiKey.PRODUCE, request, lambda topic, p: topic.name == "a" and p.index == 1
    )

    assert names(failing) == [("a", 1)]
    assert names(others) == [("a", 0), ("b", 0)]
    assert failing.acks == others.acks == 1
    response = error_response(ApiKey.PRODUCE, others, ErrorCode.NONE)
    merge(
        ApiKey.PRODUCE,
        response,
        error_response(ApiKey.PRODUCE, failing, ErrorCode.REQUEST_TIMED_OUT),
    )
    assert len(response.responses) == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("api_key", SHAPES, ids=lambda key: key.api_name)
def test_every_shape_names_fields_that_exist(api_key: ApiKey) -> None:
    from pyk.protocol.registry import request_class, response_class

    for message, side in (
        (request_class(api_key), SHAPES[api_key].request),
        (response_class(api_key), SHAPES[api_key].response),
    ):
        topics = next(field for field in message.fields if field.name == side.topics)
        topic = topics.kind.of.struct  # type: ignore[attr-defined]
        partitions = next(field for field in topic.fields if field.name == side.partitions)
        partition = partitions.kind.of.struct  # type: ignore[attr-defined]
        assert side.name in {field.name for field in topic.fields}
        assert side.number in {field.name for field in partition.fields}
