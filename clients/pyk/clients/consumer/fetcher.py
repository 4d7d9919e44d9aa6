"""Fetch from every node that leads an assigned partition: one request under way at each.

An answer's bytes go into the partitions' buffers as they are, and the next request leaves before
anybody looks into them.
"""

from __future__ import annotations

import asyncio
import logging

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.fetch_plan import NodePlan, Verdict, plan, verdict
from pyk.clients.consumer.fetch_session import (
    LAST_VERSION_WITH_TOPIC_NAMES,
    FetchLimits,
    FetchSession,
    rotated,
)
from pyk.clients.consumer.fetched_bytes import find_end
from pyk.clients.consumer.health import STALL_SECONDS
from pyk.clients.consumer.positions import Place, PlaceState, Positions
from pyk.clients.consumer.unreadable import cut_short_error
from pyk.clients.engine.client import Client
from pyk.clients.engine.metadata import leaderless
from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    error_for,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from pyk.protocol.records import FetchedRecords

log = logging.getLogger(__name__)

# The first version that says which transactions were aborted, and reads batches of magic 2.
FIRST_VERSION = 4
# How many answers in a row may be empty before their time is looked at.
PATIENCE = 3
STALLS_UNTIL_TOLD = 3


class Fetcher:
    """Keeps the buffers of all fetchable partitions filled.

    :meth:`look` is called whenever something may have become fetchable; it starts a task for each
    node that has something to give and none under way. A task ends when its node has nothing more.
    """

    def __init__(
        self, client: Client, config: ConsumerConfig, positions: Positions, buffer: FetchBuffer
    ) -> None:
        self._client = client
        self._config = config
        self._positions = positions
        self._buffer = buffer
        self._nodes: dict[int, NodeFetcher] = {}
        self._reserved: dict[int, int] = {}

    def look(self) -> None:
        """Begin to fetch from nodes that have something fetchable."""
        if self._start_nodes() and not self._buffer.wants_room:
            # Room that was made before the application knew to tell of it is seen by a second look.
            self._buffer.wants_room = True
            self._start_nodes()

    def _start_nodes(self) -> bool:
        """Start what can be started; tell whether a node is left that waits for room."""
        is_full = False
        for node_id, node_plan in self.plan().items():
            node = self._nodes.get(node_id)
            if node is None:
                node = self._nodes[node_id] = NodeFetcher(self, node_id)
            if node_plan.wanted:
                node.start()
            elif not node.is_running:
                is_full = True
        return is_full

    def plan(self) -> dict[int, NodePlan]:
        """Return what to fetch from each node now."""
        image = self._client.metadata
        for place in self._positions:
            epoch = image.leader_epoch(place.topic_partition)
            if epoch is not None:
                self._positions.leader_changed(place, epoch)
        return plan(
            self._positions, image, self._config.max_partition_fetch_bytes, self._client.clock.now()
        )

    def watch(self) -> None:
        """Look for partitions that stand still, help them, and tell the application in the end."""
        now = self._client.clock.now()
        for place in self._positions:
            leader = self._client.metadata.leader(place.topic_partition)
            if leader is None and place.failing_since is None:
                place.waits(leaderless(place.topic_partition), now)
            if place.is_behind and now - place.progressed_at > STALL_SECONDS:
                self._begin_anew(place, now)
            self._tell_of_lasting_failure(place, now)

    def _begin_anew(self, place: Place, now: float) -> None:
        """Ask everything anew. This should never be needed, but nobody thinks of everything."""
        log.warning("%s has records but gets none: fetches anew", place.topic_partition)
        place.progressed_at = now
        place.stalls += 1
        place.preferred_node = None
        self._client.request_metadata_update()
        for node in self._nodes.values():
            node.begin_new_session()
        if place.stalls == STALLS_UNTIL_TOLD:
            self.tell(place.topic_partition, _stalled(place))

    def _tell_of_lasting_failure(self, place: Place, now: float) -> None:
        if place.failing_since is None or place.error is None or place.buffer.error is not None:
            return
        if (now - place.failing_since) * 1000 > self._config.request_timeout_ms:
            self.tell(place.topic_partition, place.error)

    def tell(self, topic_partition: TopicPartition, error: KafkaError) -> None:
        """Have the application hear of an error that keeps a partition from being read."""
        self._buffer.fail(topic_partition, error)

    def reserve(self, node_id: int) -> int:
        """Return how many bytes a node may send, 0 for none: what is fetched stays bounded."""
        others = sum(size for node, size in self._reserved.items() if node != node_id)
        left = self._config.fetch_max_bytes - self._buffer.buffered_bytes - others
        # With less than this left, what would come is hardly worth a request.
        if left < min(self._config.max_partition_fetch_bytes, self._config.fetch_max_bytes):
            return 0
        self._reserved[node_id] = left
        return left

    def release(self, node_id: int) -> None:
        self._reserved.pop(node_id, None)


class NodeFetcher:
    """Fetches from one node, one request after the other, as long as there is something."""

    def __init__(self, fetcher: Fetcher, node_id: int) -> None:
        self._fetcher = fetcher
        self._client = fetcher._client
        self._config = fetcher._config
        self._positions = fetcher._positions
        self._buffer = fetcher._buffer
        self._node_id = node_id
        self._session = FetchSession()
        self.is_running = False
        self._failures = 0
        self._retry_at = 0.0
        self._turn = 0
        self._empty_answers = 0

    def begin_new_session(self) -> None:
        """Tell the node everything anew with the next request."""
        self._session.reset()

    def start(self) -> None:
        if not self.is_running:
            self.is_running = True
            self._client.supervisor.spawn(f"fetch from node {self._node_id}", self._run())

    async def _run(self) -> None:
        try:
            while await self._fetch_once():
                pass
        finally:
            self.is_running = False
            self._fetcher.release(self._node_id)

    async def _fetch_once(self) -> bool:
        """Fetch what there is to fetch; return False when there is nothing."""
        await self._back_off()
        begun = self._begin()
        if begun is None:
            self._buffer.wants_room = True
            begun = self._begin()
        if begun is None:
            return False
        node_plan, max_bytes = begun
        request = self._request(node_plan, max_bytes)
        sent_at = self._client.clock.now()
        try:
            response = await self._client.send(
                self._node_id,
                request,
                timeout_ms=self._config.request_timeout_ms,
                min_version=FIRST_VERSION,
                max_version=None if self._session.uses_topic_ids else LAST_VERSION_WITH_TOPIC_NAMES,
                lane="fetch",
            )
        except KafkaError as error:
            self._request_failed(node_plan, error)
            return True
        finally:
            self._fetcher.release(self._node_id)
        self._take(node_plan, response)
        self._slow_down(request, sent_at)
        return True

    def _begin(self) -> tuple[NodePlan, int] | None:
        """Return what to fetch and how many bytes of it, None if there is nothing, or no room."""
        node_plan = self._fetcher.plan().get(self._node_id)
        if node_plan is None or not node_plan.wanted:
            return None
        max_bytes = self._fetcher.reserve(self._node_id)
        return (node_plan, max_bytes) if max_bytes else None

    def _request(self, node_plan: NodePlan, max_bytes: int) -> FetchRequest:
        self._turn += 1
        wanted = {p: node_plan.wanted[p] for p in rotated(node_plan.wanted, self._turn)}
        limits = FetchLimits(
            max_wait_ms=self._max_wait_ms(node_plan),
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=max_bytes,
            isolation_level=int(self._config.reads_committed),
            rack=self._config.client_rack or "",
        )
        return self._session.request(wanted, limits)

    def _max_wait_ms(self, node_plan: NodePlan) -> int:
        """Return how long the node may wait for records.

        A request that waits holds up partitions that are left out of it for now. So it waits about
        as long as they have been left out already.
        """
        if not node_plan.is_hurried:
            return self._config.fetch_max_wait_ms
        return min(self._config.fetch_max_wait_ms, 1 << min(self._empty_answers, 16))

    def _slow_down(self, request: FetchRequest, sent_at: float) -> None:
        """Do not hammer a node that answers with nothing, and sooner than it was asked to."""
        now = self._client.clock.now()
        if self._empty_answers > PATIENCE and (now - sent_at) * 2000 < request.max_wait_ms:
            wait_ms = min(self._config.fetch_max_wait_ms, 1 << min(self._empty_answers, 16))
            self._retry_at = max(self._retry_at, now + wait_ms / 1000)

    async def _back_off(self) -> None:
        wait = self._retry_at - self._client.clock.now()
        if wait > 0:
            await asyncio.sleep(wait)

    def _request_failed(self, node_plan: NodePlan, error: KafkaError) -> None:
        """Ask anew after a while, and somebody else if metadata then say so."""
        now = self._client.clock.now()
        self._session.reset()
        self._failures += 1
        delay = self._client.retry_backoff.delay(self._failures, self._client.random.random())
        self._retry_at = now + delay
        self._client.request_metadata_update()
        for partition, version in node_plan.versions.items():
            place = self._positions.current(partition, version)
            if place is None:
                continue
            place.preferred_node = None
            self._positions.failed(place, version, error, now)
            place.retry_at = self._retry_at
            if not error.retriable:
                self._buffer.fail(partition, error)

    # -- answers -----------------------------------------------------------------------------------

    def _take(self, node_plan: NodePlan, response: FetchResponse) -> None:
        code = self._session.answered(response)
        if code is not ErrorCode.NONE:
            log.info("Node %d refuses a fetch: %s", self._node_id, code.name)
            self._request_failed(node_plan, error_for(code, node_id=self._node_id))
            return
        self._failures = 0
        leaders: dict[TopicPartition, tuple[int, int]] = {}
        expected = dict(node_plan.versions)
        has_records = False
        for topic in response.responses:
            name = topic.topic or self._session.name_of(topic.topic_id)
            for data in topic.partitions:
                partition = TopicPartition(name or "", data.partition_index)
                # What was not asked for, or comes twice, is not taken.
                version = expected.pop(partition, None)
                place = None if version is None else self._positions.current(partition, version)
                if place is None or place.state is not PlaceState.KNOWN:
                    continue
                has_records |= bool(data.records)
                self._take_partition(place, node_plan, data, leaders)
        self._empty_answers = 0 if has_records else self._empty_answers + 1
        if leaders:
            self._client.update_leaders(leaders, response.node_endpoints)

    def _take_partition(
        self,
        place: Place,
        node_plan: NodePlan,
        data: PartitionData,
        leaders: dict[TopicPartition, tuple[int, int]],
    ) -> None:
        code = ErrorCode(data.error_code)
        if code is not ErrorCode.NONE:
            if data.current_leader.leader_id >= 0:
                leader = data.current_leader
                leaders[place.topic_partition] = (leader.leader_id, leader.leader_epoch)
            self._partition_failed(place, node_plan, code, has_hint=bool(leaders))
            return
        now = self._client.clock.now()
        place.high_watermark = data.high_watermark
        place.last_stable_offset = data.last_stable_offset
        if data.preferred_read_replica >= 0:
            until = now + self._config.metadata_max_age_ms / 1000
            place.prefer(data.preferred_read_replica, until)
        if data.records:
            self._take_records(place, node_plan, data)
        if place.error is not None or place.stalls:
            self._buffer.heal(place.topic_partition)
        place.succeeded(now)

    def _take_records(self, place: Place, node_plan: NodePlan, data: PartitionData) -> None:
        partition = place.topic_partition
        offset = node_plan.wanted[partition].offset
        records = memoryview(data.records)
        end = find_end(records, offset)
        if not end.has_batch:
            error = cut_short_error(partition, offset, len(records))
            self._buffer.fail(partition, error, lasts=True)
            place.state = PlaceState.FAILED
            return
        aborted = None
        if self._config.reads_committed:
            aborted = [(a.producer_id, a.first_offset) for a in data.aborted_transactions or ()]
        fetched = FetchedRecords(
            partition.topic,
            partition.partition,
            records,
            offset,
            aborted_transactions=aborted,
            max_decompressed_bytes=self._config.max_decompressed_bytes,
        )
        place.fetched_epoch = end.leader_epoch
        place.progressed(self._client.clock.now())
        self._buffer.append(partition, fetched, len(records), end.next_offset)

    def _partition_failed(
        self, place: Place, node_plan: NodePlan, code: ErrorCode, *, has_hint: bool
    ) -> None:
        now = self._client.clock.now()
        partition = place.topic_partition
        is_follower = place.preferred_node is not None
        place.preferred_node = None
        decision = verdict(code)
        log.debug("Fetch of %s from node %d: %s", partition, self._node_id, code.name)
        if decision is Verdict.OUT_OF_RANGE:
            if is_follower:
                return  # it lags: the leader knows better
            self._out_of_range(place, node_plan, now)
            return
        error = error_for(code, topic=partition.topic, partition=partition.partition)
        self._positions.failed(place, place.version, error, now)
        if decision is Verdict.REFRESH:
            if has_hint:
                place.retry_at = now  # KIP-951: the answer names the new leader
            self._client.request_metadata_update()
        elif decision is Verdict.FAIL:
            self._buffer.fail(partition, error)

    def _out_of_range(self, place: Place, node_plan: NodePlan, now: float) -> None:
        asked = node_plan.wanted[place.topic_partition].offset
        if asked == place.buffer.position:
            self._positions.out_of_range(place, now)
        elif place.buffer.fetches:
            # Headers said so before anybody had checked them: read what there is, then fetch again.
            place.buffer.fetch_offset = -1


def _stalled(place: Place) -> KafkaError:
    partition = place.topic_partition
    return KafkaTimeoutError(
        f"{partition} has records from offset {place.buffer.fetch_offset} on, but none came for "
        f"{STALLS_UNTIL_TOLD * STALL_SECONDS:.0f} seconds",
        topic=partition.topic,
        partition=partition.partition,
        offset=place.buffer.fetch_offset,
    )
