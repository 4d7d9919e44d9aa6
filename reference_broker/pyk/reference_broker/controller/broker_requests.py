"""Requests of brokers: to be registered, for producer ids, to lead in a new epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from pyk.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from pyk.protocol.schema import Message

from .image import NO_LEADER, MetadataImage
from .leader_changes import leader_change, leader_changes
from .metadata_versions import DIRECTORY_ASSIGNMENT

if TYPE_CHECKING:
    from pyk.protocol.messages.allocate_producer_ids import (
        AllocateProducerIdsRequest,
        AllocateProducerIdsResponse,
    )
    from pyk.protocol.messages.unregister_broker import (
        UnregisterBrokerRequest,
        UnregisterBrokerResponse,
    )

PRODUCER_ID_BLOCK_SIZE = 1000

Records = list[Message]


def register_broker(
    image: MetadataImage, request: BrokerRegistrationRequest
) -> tuple[BrokerRegistrationResponse, Records]:
    """Give the broker a new epoch, and the lead of its partitions that have no leader."""
    has_directories = image.metadata_version >= DIRECTORY_ASSIGNMENT
    log_dirs = sorted(request.log_dirs) if has_directories else []
    epoch = image.record_count  # the offset of the registration
    registration = _registration(request, epoch, log_dirs)
    changes = leader_changes(image, request.broker_id, log_dirs)
    return BrokerRegistrationResponse(broker_epoch=epoch), [registration, *changes]


def _registration(
    request: BrokerRegistrationRequest, epoch: int, log_dirs: list[UUID]
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in request.listeners
        ],
        features=[
            BrokerFeature(
                name=feature.name,
                min_supported_version=feature.min_supported_version,
                max_supported_version=feature.max_supported_version,
            )
            for feature in request.features
        ],
        rack=request.rack,
        fenced=False,
        log_dirs=log_dirs,
    )


def begin_leader_epochs(image: MetadataImage, node_id: int) -> Records:
    """Let a node lead its partitions in a new epoch: it may have lost records that were read.

    Clients find that out by the epoch (KIP-320). Kafka elects leaders again after each restart.
    """
    return [
        PartitionChangeRecord(partition_id=number, topic_id=topic.topic_id, leader=node_id)
        for topic in image.topics.values()
        for number, partition in topic.partitions.items()
        if partition.leader == node_id
    ]


def unregister_broker(
    image: MetadataImage, request: UnregisterBrokerRequest
) -> tuple[UnregisterBrokerResponse, Records]:
    """Forget a broker; one that runs leads nothing from then on, until it starts again."""
    from pyk.protocol.messages.unregister_broker import UnregisterBrokerResponse

    broker_id = request.broker_id
    broker = image.brokers.get(broker_id)
    if broker is None:
        response = UnregisterBrokerResponse(
            error_code=ErrorCode.BROKER_ID_NOT_REGISTERED,
            error_message=f"Broker ID {broker_id} is not currently registered",
        )
        return response, []
    removal = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return UnregisterBrokerResponse(error_message=""), [*_resignations(image, broker_id), removal]


def _resignations(image: MetadataImage, node_id: int) -> Records:
    """Take the lead of its partitions from a node; there is nobody else who could lead them."""
    return [
        leader_change(image, topic.topic_id, number, NO_LEADER)
        for topic in image.topics.values()
        for number, partition in topic.partitions.items()
        if partition.leader == node_id
    ]


def allocate_producer_ids(
    image: MetadataImage, request: AllocateProducerIdsRequest
) -> tuple[AllocateProducerIdsResponse, Records]:
    """Give a broker the next block of producer ids to hand out."""
    from pyk.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse

    first = image.next_producer_id
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=first + PRODUCER_ID_BLOCK_SIZE,
    )
    response = AllocateProducerIdsResponse(
        producer_id_start=first, producer_id_len=PRODUCER_ID_BLOCK_SIZE
    )
    return response, [record]
