"""FindCoordinator: which broker coordinates a group, a transaction, or another kind of shard."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.shards import Shards, partition_for
from pyk.reference_broker.coordinator.share.kind import SHARE_KEY_TYPE
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.topic_creation import TopicCreator

from .context import RequestContext

FIRST_VERSION_IN_BATCHES = 4
FIRST_VERSION_OF_SHARE_GROUPS = 6


class CoordinatorServices(Protocol):
    """The services that FindCoordinator uses."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def shards(self) -> Shards: ...
    @property
    def topics(self) -> TopicCreator: ...


def find_coordinator(
    services: CoordinatorServices, request: FindCoordinatorRequest, context: RequestContext
) -> HandlerResult:
    """Return the coordinator of each key; the first request creates the internal topic."""
    kind = services.shards.kind_of_keys(request.key_type)
    if kind is not None and kind.topic not in services.image.topics:
        created = services.topics.auto_create(kind.topic)
        return created.then(lambda _: _find(services, request, context))
    return _find(services, request, context)


def _find(
    services: CoordinatorServices, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    if context.version >= FIRST_VERSION_IN_BATCHES:
        return FindCoordinatorResponse(
            coordinators=[
                _coordinator(services, context, request.key_type, key)
                for key in request.coordinator_keys
            ]
        )
    found = _coordinator(services, context, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _coordinator(
    services: CoordinatorServices, context: RequestContext, key_type: int, key: str
) -> Coordinator:
    kind = services.shards.kind_of_keys(key_type)
    if kind is None:
        message = "This broker coordinates groups, transactions and share partitions only."
        return _not_found(key, ErrorCode.INVALID_REQUEST, message)
    is_too_old = key_type == SHARE_KEY_TYPE and context.version < FIRST_VERSION_OF_SHARE_GROUPS
    if is_too_old or not kind.is_key(key):
        return _not_found(key, ErrorCode.INVALID_REQUEST)
    topic = services.image.topics.get(kind.topic)
    if topic is None:
        return _not_found(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    partition = topic.partitions[partition_for(key, len(topic.partitions))]
    node = services.image.brokers.get(partition.leader)
    address = context.address_of(node) if node is not None else None
    if address is None:
        return _not_found(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    host, port = address
    return Coordinator(key=key, node_id=partition.leader, host=host, port=port)


def _not_found(key: str, code: ErrorCode, message: str = "") -> Coordinator:
    return Coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=message)
