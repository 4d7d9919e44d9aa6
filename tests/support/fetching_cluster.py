"""Scripted brokers that serve the logs that a test fills, as Kafka does."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from pyk.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock
from support.batches import batch
from support.scripted_broker import ScriptedCluster

EARLIEST = -2
UNKNOWN = -1


class FetchingCluster(ScriptedCluster):
    """Brokers that serve fetches from the logs that a test fills, as Kafka does.

    Only the leader answers, or one of ``followers``. A response keeps to ``max_bytes`` and to
    ``partition_max_bytes`` of each partition, but for the first batch of all (KIP-74). ``edit`` may
    change the answer for a partition, or give another one.
    """

    def __init__(self, network: MemoryNetwork, nodes: int = 1) -> None:
        super().__init__(network, nodes)
        self.logs: dict[tuple[str, int], list[tuple[int, int, bytes]]] = defaultdict(list)
        self.stable_ends: dict[tuple[str, int], int] = {}
        """Where the first open transaction of a partition begins."""
        self.followers: set[int] = set()
        self.served_by: dict[tuple[str, int], int] = {}
        """The node that answered last for each partition."""
        self.names_leaders = False
        self.waits = True
        """Whether a fetch that finds nothing waits for records."""
        self.edit: Callable[[str, int, FetchPartition, PartitionData], PartitionData] | None = None
        self._sessions: dict[int, dict[tuple[str | UUID, int], FetchPartition]] = {}
        self._news = asyncio.Event()
        self.on(FetchRequest, self._fetch_or_wait)
        self.on(ListOffsetsRequest, self.list_offsets)
        self.on(OffsetForLeaderEpochRequest, self.epoch_ends)

    def append(self, values: list[bytes], topic: str = "orders", partition: int = 0) -> None:
        """Write a batch at the end of a partition."""
        base = self.end(topic, partition)
        data = batch(base, values, leader_epoch=self.topics[topic].epochs[partition])
        self.append_bytes(bytes(data), base, base + len(values), topic, partition)

    def append_bytes(
        self, data: bytes, base: int, end: int, topic: str = "orders", partition: int = 0
    ) -> None:
        """Write bytes that take the offsets from ``base`` to before ``end``."""
        self.logs[topic, partition].append((base, end, data))
        self._tell_news()

    def _tell_news(self) -> None:
        self._news.set()
        self._news.clear()

    def end(self, topic: str = "orders", partition: int = 0) -> int:
        log = self.logs[topic, partition]
        return log[-1][1] if log else 0

    def start_offset(self, topic: str = "orders", partition: int = 0) -> int:
        log = self.logs[topic, partition]
        return log[0][0] if log else 0

    def move(self, partition: int, node_id: int, topic: str = "orders") -> None:
        """Let another node lead a partition."""
        self.topics[topic].leaders[partition] = node_id
        self.topics[topic].epochs[partition] += 1
        self._tell_news()

    def _fetch_or_wait(self, request: FetchRequest) -> Awaitable[FetchResponse]:
        session_id = self._session_of(request)
        return self._wait_for_records(self.received[-1].node_id, session_id, request)

    async def _wait_for_records(
        self, node_id: int, session_id: int, request: FetchRequest
    ) -> FetchResponse:
        waits_until = current_clock().now() + request.max_wait_ms / 1000
        while True:
            response = self._answer_of(node_id, session_id, request)
            left = waits_until - current_clock().now()
            if left <= 0 or not self.waits or _has_something(response):
                return response
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()

    def fetch(self, request: FetchRequest) -> FetchResponse:
        """Answer at once with the batches from each offset on, all sessions complete."""
        return self._answer_of(self.received[-1].node_id, self._session_of(request), request)

    def _session_of(self, request: FetchRequest) -> int:
        """Return the session of a request just received, with its changes applied."""
        session_id = request.session_id
        if request.session_epoch == 0:
            session_id = len(self._sessions) + 1
            self._sessions[session_id] = {}
        session = self._sessions[session_id]
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                session.pop((topic.topic or topic.topic_id, number), None)
        for fetched in request.topics:
            for partition in fetched.partitions:
                session[fetched.topic or fetched.topic_id, partition.partition] = partition
        return session_id

    def _answer_of(self, node_id: int, session_id: int, request: FetchRequest) -> FetchResponse:
        session = self._sessions[session_id]
        names = {topic.topic_id: name for name, topic in self.topics.items()}
        answers: dict[str | UUID, list[PartitionData]] = defaultdict(list)
        left, is_first = request.max_bytes, True
        for (topic, number), asked in list(session.items()):
            name = topic if isinstance(topic, str) else names.get(topic)
            if name is None:
                code = ErrorCode.UNKNOWN_TOPIC_ID
                answers[topic].append(PartitionData(partition_index=number, error_code=code))
                continue
            limit = min(asked.partition_max_bytes, left)
            data = self.partition_data(node_id, name, asked, limit, is_first, request)
            self.served_by[name, number] = node_id
            if self.edit is not None:
                data = self.edit(name, number, asked, data)
            if data.records:
                is_first, left = False, max(0, left - len(data.records))
                session[topic, number] = session.pop((topic, number))  # its turn was now
            answers[topic].append(data)
        return FetchResponse(
            session_id=session_id,
            responses=[_answer_for(topic, partitions) for topic, partitions in answers.items()],
        )

    def partition_data(
        self,
        node_id: int,
        topic: str,
        asked: FetchPartition,
        max_bytes: int,
        is_first: bool,
        request: FetchRequest,
    ) -> PartitionData:
        number, offset = asked.partition, asked.fetch_offset
        end = self.end(topic, number)
        stable_end = self.stable_ends.get((topic, number), end)
        readable_end = stable_end if request.isolation_level else end
        refusal = self._refusal(node_id, topic, asked)
        if refusal is not None:
            return refusal
        records = b""
        for _, following, data in self.logs[topic, number]:
            is_readable = offset < following <= readable_end
            if is_readable and (
                len(records) + len(data) <= max_bytes or (is_first and not records)
            ):
                records += data
            elif is_readable:
                break
        return PartitionData(
            partition_index=number,
            high_watermark=end,
            last_stable_offset=stable_end,
            log_start_offset=self.start_offset(topic, number),
            records=records,
        )

    def _refusal(self, node_id: int, topic: str, asked: FetchPartition) -> PartitionData | None:
        """Return the error for a partition that the node does not serve at the requested offset."""
        number, known = asked.partition, self.topics[topic]
        refusal = PartitionData(partition_index=number, high_watermark=-1)
        refusal.error_code = self._refuses(topic, number, asked.current_leader_epoch, node_id)
        if refusal.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and self.names_leaders:
            refusal.current_leader = LeaderIdAndEpoch(
                leader_id=known.leaders[number], leader_epoch=known.epochs[number]
            )
        if refusal.error_code:
            return refusal
        if not self.start_offset(topic, number) <= asked.fetch_offset <= self.end(topic, number):
            refusal.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
            return refusal
        return None

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """Answer with the first or the last offset, as requested."""
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[self._listed(topic.name, one) for one in topic.partitions],
                )
                for topic in request.topics
            ]
        )

    def _listed(self, topic: str, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        number = asked.partition_index
        answer = ListOffsetsPartitionResponse(partition_index=number)
        answer.error_code = self._refuses(topic, number, asked.current_leader_epoch)
        if not answer.error_code:
            is_start = asked.timestamp == EARLIEST
            answer.offset = (self.start_offset if is_start else self.end)(topic, number)
        return answer

    def epoch_ends(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        """Answer with the end of the last epoch that is not after the requested one."""
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[self._epoch_end(topic.topic, one) for one in topic.partitions],
                )
                for topic in request.topics
            ]
        )

    def _epoch_end(self, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        number = asked.partition
        answer = EpochEndOffset(partition=number)
        answer.error_code = self._refuses(topic, number, asked.current_leader_epoch)
        if answer.error_code or asked.leader_epoch > self.topics[topic].epochs[number]:
            return answer
        starts = [(_epoch(data), base) for base, _, data in self.logs[topic, number]]
        later = [base for epoch, base in starts if epoch > asked.leader_epoch]
        answer.leader_epoch = max(
            (epoch for epoch, _ in starts if epoch <= asked.leader_epoch),
            default=asked.leader_epoch,
        )
        answer.end_offset = min(later, default=self.end(topic, number))
        return answer

    def _refuses(
        self, topic: str, number: int, leader_epoch: int, node_id: int | None = None
    ) -> ErrorCode:
        """Return the error of a node that does not lead a partition in that epoch."""
        known = self.topics[topic]
        node_id = self.received[-1].node_id if node_id is None else node_id
        if node_id != known.leaders[number] and node_id not in self.followers:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if 0 <= leader_epoch < known.epochs[number]:
            return ErrorCode.FENCED_LEADER_EPOCH
        if leader_epoch > known.epochs[number]:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE


def _answer_for(topic: str | UUID, partitions: list[PartitionData]) -> FetchableTopicResponse:
    if isinstance(topic, str):
        return FetchableTopicResponse(topic=topic, partitions=partitions)
    return FetchableTopicResponse(topic_id=topic, partitions=partitions)


def _epoch(data: bytes) -> int:
    """Return the leader epoch of a batch, as far as its format has one."""
    is_magic_2 = len(data) > 16 and data[16] == 2
    return int.from_bytes(data[12:16], "big", signed=True) if is_magic_2 else UNKNOWN


def _has_something(response: FetchResponse) -> bool:
    return any(
        data.records or data.error_code or data.preferred_read_replica >= 0
        for topic in response.responses
        for data in topic.partitions
    )
