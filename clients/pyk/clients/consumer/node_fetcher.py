"""Fetch from one node: one request under way, the next as soon as it is answered.

An answer's bytes go into the partitions' buffers as they are, and the next request leaves before
anybody looks into them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.fetch_plan import NodePlan, Verdict, verdict
from pyk.clients.consumer.fetch_session import (
    LAST_VERSION_WITH_TOPIC_NAMES,
    FetchLimits,
    FetchSession,
    rotated,
)
from pyk.clients.consumer.fetched_bytes import find_end
from pyk.clients.consumer.place import Place, PlaceState
from pyk.clients.consumer.positions import Positions
from pyk.clients.consumer.unreadable import cut_short_error
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from pyk.protocol.records import FetchedRecords
from pyk.protocol.versions import LAST_VERSION, VersionRange

log = logging.getLogger(__name__)

# The first version that says which transactions were aborted, and reads batches of magic 2.
FIRST_VERSION = 4
VERSIONS = VersionRange(FIRST_VERSION, LAST_VERSION)
VERSIONS_WITH_NAMES = VersionRange(FIRST_VERSION, LAST_VERSION_WITH_TOPIC_NAMES)
# How many answers in a row may be empty before their time is looked at.
PATIENCE = 3


class NodeFetcher:
    """Fetches from one node, one request after the other, as long as there is something.

    ``plan`` returns what to fetch from each node at that moment.
    """

    def __init__(
        self,
        client: Client,
        config: ConsumerConfig,
        positions: Positions,
        buffer: FetchBuffer,
        *,
        node_id: int,
        plan: Callable[[], Mapping[int, NodePlan]],
    ) -> None:
        self._client = client
        self._config = config
        self._positions = positions
        self._buffer = buffer
        self._plan = plan
        self._node_id = node_id
        self._session = FetchSession()
        self._doubts_session = False
        self.is_running = False
        self.answers = 0
        """How many fetches the node has answered."""
        self.partition_count = 0
        """How many partitions the last request was for."""
        self.plan_under_way: NodePlan | None = None
        """What the request under way asks for, None while there is none."""
        self._failures = 0
        self._retry_at = 0.0
        self._turn = 0
        self._empty_answers = 0

    def open_new_session(self) -> None:
        """Tell the node everything again with the next request."""
        self._doubts_session = True

    @property
    def waits_until(self) -> float:
        """When the node may be asked again: after a failure, or as it has asked for patience."""
        return max(self._retry_at, self._client.throttled_until(self._node_id, "fetch"))

    def start(self, node_plan: NodePlan) -> None:
        """Fetch what is planned, unless a request is under way or waits for its time."""
        if self.is_running:
            return
        if self.waits_until > self._client.clock.now():
            self._go_on()
        else:
            self._send(node_plan)

    def _go_on(self) -> None:
        """Fetch what there is to fetch now, or once it is time; end if there is nothing."""
        self.is_running = False
        self.plan_under_way = None
        if self._client.is_closed:
            return
        waits_until = self.waits_until
        if waits_until > self._client.clock.now():
            self.is_running = True
            asyncio.get_running_loop().call_at(waits_until, self._guarded, self._go_on)
            return
        node_plan = self._plan_of_node()
        if node_plan is None and not self._buffer.wants_room:
            # Room that was made before the application knew to tell of it is seen by a second look.
            self._buffer.wants_room = True
            node_plan = self._plan_of_node()
        if node_plan is not None:
            self._send(node_plan)

    def _send(self, node_plan: NodePlan) -> None:
        self.is_running = True
        self.plan_under_way = node_plan
        self.partition_count = len(node_plan.wanted)
        request = self._request(node_plan)
        answer = FetchAnswer(self, node_plan, request, self._client.clock.now())
        try:
            self._client.submit(
                self._node_id,
                request,
                answer,
                timeout_ms=self._config.request_timeout_ms,
                within=VERSIONS if self._session.uses_topic_ids else VERSIONS_WITH_NAMES,
                lane="fetch",
            )
        except KafkaError as error:
            answer.set_exception(error)

    def answered(self, answer: FetchAnswer, response: FetchResponse) -> None:
        """Take an answer, in the turn of the loop that received it, and fetch on."""

        def take() -> None:
            self._take(answer.node_plan, response)
            self._slow_down(answer.request, answer.sent_at)
            self._go_on()

        self._guarded(take)

    def failed(self, answer: FetchAnswer, error: Exception) -> None:
        """Take note that there is no answer, and fetch again later."""

        def retry() -> None:
            if not isinstance(error, KafkaError):
                raise error
            self._request_failed(answer.node_plan, error)
            # Not at once: it is the connection that tells, in the middle of its own work.
            asyncio.get_running_loop().call_soon(self._guarded, self._go_on)

        if not self._client.is_closed:
            self._guarded(retry)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Do a step of what would be a task, were that not so dear; fail as one does."""
        try:
            step()
        except Exception as mistake:
            self._client.supervisor.failed(f"fetch from node {self._node_id}", mistake)

    def _plan_of_node(self) -> NodePlan | None:
        """Return what to fetch, None if there is nothing, or no room."""
        node_plan = self._plan().get(self._node_id)
        return node_plan if node_plan is not None and node_plan.wanted else None

    def _request(self, node_plan: NodePlan) -> FetchRequest:
        self._turn += 1
        if self._doubts_session:
            self._doubts_session = False
            self._session.reset()
        wanted = {p: node_plan.wanted[p] for p in rotated(node_plan.wanted, self._turn)}
        limits = FetchLimits(
            max_wait_ms=self._max_wait_ms(node_plan),
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=node_plan.max_bytes,
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

    def _request_failed(self, node_plan: NodePlan, error: KafkaError) -> None:
        """Ask again after a while, and another node if metadata then say so."""
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
                self._buffer.fail(place.buffer, error)

    # -- answers -----------------------------------------------------------------------------------

    def _take(self, node_plan: NodePlan, response: FetchResponse) -> None:
        code = self._session.answered(response)
        if code is not ErrorCode.NONE:
            log.info("Node %d refuses a fetch: %s", self._node_id, code.name)
            self._request_failed(node_plan, error_for(code, node_id=self._node_id))
            return
        self._failures = 0
        self.answers += 1
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
            self._take_leaders(leaders, response)

    def _take_leaders(
        self, leaders: dict[TopicPartition, tuple[int, int]], response: FetchResponse
    ) -> None:
        """Fetch at once from leaders that came with errors and are news (KIP-951)."""
        for partition in self._client.update_leaders(leaders, response.node_endpoints):
            self._positions[partition].retry_at = 0.0

    def _take_partition(
        self,
        place: Place,
        node_plan: NodePlan,
        data: PartitionData,
        leaders: dict[TopicPartition, tuple[int, int]],
    ) -> None:
        code = ErrorCode(data.error_code)
        if code is not ErrorCode.NONE:
            leader = data.current_leader
            if leader.leader_id >= 0:
                leaders[place.topic_partition] = (leader.leader_id, leader.leader_epoch)
            self._partition_failed(place, node_plan, code)
            return
        now = self._client.clock.now()
        place.readable_end = data.high_watermark
        if self._config.reads_committed:
            place.readable_end = min(data.high_watermark, data.last_stable_offset)
        if data.preferred_read_replica >= 0:
            until = now + self._config.metadata_max_age_ms / 1000
            place.prefer(data.preferred_read_replica, until)
        if place.error is not None or place.stalls:
            self._buffer.heal(place.buffer)
        if data.records:
            self._take_records(place, node_plan, data)
        place.succeeded(now)

    def _take_records(self, place: Place, node_plan: NodePlan, data: PartitionData) -> None:
        partition = place.topic_partition
        offset = node_plan.wanted[partition].offset
        records = memoryview(data.records)
        end = find_end(records, offset)
        if not end.has_batch:
            error = cut_short_error(partition, offset, len(records))
            self._buffer.fail(place.buffer, error, lasts=True)
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
        self._buffer.append(place.buffer, fetched, len(records), end.next_offset)

    def _partition_failed(self, place: Place, node_plan: NodePlan, code: ErrorCode) -> None:
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
            self._client.request_metadata_update()
        elif decision is Verdict.FAIL:
            self._buffer.fail(place.buffer, error)

    def _out_of_range(self, place: Place, node_plan: NodePlan, now: float) -> None:
        asked = node_plan.wanted[place.topic_partition].offset
        if asked == place.buffer.position:
            self._positions.out_of_range(place, now)
        else:
            # The application reads what it has first. And headers said where to fetch, before
            # anybody had checked them.
            self._buffer.fetch_after_reading(place.buffer)


class FetchAnswer:
    """Waits for the outcome of one fetch, in the place of a future."""

    __slots__ = ("_fetcher", "_is_done", "node_plan", "request", "sent_at")

    def __init__(
        self, fetcher: NodeFetcher, node_plan: NodePlan, request: FetchRequest, sent_at: float
    ) -> None:
        self._fetcher = fetcher
        self.node_plan = node_plan
        self.request = request
        self.sent_at = sent_at
        self._is_done = False

    def done(self) -> bool:
        return self._is_done

    def set_result(self, response: FetchResponse, /) -> None:
        self._is_done = True
        self._fetcher.answered(self, response)

    def set_exception(self, error: Exception, /) -> None:
        self._is_done = True
        self._fetcher.failed(self, error)
