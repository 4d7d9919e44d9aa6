"""DescribeQuorum; AddRaftVoter and RemoveRaftVoter (KIP-853): the controller answers."""

from __future__ import annotations

from typing import Any, Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_quorum import DescribeQuorumRequest
from pyk.protocol.registry import response_class
from pyk.protocol.schema import Message
from pyk.reference_broker.deferred import Deferred, HandlerResult

from .context import RequestContext
from .forwarding import ForwardingServices, forward

FIRST_VERSION_WITH_NODES = 2


def describe_quorum(
    services: ForwardingServices, request: DescribeQuorumRequest, context: RequestContext
) -> HandlerResult:
    """Return what the controller tells of the quorum."""
    described = forward(services, request, context)
    if context.version >= FIRST_VERSION_WITH_NODES or not isinstance(described, Deferred):
        return described

    def without_nodes(response: Any) -> Message:
        response.nodes = []
        return response  # type: ignore[no-any-return]

    return described.then(without_nodes)


class VoterServices(ForwardingServices, Protocol):
    """The services that requests about voters use."""

    @property
    def cluster_id(self) -> str: ...


def change_voters(services: VoterServices, request: Any, context: RequestContext) -> HandlerResult:
    """Return the controller's answer to AddRaftVoter or RemoveRaftVoter (KIP-853)."""
    cluster_id = request.cluster_id
    if cluster_id is None or cluster_id == services.cluster_id:
        return forward(services, request, context)
    response: Any = response_class(request.api_key)()
    response.error_code = ErrorCode.INCONSISTENT_CLUSTER_ID
    response.error_message = (
        f'The given id "{cluster_id}" doesn\'t match the cluster id "{services.cluster_id}"'
    )
    return response  # type: ignore[no-any-return]
