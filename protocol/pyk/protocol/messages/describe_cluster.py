"""DescribeCluster: the nodes of the cluster, without any topics."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@request(ApiKey.DESCRIBE_CLUSTER, versions="0-2", flexible="0+")
class DescribeClusterRequest(Message):
    """Ask for the nodes of the cluster: brokers, or controllers on their own listener."""

    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8(versions="1+", default=1)
    """1 brokers, 2 controllers."""
    include_fenced_brokers: bool = boolean(versions="2+")
    """Include brokers that are registered but do not serve."""


@struct
class DescribeClusterBroker(Struct):
    """A node and its address."""

    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)
    is_fenced: bool = boolean(versions="2+")


@response(ApiKey.DESCRIBE_CLUSTER, versions="0-2", flexible="0+")
class DescribeClusterResponse(Message):
    """Describe the cluster."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    endpoint_type: int = int8(versions="1+", default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(default=-2147483648)
    """A bit per ACL operation; the lowest int32 if not asked for."""
