"""DescribeProducers: which producers have written to partitions."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from pyk.reference_broker.controller.names import check_topic_name
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.replicas import Replicas

from .context import RequestContext

NO_SUCH_PARTITION = "This server does not host this topic-partition."


class ProducerServices(Protocol):
    """The services that requests about producers use."""

    @property
    def replicas(self) -> Replicas: ...


def describe_producers(
    services: ProducerServices, request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponse:
    """Return which producers have written to partitions recently (KIP-664)."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_producers(services, topic.name, n) for n in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _producers(services: ProducerServices, topic: str, number: int) -> PartitionResponse:
    try:
        check_topic_name(topic)
        partition = services.replicas.get(topic, number)
    except ApiError as error:
        return PartitionResponse(
            partition_index=number,
            error_code=error.code,
            error_message=error.message or NO_SUCH_PARTITION,
        )
    return PartitionResponse(
        partition_index=number,
        active_producers=[
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.current_txn_first_offset,
            )
            for entry in partition.log.producers
        ],
    )
