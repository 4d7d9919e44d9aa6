"""Ask leaders for the offsets of logs, by time or by name. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients.errors import KafkaError
from pyk.clients.offsets.partition_results import known_epoch, read_partitions
from pyk.clients.offsets.specs import ListedOffset
from pyk.clients.topic_partition import TopicPartition, by_topic
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

NO_REPLICA = -1
UNKNOWN_EPOCH = -1


def list_offsets_request(
    times: Mapping[TopicPartition, int],
    leader_epochs: Mapping[TopicPartition, int] | None = None,
    *,
    read_committed: bool,
    timeout_ms: int,
) -> ListOffsetsRequest:
    """Return the request for the offsets that belong to ``times``, or to an :class:`OffsetSpec`.

    A leader that has another epoch than ``leader_epochs`` says refuses (KIP-320).
    """
    epochs = leader_epochs or {}
    return ListOffsetsRequest(
        replica_id=NO_REPLICA,
        isolation_level=int(read_committed),
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(
                        partition_index=place.partition,
                        current_leader_epoch=epochs.get(place, UNKNOWN_EPOCH),
                        timestamp=int(times[place]),
                    )
                    for place in places
                ],
            )
            for topic, places in by_topic(times).items()
        ],
        timeout_ms=timeout_ms,
    )


def listed_offsets(
    response: ListOffsetsResponse,
) -> dict[TopicPartition, ListedOffset | KafkaError | None]:
    """Return the offset of each partition; None if no record is that new."""
    return read_partitions(response.topics, _listed, response.api_key)


def _listed(found: ListOffsetsPartitionResponse) -> ListedOffset | None:
    if found.offset < 0:
        return None
    timestamp = found.timestamp if found.timestamp >= 0 else None
    return ListedOffset(found.offset, timestamp, known_epoch(found.leader_epoch))
