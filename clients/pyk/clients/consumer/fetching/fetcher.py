"""Keep fetching from every node that leads an assigned partition, and detect stalled partitions."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.fetching.fetch_memory import FetchMemory
from pyk.clients.consumer.fetching.fetch_plan import NodePlan, plan
from pyk.clients.consumer.fetching.node_fetcher import LANE, NodeFetcher
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes import MetadataChanges
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.consumer.positions.progress import STALL_SECONDS
from pyk.clients.consumer.positions.remedies import Remedy, remedy_for, tells_after
from pyk.clients.consumer.positions.topic_watch import unavailable
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, KafkaTimeoutError, NodeUnavailableError

log = logging.getLogger(__name__)


class Fetcher:
    """Keeps the buffers of all fetchable partitions filled.

    :meth:`look` is called whenever something may have become fetchable; it sends a request to each
    node that may have records and has none in flight. Responses lead to the next requests by
    themselves, as long as a node has records. ``rejoin`` makes the member of a group join again.
    """

    def __init__(
        self,
        client: Client,
        config: ConsumerConfig,
        partitions: AssignedPartitions,
        positions: Positions,
        writer: FetchWriter,
        *,
        metadata_changes: MetadataChanges,
        rejoin: Callable[[str], object] | None = None,
    ) -> None:
        self._client = client
        self._config = config
        self._partitions = partitions
        self._positions = positions
        self._metadata_changes = metadata_changes
        self._writer = writer
        self._rejoin = rejoin
        self._buffer = writer.buffer
        self._nodes: dict[int, NodeFetcher] = {}
        self._memory = FetchMemory(
            total=config.buffer_memory,
            request=config.fetch_max_bytes,
            partition=config.max_partition_fetch_bytes,
        )

    def look(self) -> None:
        """Begin to fetch from nodes that have something fetchable."""
        if self._start_nodes() and not self._buffer.wants_room:
            # A second look sees room that was made before the application knew to report it.
            self._buffer.wants_room = True
            self._start_nodes()

    def _start_nodes(self) -> bool:
        """Start the fetches that can start; return whether a node waits for room."""
        is_full = False
        for node_id, node_plan in self._plans().items():
            node = self._node(node_id)
            if node_plan.wanted:
                node.start(node_plan)
            elif node_plan.waits_for_room and not node.is_running:
                is_full = True
        return is_full

    def _node(self, node_id: int) -> NodeFetcher:
        node = self._nodes.get(node_id)
        if node is None:
            node = self._nodes[node_id] = NodeFetcher(
                self._client,
                self._config,
                self._partitions,
                self._positions,
                self._writer,
                metadata_changes=self._metadata_changes,
                memory=self._memory,
                node_id=node_id,
            )
        return node

    def _plans(self) -> dict[int, NodePlan]:
        """Return what to fetch from each node now."""
        self._metadata_changes.apply(self._client.metadata)
        return plan(self._partitions, self._memory, self._client.clock.now())

    # -- what stands still -------------------------------------------------------------------------

    def watch(self) -> None:
        """Look for stalled partitions, help them, and finally tell the application."""
        now = self._client.clock.now()
        self._note_answers(now)
        for assigned in self._partitions:
            error = unavailable(assigned.topic_partition, self._client.metadata)
            if error is not None and type(error) is not type(assigned.error):
                assigned.waits(error, now)
            elif error is None and assigned.is_left_alone:
                self._writer.heal(assigned.buffer)
                assigned.recovered()
            if assigned.is_stalled(now):
                self._begin_again(assigned, now)
            self._tell_of_lasting_failure(assigned, now)

    def _note_answers(self, now: float) -> None:
        """Mark the partitions that need no response now, or whose request is in flight."""
        plans = self._plans()
        max_wait = self._config.fetch_max_wait_ms / 1000
        for assigned in self._partitions:
            node_id = assigned.node_to_fetch(now)
            node = None if node_id is None else self._nodes.get(node_id)
            node_plan = NodePlan() if node_id is None else plans.get(node_id, NodePlan())
            if node is not None and node_id is not None:
                assigned.progress.note_turns(node_id, node.answers, node.partition_count)
            if assigned.failing_since is not None or not assigned.is_fetchable:
                assigned.progress.answered_at = now
            elif _is_looked_after(assigned, node, node_plan, now):
                assigned.progress.answered_at = now + max_wait

    def _begin_again(self, assigned: AssignedPartition, now: float) -> None:
        """Help a stalled partition, each time with more. This should never be needed."""
        node_id = assigned.node_to_fetch(now)
        assigned.progress.stalled(now)
        stalls = assigned.progress.stalls
        remedy = remedy_for(stalls, has_group=self._rejoin is not None)
        log.warning(
            "%s gets no records since %.0f seconds: %s",
            assigned.topic_partition,
            stalls * STALL_SECONDS,
            remedy.value,
        )
        assigned.preferred_node = None
        self._client.metadata_keeper.request_update()
        for node in self._nodes.values():
            node.open_new_session()
        match remedy:
            case Remedy.CONNECTION if node_id is not None:
                with contextlib.suppress(NodeUnavailableError):  # metadata do not name it any more
                    self._client.pool.connection(node_id, LANE).reconnect(_stalled(assigned))
            case Remedy.REJOIN if self._rejoin is not None:
                self._rejoin(f"{assigned.topic_partition} gets no records")
            case Remedy.TELL:
                self._writer.fail(assigned.buffer, _stalled(assigned))

    def _tell_of_lasting_failure(self, assigned: AssignedPartition, now: float) -> None:
        """Tell the application each ``request_timeout_ms``, or the log while an outage is short."""
        failing_since, error = assigned.failing_since, assigned.error
        if failing_since is None or error is None or assigned.buffer.error is not None:
            return
        since = failing_since if assigned.told_at is None else assigned.told_at
        request_timeout = self._config.request_timeout_ms / 1000
        if now - since <= request_timeout:
            return
        assigned.told_at = now
        if now - failing_since > tells_after(error, request_timeout):
            self._writer.fail(assigned.buffer, error)
        else:
            log.warning(
                "%s has had no answer for %.0f seconds: %s",
                assigned.topic_partition,
                now - failing_since,
                error,
            )


def _is_looked_after(
    assigned: AssignedPartition, node: NodeFetcher | None, node_plan: NodePlan, now: float
) -> bool:
    """Return whether a partition is requested, or would be if its node were not backing off."""
    if node_plan.waits_for_room and not node_plan.wanted:
        return True
    if node is None or not node.is_running:
        return False
    under_way = node.plan_under_way
    is_asked_for = under_way is not None and assigned.topic_partition in under_way.wanted
    return is_asked_for or node.waits_until() > now


def _stalled(assigned: AssignedPartition) -> KafkaError:
    partition = assigned.topic_partition
    offset = assigned.buffer.fetch_offset
    what = (
        f"has records from offset {offset} on, but none came"
        if assigned.is_behind
        else f"was fetched from offset {offset} on, but no response came"
    )
    return KafkaTimeoutError(
        f"{partition} {what} for {assigned.progress.stalls * STALL_SECONDS:.0f} seconds",
        topic=partition.topic,
        partition=partition.partition,
        offset=offset,
    )
