"""DescribeQuorum; AddRaftVoter and RemoveRaftVoter (KIP-853), refused: the quorum is fixed."""

from __future__ import annotations

from typing import Any, Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from pyk.protocol.messages.describe_quorum import DescribeQuorumRequest
from pyk.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
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


class ClusterServices(Protocol):
    """The services that requests about voters use."""

    @property
    def cluster_id(self) -> str: ...


def add_raft_voter(
    services: ClusterServices, request: AddRaftVoterRequest, context: RequestContext
) -> AddRaftVoterResponse:
    """Refuse to add a voter: ``kraft.version`` is 0."""
    code, message = _refusal(services, request.cluster_id, "adding")
    return AddRaftVoterResponse(error_code=code, error_message=message)


def remove_raft_voter(
    services: ClusterServices, request: RemoveRaftVoterRequest, context: RequestContext
) -> RemoveRaftVoterResponse:
    """Refuse to remove a voter: ``kraft.version`` is 0."""
    code, message = _refusal(services, request.cluster_id, "removing")
    return RemoveRaftVoterResponse(error_code=code, error_message=message)


def _refusal(services: ClusterServices, cluster_id: str | None, what: str) -> tuple[ErrorCode, str]:
    if cluster_id is not None and cluster_id != services.cluster_id:
        return (
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f'The given id "{cluster_id}" doesn\'t match the cluster id "{services.cluster_id}"',
        )
    return (
        ErrorCode.UNSUPPORTED_VERSION,
        f"Cluster doesn't support {what} voter because the kraft.version feature is 0",
    )
