"""What leaves first after an answer: the records for the application, or the next fetch."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.fetching.fetch_memory import FetchMemory
from pyk.clients.consumer.fetching.fetch_plan import plan
from pyk.clients.consumer.fetching.node_fetcher import NodeFetcher
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes import MetadataChanges
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.metadata import MetadataImage, PartitionMetadata, TopicMetadata
from pyk.clients.engine.request_path import RequestPath
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from pyk.runtime.virtual_time import VirtualClock
from support.batches import batches

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
MEMORY = FetchMemory(total=4000, request=4000, partition=1000)
NODE = 1


class ClientOfOneNode(RequestPath):
    """Notes when a fetch is sent, and keeps what takes its answer."""

    clock = VirtualClock()
    is_closed = False
    metadata = MetadataImage(
        topics={
            "a": TopicMetadata(
                "a", None, tuple(PartitionMetadata(number, NODE, 3) for number in (0, 1))
            )
        }
    )

    def __init__(self, steps: list[str]) -> None:
        super().__init__(ForkGuard("client"), None, 30.0)  # type: ignore[arg-type]
        self.steps = steps
        self.answer: Any = None
        self.leaders: dict[TopicPartition, tuple[int, int]] = {}
        self.metadata_keeper: Any = SimpleNamespace(
            request_update=lambda: None,
            update_leaders=lambda leaders, _: self.leaders.update(leaders),
        )

    def throttled_until(self, node_id: int, lane: Any = "main") -> float:
        return 0.0

    def submit(self, node_id: int, request: Any, answer: Any, *terms: Any) -> None:
        self.steps.append("fetch")
        self.answer = answer


class Setting:
    """A consumer at offset 5 of two partitions of one node, whose application waits."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.client = ClientOfOneNode(self.steps)
        buffer = FetchBuffer(self.go_on, lambda: None, self.go_on_before)
        writer = FetchWriter(buffer)
        positions = Positions(writer, "latest", Backoff(0.1, 1.0), lambda: 0.5)
        partitions = AssignedPartitions(writer, positions)
        self.partitions = partitions
        changes = MetadataChanges(partitions, positions)
        for partition in partitions.assign([A0, A1], 0.0, has_group=True):
            positions.seek(partition, 5, -1)
        changes.apply(self.client.metadata)
        fetcher = NodeFetcher(
            self.client,  # type: ignore[arg-type]
            ConsumerConfig.from_kwargs("127.0.0.1:1"),
            partitions,
            positions,
            writer,
            metadata_changes=changes,
            memory=MEMORY,
            node_id=NODE,
        )
        fetcher.start(plan(partitions, MEMORY, 0.0)[NODE])
        self.steps.clear()
        buffer.is_waiting = True

    def go_on(self) -> None:
        self.steps.append("records")

    def go_on_before(self, fetch: Callable[[], None]) -> None:
        self.go_on()
        fetch()

    def answer(self, *high_watermarks: int) -> None:
        """Answer with the records 5 and 6 of as many partitions."""
        self.answer_with(
            *(
                PartitionData(
                    partition_index=number, high_watermark=high_watermark, records=batches(5, 2)
                )
                for number, high_watermark in enumerate(high_watermarks)
            )
        )

    def answer_with(self, *partitions: PartitionData) -> None:
        topic = FetchableTopicResponse(topic="a", partitions=list(partitions))
        self.client.answer.set_result(FetchResponse(session_id=7, responses=[topic]))


def test_the_application_goes_on_before_the_next_fetch_if_the_node_has_no_more() -> None:
    setting = Setting()

    setting.answer(7)

    assert setting.steps == ["records", "fetch"]


def test_the_next_fetch_leaves_first_if_the_node_has_more() -> None:
    setting = Setting()

    setting.answer(7, 8)

    assert setting.steps == ["fetch", "records"]


def test_node_0_may_be_a_nearer_replica() -> None:
    setting = Setting()

    setting.answer_with(
        PartitionData(partition_index=0, high_watermark=7, preferred_read_replica=0)
    )

    plans = plan(setting.partitions, MEMORY, 0.0)
    assert {node: list(each.wanted) for node, each in plans.items()} == {0: [A0], NODE: [A1]}


def test_node_0_may_be_the_new_leader() -> None:
    setting = Setting()

    setting.answer_with(
        PartitionData(
            partition_index=0,
            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            high_watermark=-1,
            current_leader=LeaderIdAndEpoch(leader_id=0, leader_epoch=4),
        )
    )

    assert setting.client.leaders == {A0: (0, 4)}
