"""The cluster as the admin client describes it. Pure."""

from __future__ import annotations

from pyk.clients.admin.authorized_operations import authorized_operations
from pyk.clients.engine.metadata import MetadataUpdate, Node
from pyk.clients.errors import error_for
from pyk.protocol.acls import AclOperation
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from pyk.runtime import slotted

FIRST_VERSION_WITH_FENCED_BROKERS = 2


@slotted.frozen
class ClusterDescription:
    """The cluster and its brokers."""

    cluster_id: str | None
    controller_id: int | None
    """The broker to which administrative requests go."""
    nodes: tuple[Node, ...]
    fenced_node_ids: frozenset[int] = frozenset()
    """Those of the nodes that are registered but do not serve, if they were asked for."""
    authorized_operations: frozenset[AclOperation] | None = None
    """None if they were not asked for."""


def describe_request(*, fenced: bool, operations: bool) -> DescribeClusterRequest:
    return DescribeClusterRequest(
        include_cluster_authorized_operations=operations, include_fenced_brokers=fenced
    )


def described_cluster(response: DescribeClusterResponse) -> ClusterDescription:
    """Return the cluster; raise the error of the response."""
    if response.error_code != ErrorCode.NONE:
        raise error_for(response.error_code, response.error_message, api_key=response.api_key)
    brokers = sorted(response.brokers, key=lambda broker: broker.broker_id)
    nodes = tuple(Node(one.broker_id, one.host, one.port, one.rack) for one in brokers)
    return ClusterDescription(
        cluster_id=response.cluster_id,
        controller_id=response.controller_id if response.controller_id >= 0 else None,
        nodes=nodes,
        fenced_node_ids=frozenset(one.broker_id for one in brokers if one.is_fenced),
        authorized_operations=authorized_operations(response.cluster_authorized_operations),
    )


def described_by_metadata(update: MetadataUpdate, operations: int) -> ClusterDescription:
    """Return the cluster as brokers before 2.8 tell it, in their metadata."""
    nodes = sorted(update.nodes.values(), key=lambda node: node.node_id)
    return ClusterDescription(
        update.cluster_id,
        update.controller_id,
        tuple(nodes),
        authorized_operations=authorized_operations(operations),
    )
