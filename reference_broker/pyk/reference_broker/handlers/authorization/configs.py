"""Configurations: those of topics and groups go by these, all others by the cluster."""

from __future__ import annotations

from typing import Any

from pyk.protocol.acls import AclOperation
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)

from .call import Call, by_item
from .conditions import group_refusal
from .topics import topic_refusal

_OF_CLUSTER = (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE, CLIENT_METRICS_RESOURCE)


def _refusal(call: Call, operation: AclOperation, resource: Any) -> ErrorCode:
    """Return why a resource is refused; one of an unknown type is left to the handler."""
    kind, name = resource.resource_type, resource.resource_name
    if kind == TOPIC_RESOURCE:
        return topic_refusal(call, operation, name)
    if kind == GROUP_RESOURCE:
        return group_refusal(call, operation, name)
    if kind not in _OF_CLUSTER or call.access.may_on_cluster(operation):
        return ErrorCode.NONE
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


describe_configs = by_item(
    "resources",
    "results",
    lambda call, resource: _refusal(call, AclOperation.DESCRIBE_CONFIGS, resource),
)
"""Refuse resources whose configurations the client may not describe."""

alter_configs = by_item(
    "resources",
    "responses",
    lambda call, resource: _refusal(call, AclOperation.ALTER_CONFIGS, resource),
    unique=lambda resource: (resource.resource_type, resource.resource_name),
)
"""Refuse resources whose configurations the client may not alter."""
