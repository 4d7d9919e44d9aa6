"""Streams groups: what a client may use, and what it does not get to see."""

from __future__ import annotations

from typing import Any

from pyk.protocol.acls import AclOperation
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.group.streams.topology import used_topics
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.handlers.streams_groups import names_error

from .call import Call
from .groups import describe_members_without
from .topics import topic_refusal


def heartbeat(call: Call) -> HandlerResult:
    """Refuse a topology with a topic that the client may not describe."""
    topology = call.request.topology
    if topology is None or names_error(topology) is not None:
        return call.proceed()  # the handler refuses it for its names
    refusals = [topic_refusal(call, AclOperation.DESCRIBE, name) for name in used_topics(topology)]
    code = next(filter(None, refusals), ErrorCode.NONE)
    return call.refuse(code) if code else call.proceed()


def _without_hidden_topology(call: Call, group: Any) -> Any:
    names = [] if group.topology is None else used_topics(group.topology)
    if not any(topic_refusal(call, AclOperation.DESCRIBE, name) for name in names):
        return group
    return type(group)(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message="The described group uses topics that the client is not authorized to "
        "describe.",
    )


describe = describe_members_without(_without_hidden_topology)
"""Refuse groups that the client may not describe, or whose topics it may not describe."""
