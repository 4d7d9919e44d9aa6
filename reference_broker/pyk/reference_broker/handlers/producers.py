"""InitProducerId, DescribeProducers: identities of idempotent producers, and where they wrote."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.producer_ids import ProducerIds
from pyk.reference_broker.replicas import Replicas

from .context import RequestContext


class ProducerServices(Protocol):
    """The services that requests about producers use."""

    @property
    def replicas(self) -> Replicas: ...
    @property
    def producer_ids(self) -> ProducerIds: ...


def init_producer_id(
    services: ProducerServices, request: InitProducerIdRequest, context: RequestContext
) -> HandlerResult:
    """Give a producer a new id, at epoch 0.

    As in Kafka, also if the producer had an id already: without a transactional id nothing shows
    that it is the same producer, and a new id is as good as a new epoch (KIP-360).
    """
    if request.transactional_id is not None:
        # There are no transactions here: see FindCoordinator.
        return InitProducerIdResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return services.producer_ids.next_id(
        lambda producer_id: InitProducerIdResponse(producer_id=producer_id, producer_epoch=0),
        lambda code: InitProducerIdResponse(error_code=code),
    )


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
        partition = services.replicas.get(topic, number)
    except ApiError as error:
        return PartitionResponse(
            partition_index=number, error_code=error.code, error_message=error.message
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
