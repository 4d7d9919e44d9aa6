"""Fetch from one node: one request in flight, the next as soon as it is answered.

The bytes of a response go into the partitions' buffers as they are. If the node has more, the next
request leaves before they are read. If it has not, a waiting application goes on first: the next
request could not be answered yet, and sending it would delay the records.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from pyk.clients.config import ConsumerConfig
from pyk.clients.config.fetch_waits import fetch_timeout_ms
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.fetching.fetch_call import FetchCall, FetchTerms, WantedPartition
from pyk.clients.consumer.fetching.fetch_memory import FetchMemory
from pyk.clients.consumer.fetching.fetch_plan import FetchErrorAction, NodePlan, action_after, plan
from pyk.clients.consumer.fetching.fetch_session import (
    LAST_VERSION_WITH_TOPIC_NAMES,
    FetchSession,
    rotated,
)
from pyk.clients.consumer.fetching.fetched_bytes import find_end
from pyk.clients.consumer.positions.assigned_partition import FAILED, KNOWN, AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes import MetadataChanges
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.consumer.records.unreadable import cut_short_error
from pyk.clients.engine.client import Client
from pyk.clients.engine.node_connection import Lane
from pyk.clients.errors import KafkaError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchResponse, PartitionData
from pyk.protocol.records.cursor import FetchedRecords
from pyk.protocol.versions import LAST_VERSION, VersionRange

log = logging.getLogger(__name__)

NONE = ErrorCode.NONE
LANE: Lane = "fetch"
# The first version that says which transactions were aborted, and reads batches of magic 2.
FIRST_VERSION = 4
VERSIONS = VersionRange(FIRST_VERSION, LAST_VERSION)
VERSIONS_WITH_NAMES = VersionRange(FIRST_VERSION, LAST_VERSION_WITH_TOPIC_NAMES)
# How many responses in a row may be empty before their timing is checked.
EMPTY_ANSWERS_ALLOWED = 3


class NodeFetcher:
    """Fetches from one node, one request after the other, as long as there is something."""

    def __init__(
        self,
        client: Client,
        config: ConsumerConfig,
        partitions: AssignedPartitions,
        positions: Positions,
        writer: FetchWriter,
        *,
        metadata_changes: MetadataChanges,
        memory: FetchMemory,
        node_id: int,
    ) -> None:
        self._client = client
        self._now = client.clock.now
        self._partitions = partitions
        self._positions = positions
        self._metadata_changes = metadata_changes
        self._writer = writer
        self._buffer = writer.buffer
        self._memory = memory
        self._node_id = node_id
        self._timeout_ms = fetch_timeout_ms(config.fetch_max_wait_ms, config.request_timeout_ms)
        self._max_wait_ms = config.fetch_max_wait_ms
        self._reads_committed = config.reads_committed
        self._metadata_max_age = config.metadata_max_age_ms / 1000
        self._max_decompressed_bytes = config.max_decompressed_bytes
        self._session = FetchSession(_terms(config))
        self._doubts_session = False
        self.is_running = False
        self._has_more = False
        """Whether the node had more records than its last response brought."""
        self.answers = 0
        """How many fetches the node has answered."""
        self.partition_count = 0
        """How many partitions the last request was for."""
        self.plan_under_way: NodePlan | None = None
        """The request in flight, None if there is none."""
        self._failures = 0
        self._retry_at = 0.0
        self._turn = self._empty_answers = 0

    def open_new_session(self) -> None:
        """Tell the node everything again with the next request."""
        self._doubts_session = True

    def waits_until(self) -> float:
        """Return when the node may be asked again, after a failure or a throttle."""
        return max(self._retry_at, self._client.throttled_until(self._node_id, LANE))

    def start(self, node_plan: NodePlan) -> None:
        """Fetch what is planned, unless a request is in flight or waits for its time."""
        if self.is_running:
            return
        now = self._now()
        if self.waits_until() > now:
            self._go_on(now)
        else:
            self._send(node_plan, now)

    def _go_on(self, now: float) -> None:
        """Fetch what is due, now or at its time; stop if there is nothing."""
        self.is_running = False
        self.plan_under_way = None
        if self._client.is_closed:
            return
        waits_until = self.waits_until()
        if waits_until > now:
            self.is_running = True
            asyncio.get_running_loop().call_at(waits_until, self.go_on)
            return
        node_plan = self._plan(now)
        if node_plan is None and not self._buffer.wants_room:
            # A second look sees room that was made before the application knew to report it.
            self._buffer.wants_room = True
            node_plan = self._plan(now)
        if node_plan is not None:
            self._send(node_plan, now)

    def go_on(self) -> None:
        """Fetch what is due now: the function that is called later, or after records."""
        try:
            self._go_on(self._now())
        except Exception as mistake:
            self._break_off(mistake)

    def _break_off(self, mistake: Exception) -> None:
        """Report an exception as a task would; this is not a task, because tasks are expensive."""
        self._client.supervisor.failed(f"fetch from node {self._node_id}", mistake)

    def _plan(self, now: float) -> NodePlan | None:
        """Return what to fetch, None if there is nothing to fetch, or no room."""
        self._metadata_changes.apply(self._client.metadata)
        node_plan = plan(self._partitions, self._memory, now, self._node_id).get(self._node_id)
        return node_plan if node_plan is not None and node_plan.wanted else None

    def _send(self, node_plan: NodePlan, now: float) -> None:
        self.is_running = True
        self.plan_under_way = node_plan
        self.partition_count = len(node_plan.wanted)
        request = self._request(node_plan)
        waiter = _new_waiter(self, node_plan, request.max_wait_ms, now)
        within = VERSIONS if self._session.uses_topic_ids else VERSIONS_WITH_NAMES
        try:
            self._client.submit(self._node_id, request, waiter, self._timeout_ms, within, LANE)
        except KafkaError as error:
            waiter.set_exception(error)

    def answered(self, waiter: FetchWaiter, response: FetchResponse) -> None:
        """Take a response, in the turn of the loop that received it, and fetch on."""
        try:
            now = self._now()
            self._take(waiter.node_plan, response, now)
            if self._empty_answers > EMPTY_ANSWERS_ALLOWED:
                self._slow_down(waiter, now)
            if self._has_more:
                self._go_on(now)
                self._buffer.tell_if_waiting()
            else:
                self._buffer.tell_of_records(self.go_on)
        except Exception as mistake:
            self._break_off(mistake)

    def failed(self, waiter: FetchWaiter, error: Exception) -> None:
        """Learn that a request failed, and fetch again later."""
        if self._client.is_closed:
            return
        try:
            if not isinstance(error, KafkaError):
                raise error
            self._request_failed(waiter.node_plan, error, self._now())
            # Not at once: the connection calls this in the middle of its own work.
            asyncio.get_running_loop().call_soon(self.go_on)
        except Exception as mistake:
            self._break_off(mistake)

    def _request(self, node_plan: NodePlan) -> FetchCall:
        self._turn += 1
        if self._doubts_session:
            self._doubts_session = False
            self._session.reset()
        wait_ms = self._hurried_wait_ms() if node_plan.is_hurried else self._max_wait_ms
        wanted = rotated(node_plan.wanted, self._turn)
        return self._session.request(wanted, wait_ms, node_plan.max_bytes)

    def _hurried_wait_ms(self) -> int:
        """Return how long the node may wait for records where partitions are left out for now.

        A waiting request delays them. So it waits about as long as they have been left out already;
        and after empty responses that came too soon, the next request is delayed here as long.
        """
        return min(self._max_wait_ms, 1 << min(self._empty_answers, 16))

    def _slow_down(self, waiter: FetchWaiter, now: float) -> None:
        """Slow down for a node that returns nothing sooner than it was asked to."""
        if (now - waiter.sent_at) * 2000 < waiter.max_wait_ms:
            self._retry_at = max(self._retry_at, now + self._hurried_wait_ms() / 1000)

    def _request_failed(self, node_plan: NodePlan, error: KafkaError, now: float) -> None:
        """Ask again after a while, and another node if metadata then names one."""
        self._session.reset()
        self._failures += 1
        delay = self._client.retry_backoff.delay(self._failures, self._client.random.random())
        self._retry_at = now + delay
        self._client.metadata_keeper.request_update()
        for partition, asked in node_plan.wanted.items():
            assigned = self._partitions.current(partition, asked.version)
            if assigned is None:
                continue
            assigned.preferred_node = None
            self._positions.failed(assigned, asked.version, error, now)
            assigned.retry_at = self._retry_at
            if not error.retriable:
                self._writer.fail(assigned.buffer, error)

    # -- answers -----------------------------------------------------------------------------------

    def _take(self, node_plan: NodePlan, response: FetchResponse, now: float) -> None:
        code = self._session.answered(response)
        if code is not NONE:
            log.info("Node %d refuses a fetch: %s", self._node_id, code.name)
            self._request_failed(node_plan, error_for(code, node_id=self._node_id), now)
            return
        self._failures = 0
        if response.throttle_time_ms > 0 and not response.responses:
            # The quota of the client is used up: its records come later. No partition had its turn.
            self._has_more = True
            return
        self.answers += 1
        leaders: dict[TopicPartition, tuple[int, int]] = {}
        # Partitions that were not requested, or come twice, are ignored.
        expected = node_plan.wanted.copy()
        has_records = self._has_more = False
        for topic in response.responses:
            name = topic.topic or self._session.name_of(topic.topic_id)
            for data in topic.partitions:
                # As a tuple, which finds the same: a TopicPartition is made by a Python function.
                partition: Any = (name, data.partition_index)
                asked = expected.pop(partition, None)
                if asked is None:
                    continue
                assigned = self._partitions.current(partition, asked.version)
                if assigned is None or assigned.state is not KNOWN:
                    continue
                if assigned.node_to_fetch(now) != self._node_id:
                    continue  # a late answer of a former leader: the new one was asked, too
                if data.error_code:
                    self._partition_failed(assigned, asked, data, leaders, now)
                    continue
                if data.records:
                    has_records = True
                self._take_partition(assigned, asked, data, now)
        self._empty_answers = 0 if has_records else self._empty_answers + 1
        if leaders:
            # New leaders are asked at once (KIP-951).
            self._client.metadata_keeper.update_leaders(leaders, response.node_endpoints)

    def _take_partition(
        self, assigned: AssignedPartition, asked: WantedPartition, data: PartitionData, now: float
    ) -> None:
        assigned.readable_end = data.high_watermark
        if self._reads_committed:
            assigned.high_watermark = data.high_watermark
            assigned.readable_end = min(data.high_watermark, data.last_stable_offset)
        if data.preferred_read_replica >= 0:
            assigned.prefer(data.preferred_read_replica, now + self._metadata_max_age)
        if assigned.error is not None:
            self._writer.heal(assigned.buffer)
        was_stalled = assigned.progress.stalls > 0
        if data.records:
            self._take_records(assigned, asked, data, now)
        assigned.succeeded(now)
        # A response without the records that it should have does not withdraw the error.
        if was_stalled and assigned.progress.stalls == 0 and assigned.state is KNOWN:
            self._writer.heal(assigned.buffer)
        if 0 <= assigned.buffer.fetch_offset < assigned.readable_end:
            self._has_more = True

    def _take_records(
        self, assigned: AssignedPartition, asked: WantedPartition, data: PartitionData, now: float
    ) -> None:
        partition = assigned.topic_partition
        records = data.records
        end = find_end(records, asked.offset)
        if not end.has_batch:
            error = cut_short_error(partition, asked.offset, len(records))
            self._writer.fail(assigned.buffer, error, lasts=True)
            assigned.state = FAILED
            return
        aborted = None
        if self._reads_committed:
            aborted = [(a.producer_id, a.first_offset) for a in data.aborted_transactions or ()]
        fetched = FetchedRecords(
            partition.topic,
            partition.partition,
            records,
            asked.offset,
            aborted_transactions=aborted,
            max_decompressed_bytes=self._max_decompressed_bytes,
        )
        if self._writer.append(assigned.buffer, fetched, len(records), end.next_offset):
            assigned.fetched_epoch = end.leader_epoch
            assigned.progress.made(now)

    def _partition_failed(
        self,
        assigned: AssignedPartition,
        asked: WantedPartition,
        data: PartitionData,
        leaders: dict[TopicPartition, tuple[int, int]],
        now: float,
    ) -> None:
        code, partition = ErrorCode(data.error_code), assigned.topic_partition
        leader = data.current_leader
        if leader.leader_id >= 0:
            leaders[partition] = (leader.leader_id, leader.leader_epoch)
        is_follower = assigned.preferred_node is not None
        assigned.preferred_node = None
        decision = action_after(code)
        log.debug("Fetch of %s from node %d: %s", partition, self._node_id, code.name)
        if decision is FetchErrorAction.OUT_OF_RANGE:
            if is_follower:
                return  # it lags: the leader knows better
            self._out_of_range(assigned, asked.offset, now)
            return
        error = error_for(
            code,
            topic=partition.topic,
            partition=partition.partition,
            node_id=self._node_id,
            api_key=ApiKey.FETCH,
        )
        self._positions.failed(assigned, assigned.version, error, now)
        if decision is FetchErrorAction.REFRESH:
            self._client.metadata_keeper.request_update()
        elif decision is FetchErrorAction.FAIL:
            self._writer.fail(assigned.buffer, error)

    def _out_of_range(self, assigned: AssignedPartition, asked_offset: int, now: float) -> None:
        if asked_offset == assigned.buffer.position:
            self._positions.out_of_range(assigned, now)
        else:
            # The application reads what it has first. And headers said where to fetch, before
            # anybody had checked them.
            self._writer.fetch_after_reading(assigned.buffer)


class FetchWaiter:
    """Takes the outcome of one fetch, instead of a future."""

    _fetcher: NodeFetcher
    node_plan: NodePlan
    max_wait_ms: int
    sent_at: float
    _is_done: bool

    def done(self) -> bool:
        return self._is_done

    def set_result(self, response: FetchResponse, /) -> None:
        self._is_done = True
        self._fetcher.answered(self, response)

    def set_exception(self, error: Exception, /) -> None:
        self._is_done = True
        self._fetcher.failed(self, error)


def _new_waiter(
    fetcher: NodeFetcher, node_plan: NodePlan, max_wait_ms: int, sent_at: float
) -> FetchWaiter:
    """Return the waiter for the outcome; compiled, no arguments are parsed on the way."""
    waiter = FetchWaiter.__new__(FetchWaiter)
    waiter._fetcher = fetcher
    waiter.node_plan = node_plan
    waiter.max_wait_ms = max_wait_ms
    waiter.sent_at = sent_at
    waiter._is_done = False
    return waiter


def _terms(config: ConsumerConfig) -> FetchTerms:
    """Return what a consumer asks for in every fetch."""
    return FetchTerms(config.fetch_min_bytes, int(config.reads_committed), config.client_rack or "")
