"""Delete records of logs, and offsets that groups have committed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.clients.errors import KafkaError, error_for
from pyk.clients.offsets.partition_results import read_partitions
from pyk.clients.topic_partition import TopicPartition, by_topic
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)


def delete_records_request(
    before: Mapping[TopicPartition, int], timeout_ms: int
) -> DeleteRecordsRequest:
    """Return the request that removes the records before an offset of each partition."""
    return DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic,
                partitions=[
                    DeleteRecordsPartition(
                        partition_index=place.partition, offset=int(before[place])
                    )
                    for place in places
                ],
            )
            for topic, places in by_topic(before).items()
        ],
        timeout_ms=timeout_ms,
    )


def deleted_records(response: DeleteRecordsResponse) -> dict[TopicPartition, int | KafkaError]:
    """Return the first offset that each partition still has."""
    return read_partitions(
        response.topics, lambda result: int(result.low_watermark), response.api_key
    )


def offset_delete_request(
    group_id: str, partitions: Iterable[TopicPartition]
) -> OffsetDeleteRequest:
    """Return the request that deletes the committed offsets of ``partitions``."""
    return OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[
                    OffsetDeleteRequestPartition(partition_index=place.partition)
                    for place in places
                ],
            )
            for topic, places in by_topic(partitions).items()
        ],
    )


def deleted_offsets(
    response: OffsetDeleteResponse, group_id: str
) -> dict[TopicPartition, KafkaError | None]:
    """Return the outcome of each partition; raise an error that concerns all of them."""
    if response.error_code != ErrorCode.NONE:
        raise error_for(response.error_code, group_id=group_id, api_key=response.api_key)
    return read_partitions(response.topics, lambda _: None, response.api_key)
