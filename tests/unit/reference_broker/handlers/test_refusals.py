"""What the configuration of a broker or a topic forbids."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.handlers.offsets import delete_records
from pyk.reference_broker.handlers.topics import delete_topics
from pyk.runtime.virtual_time import virtual_time
from support.running_brokers import TOPIC, context, error_codes, running_broker


def delete_all_records(broker: Broker, topic: str) -> list[int]:
    asked = DeleteRecordsPartition(partition_index=0, offset=-1)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[asked])])
    return error_codes(delete_records(broker.services, request, context(2)), "topics", "partitions")


@virtual_time
async def test_records_of_a_compacted_topic_cannot_be_deleted() -> None:
    async with running_broker(topic_configs={"cleanup.policy": "compact"}) as broker:
        assert delete_all_records(broker, TOPIC) == [ErrorCode.POLICY_VIOLATION]


@virtual_time
async def test_records_of_an_internal_topic_cannot_be_deleted() -> None:
    async with running_broker() as broker:
        broker.services.topics.auto_create("__consumer_offsets")

        assert delete_all_records(broker, "__consumer_offsets") == [
            ErrorCode.INVALID_TOPIC_EXCEPTION
        ]


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.TOPIC_DELETION_DISABLED), (2, ErrorCode.INVALID_REQUEST)],
)
@virtual_time
async def test_a_broker_that_may_not_delete_topics_refuses_to(
    version: int, code: ErrorCode
) -> None:
    async with running_broker(delete_topic_enable=False) as broker:
        request = DeleteTopicsRequest(topic_names=[TOPIC])

        response = delete_topics(broker.services, request, context(version))

        assert [each.error_code for each in response.responses] == [code]
        assert TOPIC in broker.image.topics
