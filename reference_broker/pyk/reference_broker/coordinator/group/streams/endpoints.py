"""Which stores can be queried at which member: the endpoints of a group with partitions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pyk.protocol.messages.streams_group_heartbeat import (
    Endpoint,
    EndpointToPartitions,
    TopicPartition,
)

from .configured_topology import ConfiguredTopology
from .member import StreamsMember
from .tasks import TaskId, by_subtopology

PartitionCount = Callable[[str], int]
"""Returns how many partitions a topic has."""


def endpoints_of(
    members: Iterable[StreamsMember], topology: ConfiguredTopology, count: PartitionCount
) -> list[EndpointToPartitions]:
    """Return the endpoints of the members that have one, each with what its tasks read."""
    return [
        EndpointToPartitions(
            user_endpoint=Endpoint(host=member.user_endpoint[0], port=member.user_endpoint[1]),
            active_partitions=list(_partitions(member.assigned.active, topology, count)),
            standby_partitions=list(_partitions(member.assigned.standby, topology, count)),
        )
        for member in members
        if member.user_endpoint is not None
    ]


def _partitions(
    tasks: Iterable[TaskId], topology: ConfiguredTopology, count: PartitionCount
) -> Iterator[TopicPartition]:
    subtopologies = topology.subtopologies or {}
    for subtopology_id, numbers in by_subtopology(tasks):
        if subtopology_id not in subtopologies:
            continue
        for topic in subtopologies[subtopology_id].all_sources:
            # A topic with fewer partitions than there are tasks is read by the first of them only.
            yield TopicPartition(topic=topic, partitions=numbers[: count(topic)])
