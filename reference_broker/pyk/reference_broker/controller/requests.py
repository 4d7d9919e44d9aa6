"""The requests that the controller decides on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.schema import Message
from pyk.reference_broker.coordinator.decision import Decision

from .shard import ControllerShard


def decide(shard: ControllerShard, request: Any) -> tuple[Message, Decision]:
    """Return the response of the controller to a request, and what it decides."""
    return _DECIDES[request.api_key](shard, request)


_DECIDES: dict[ApiKey, Callable[[ControllerShard, Any], tuple[Message, Decision]]] = {
    ApiKey.CREATE_TOPICS: ControllerShard.create_topics,
    ApiKey.CREATE_PARTITIONS: ControllerShard.create_partitions,
    ApiKey.DELETE_TOPICS: ControllerShard.delete_topics,
    ApiKey.ALTER_CONFIGS: ControllerShard.replace_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ControllerShard.alter_configs,
    ApiKey.UPDATE_FEATURES: ControllerShard.update_features,
    ApiKey.BROKER_REGISTRATION: ControllerShard.register_broker,
    ApiKey.ALLOCATE_PRODUCER_IDS: ControllerShard.allocate_producer_ids,
}
