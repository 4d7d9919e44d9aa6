"""Gather the health and the counters of a consumer from its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_reader import FetchReader
from pyk.clients.consumer.fetching.node_fetcher import LANE
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.engine.client import Client
from pyk.clients.engine.reachability import UnreachableNode

if TYPE_CHECKING:
    from pyk.clients.consumer.faces.health import ConsumerHealth, ConsumerStats
    from pyk.clients.consumer.group.consumer_group import ConsumerGroup


class Standing:
    """The health of one consumer; ``topic_errors`` returns why topics cannot be read, and
    ``handler_problems`` which handlers do not return."""

    def __init__(
        self,
        client: Client,
        partitions: AssignedPartitions,
        buffer: FetchBuffer,
        reader: FetchReader,
        group: ConsumerGroup | None,
        *,
        topic_errors: Callable[[], Mapping[str, BaseException]],
        handler_problems: Callable[[float], tuple[str, ...]],
    ) -> None:
        self._client = client
        self._partitions = partitions
        self._buffer = buffer
        self._reader = reader
        self._group = group
        self._topic_errors = topic_errors
        self._handler_problems = handler_problems

    def stats(self) -> ConsumerStats:
        """Return the consumer's counters at this moment."""
        from pyk.clients.consumer.faces.health import ConsumerStats

        return ConsumerStats(
            records=self._reader.taken + self._reader.polled,
            assigned_partitions=len(self._partitions.topic_partitions),
            paused_partitions=sum(assigned.buffer.is_paused for assigned in self._partitions),
            buffered_bytes=self._buffer.buffered_bytes,
        )

    def health(self) -> ConsumerHealth:
        """Return the state of each partition, and of the membership, at this moment."""
        from pyk.clients.consumer.faces.health import ConsumerHealth, partition_health

        now, image = self._client.clock.now(), self._client.metadata
        partitions = {
            assigned.topic_partition: partition_health(
                assigned,
                now,
                has_leader=image.leader(assigned.topic_partition) is not None,
                is_throttled=self._is_throttled(assigned, now),
            )
            for assigned in self._partitions
        }
        group = self._group
        member = group.membership if group is not None and group.is_member else None
        return ConsumerHealth(
            unreachable_nodes=tuple(node.told(now) for node in self._needed_but_unreachable()),
            group_state=member.standing.state if member is not None else None,
            group_error=self._client.failure or (group.problem(now) if group else None),
            partitions=partitions,
            topics=self._topic_errors(),
            handlers=self._handler_problems(now),
        )

    def _is_throttled(self, assigned: AssignedPartition, now: float) -> bool:
        node_id = assigned.node_to_fetch(now)
        return node_id is not None and self._client.throttled_until(node_id, LANE) > now

    def _needed_but_unreachable(self) -> list[UnreachableNode]:
        """Return the unreachable nodes that lead assigned partitions; all of them without an
        assignment."""
        image = self._client.metadata
        leaders = {image.leader(assigned.topic_partition) for assigned in self._partitions}
        return [
            node
            for node in self._client.pool.unreachable_nodes()
            if not leaders or node.node_id in leaders
        ]
