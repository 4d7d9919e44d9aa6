"""FindCoordinator: which broker coordinates a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC
from pyk.reference_broker.coordinator.group.coordinator import partition_for
from pyk.reference_broker.deferred import HandlerResult

from .context import RequestContext

if TYPE_CHECKING:
    from pyk.reference_broker.broker import Broker

GROUP, TRANSACTION = 0, 1
FIRST_VERSION_IN_BATCHES = 4
NO_TRANSACTIONS = (
    "The reference broker has no transactions; run transactional producers against Apache Kafka."
)


def find_coordinator(
    broker: Broker, request: FindCoordinatorRequest, context: RequestContext
) -> HandlerResult:
    """Return the coordinator of each key; the first request creates the topic of groups."""
    if request.key_type == GROUP and GROUP_METADATA_TOPIC not in broker.image.topics:
        created = broker.auto_create_topic(GROUP_METADATA_TOPIC)
        return created.then(lambda _: _find(broker, request, context))
    return _find(broker, request, context)


def _find(
    broker: Broker, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    if context.version >= FIRST_VERSION_IN_BATCHES:
        return FindCoordinatorResponse(
            coordinators=[
                _coordinator(broker, context, request.key_type, key)
                for key in request.coordinator_keys
            ]
        )
    found = _coordinator(broker, context, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _coordinator(broker: Broker, context: RequestContext, key_type: int, key: str) -> Coordinator:
    if key_type == TRANSACTION:
        # The one code at which every client gives up at once: librdkafka retries all others.
        return _not_found(key, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NO_TRANSACTIONS)
    if key_type != GROUP:
        message = "This broker coordinates consumer groups only."
        return _not_found(key, ErrorCode.INVALID_REQUEST, message)
    topic = broker.image.topics.get(GROUP_METADATA_TOPIC)
    if topic is None:
        return _not_found(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    partition = topic.partitions[partition_for(key, len(topic.partitions))]
    node = broker.image.brokers.get(partition.leader)
    if node is None:
        return _not_found(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    host = context.address_of(node.host)
    return Coordinator(key=key, node_id=node.node_id, host=host, port=node.port)


def _not_found(key: str, code: ErrorCode, message: str = "") -> Coordinator:
    return Coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=message)
