"""What ShareFetch and ShareAcknowledge have in common: members, acknowledgements, leaders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol
from uuid import UUID

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.group.share.member import MAX_MEMBER_ID_LENGTH
from pyk.reference_broker.deferred import Deferred, gather
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.share.acknowledgement import Acknowledgement, AcknowledgeType
from pyk.reference_broker.share.led_partition import Outcome
from pyk.reference_broker.share.sessions import PartitionOfTopic, SessionName
from pyk.reference_broker.share.share_service import ShareService

from .context import RequestContext
from .partitioned import element_class

FIRST_VERSION_WITH_RENEWALS = 2
LEADER_HAS_MOVED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)

Outcomes = dict[PartitionOfTopic, Outcome]


class ShareServices(Protocol):
    """The services that requests of members of share groups use."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def share(self) -> ShareService: ...


def member_of(request: Any) -> SessionName:
    """Return the member of a request; raise :class:`ApiError` if it names none."""
    if request.group_id is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Invalid group id in the request.")
    if not request.member_id or len(request.member_id) > MAX_MEMBER_ID_LENGTH:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Invalid member id in the request.")
    return SessionName(request.group_id, request.member_id)


def may_read(context: RequestContext, topic: str) -> bool:
    """Return whether the client may read a topic."""
    access = context.access
    return access is None or access.may(AclOperation.READ, ResourceType.TOPIC, topic)


def check_topic(
    services: ShareServices, context: RequestContext, topic_id: UUID, number: int
) -> str:
    """Return the name of a topic; raise :class:`ApiError` if it cannot be read by this client."""
    topic = services.image.topics_by_id.get(topic_id)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
    if not may_read(context, topic.name):
        raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if number not in topic.partitions:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return topic.name


# -- acknowledgements ------------------------------------------------------------------------------


def has_acknowledgements(request: Any) -> bool:
    """Return whether a request acknowledges anything."""
    return any(
        partition.acknowledgement_batches
        for topic in request.topics
        for partition in topic.partitions
    )


def acknowledge_all(
    services: ShareServices, request: Any, context: RequestContext
) -> Deferred[Outcomes]:
    """Carry out the acknowledgements of a request; the outcomes come when all are stored.

    A partition of which nothing is said has no outcome, unless it is unknown.
    """
    names: list[PartitionOfTopic] = []
    outcomes: list[Deferred[Outcome]] = []
    for topic in request.topics:
        for partition in topic.partitions:
            name = PartitionOfTopic(topic.topic_id, partition.partition_index)
            outcome = _acknowledge(services, request, context, name, partition)
            if outcome is not None:
                names.append(name)
                outcomes.append(outcome)
    return gather(outcomes).then(lambda found: dict(zip(names, found, strict=True)))


def _acknowledge(
    services: ShareServices,
    request: Any,
    context: RequestContext,
    name: PartitionOfTopic,
    partition: Any,
) -> Deferred[Outcome] | None:
    known: Deferred[Outcome] = Deferred()
    try:
        if name.topic_id not in services.image.topics_by_id:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        acknowledgements = _read(request, context.version, partition.acknowledgement_batches)
        check_topic(services, context, *name)
        if not acknowledgements:
            return None
        led = services.share.find(request.group_id, *name)
        if led is not None:
            return led.acknowledge(request.member_id, acknowledgements)
        known.complete(
            ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                "This server does not host this topic-partition.",
            )
        )
    except ApiError as error:
        known.complete(error)
    return known


def _read(request: Any, version: int, batches: Iterable[Any]) -> list[Acknowledgement]:
    """Return the acknowledgements of a partition; raise :class:`ApiError` if they are invalid."""
    has_renewals = version >= FIRST_VERSION_WITH_RENEWALS
    highest = AcknowledgeType.RENEW if has_renewals else AcknowledgeType.REJECT
    found: list[Acknowledgement] = []
    last_offset = -1
    for batch in batches:
        types = tuple(batch.acknowledge_types)
        size = batch.last_offset - batch.first_offset + 1
        is_valid = (
            last_offset <= batch.first_offset <= batch.last_offset
            and len(types) in (1, size)
            and all(0 <= each <= highest for each in types)
            and (AcknowledgeType.RENEW not in types or request.is_renew_ack)
        )
        if not is_valid:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        found.append(Acknowledgement(batch.first_offset, batch.last_offset, types))
        last_offset = batch.last_offset
    return found


# -- leaders ---------------------------------------------------------------------------------------


def tell_leaders(
    services: ShareServices,
    context: RequestContext,
    response: Any,
    leader_class: Callable[..., Any],
) -> None:
    """Tell the client who leads the partitions that this broker does not lead (KIP-951)."""
    image = services.image
    endpoint_class = element_class(response, "node_endpoints")
    told: set[int] = set()
    for topic in response.responses:
        known = image.topics_by_id.get(topic.topic_id)
        for partition in topic.partitions:
            if partition.error_code not in LEADER_HAS_MOVED or known is None:
                continue
            found = known.partitions.get(partition.partition_index)
            if found is None:
                continue
            partition.current_leader = leader_class(
                leader_id=found.leader, leader_epoch=found.leader_epoch
            )
            node = image.brokers.get(found.leader)
            address = None if node is None else context.address_of(node)
            if node is not None and address is not None and found.leader not in told:
                told.add(found.leader)
                host, port = address
                response.node_endpoints.append(
                    endpoint_class(node_id=found.leader, host=host, port=port, rack=node.rack)
                )
