"""DescribeQuorum (KIP-595): the quorum of the metadata log, which is this node alone. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.listeners import Endpoint
from pyk.runtime import slotted

from .features import KRAFT_VERSION
from .image import MetadataImage
from .log_dirs import NO_DIRECTORY
from .names import CLUSTER_METADATA_TOPIC

if TYPE_CHECKING:
    from pyk.protocol.messages.describe_quorum import (
        DescribeQuorumRequest,
        DescribeQuorumResponse,
        ResponsePartitionData,
    )


@slotted.frozen(kw_only=True)
class Quorum:
    """The only voter and how far its metadata log is."""

    node_id: int
    directory_id: UUID = NO_DIRECTORY
    leader_epoch: int
    high_watermark: int
    log_end_offset: int


def describe_quorum(
    quorum: Quorum, image: MetadataImage, now_ms: int, request: DescribeQuorumRequest
) -> DescribeQuorumResponse:
    """Describe the quorum if its partition is what is asked for, and nothing else is."""
    from pyk.protocol.messages.describe_quorum import (
        DescribeQuorumResponse,
        Listener,
        Node,
        ResponseTopicData,
    )

    asked = [(topic.topic_name, each.partition_index) for topic in request.topics
             for each in topic.partitions]  # fmt: skip
    if asked != [(CLUSTER_METADATA_TOPIC, 0)]:
        return DescribeQuorumResponse(
            topics=[
                ResponseTopicData(
                    topic_name=topic.topic_name,
                    partitions=[_unknown(each.partition_index) for each in topic.partitions],
                )
                for topic in request.topics
            ]
        )
    listeners = [
        Listener(name=one.listener, host=one.host, port=one.port)
        for one in quorum_endpoints(quorum, image)
    ]
    directory_id = quorum.directory_id if KRAFT_VERSION in image.features else NO_DIRECTORY
    return DescribeQuorumResponse(
        topics=[
            ResponseTopicData(
                topic_name=CLUSTER_METADATA_TOPIC,
                partitions=[_partition(quorum, directory_id, now_ms)],
            )
        ],
        nodes=[Node(node_id=quorum.node_id, listeners=listeners)],
    )


def quorum_endpoints(quorum: Quorum, image: MetadataImage) -> list[Endpoint]:
    """Return where the only voter is reached.

    The controller has no listener of its own: brokers' listeners lead to it.
    """
    node = image.brokers.get(quorum.node_id)
    return [] if node is None else list(node.endpoints.values())


def _unknown(number: int) -> ResponsePartitionData:
    from pyk.protocol.messages.describe_quorum import ResponsePartitionData

    return ResponsePartitionData(
        partition_index=number,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="This server does not host this topic-partition.",
    )


def _partition(quorum: Quorum, directory_id: UUID, now_ms: int) -> ResponsePartitionData:
    from pyk.protocol.messages.describe_quorum import ReplicaState, ResponsePartitionData

    return ResponsePartitionData(
        leader_id=quorum.node_id,
        leader_epoch=quorum.leader_epoch,
        high_watermark=quorum.high_watermark,
        current_voters=[
            ReplicaState(
                replica_id=quorum.node_id,
                replica_directory_id=directory_id,
                log_end_offset=quorum.log_end_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
        ],
    )
