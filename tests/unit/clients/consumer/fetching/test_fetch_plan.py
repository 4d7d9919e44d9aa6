from __future__ import annotations

import attrs
import pytest

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.fetching.fetch_memory import FetchMemory
from pyk.clients.consumer.fetching.fetch_plan import FetchErrorAction, NodePlan, action_after, plan
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes import MetadataChanges
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.metadata import MetadataImage, PartitionMetadata, TopicMetadata
from pyk.clients.errors import NotLeaderOrFollowerError
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import FetchedRecords
from support.batches import batches

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)

MEMORY = FetchMemory(total=4000, request=4000, partition=1000)


@attrs.define
class Setting:
    """Two partitions at offset 5, led by nodes 1 and 2 in epoch 3."""

    buffer: FetchBuffer = attrs.field(init=False)
    writer: FetchWriter = attrs.field(init=False)
    positions: Positions = attrs.field(init=False)
    partitions: AssignedPartitions = attrs.field(init=False)
    changes: MetadataChanges = attrs.field(init=False)
    leaders: list[int | None] = attrs.Factory(lambda: [1, 2])

    def __attrs_post_init__(self) -> None:
        self.buffer = FetchBuffer(lambda: None, lambda: None, lambda fetch: fetch())
        self.writer = FetchWriter(self.buffer)
        self.positions = Positions(self.writer, "latest", Backoff(0.1, 1.0), lambda: 0.5)
        self.partitions = AssignedPartitions(self.writer, self.positions)
        self.changes = MetadataChanges(self.partitions, self.positions)
        for partition in self.partitions.assign([A0, A1], 0.0, has_group=True):
            self.positions.seek(partition, 5, -1)

    def plan(self, now: float = 0.0) -> dict[int, NodePlan]:
        partitions = tuple(
            PartitionMetadata(number, leader, 3) for number, leader in enumerate(self.leaders)
        )
        image = MetadataImage(topics={"a": TopicMetadata("a", None, partitions)})
        self.changes.apply(image)
        return plan(self.partitions, MEMORY, now)

    def wanted(self, now: float = 0.0) -> dict[int, list[TopicPartition]]:
        return {node: list(node_plan.wanted) for node, node_plan in self.plan(now).items()}

    def fill(self, partition: TopicPartition, size: int = 100) -> None:
        buffer = self.buffer.partitions[partition]
        offset = buffer.fetch_offset
        fetched = FetchedRecords(partition.topic, partition.partition, batches(offset, 2), offset)
        self.writer.append(buffer, fetched, size, offset + 2)


def test_each_partition_is_fetched_from_its_leader() -> None:
    plans = Setting().plan()

    assert Setting().wanted() == {1: [A0], 2: [A1]}
    assert (plans[1].wanted[A0].offset, plans[1].wanted[A0].leader_epoch) == (5, 3)


def test_partitions_that_are_paused_or_without_leader_or_back_off_are_left_out() -> None:
    setting = Setting(leaders=[1, None])
    assert setting.wanted() == {1: [A0]}

    partition = setting.partitions[A0]
    setting.positions.failed(partition, partition.version, NotLeaderOrFollowerError("moved"), 0.0)
    assert setting.wanted(now=0.0) == {1: []}
    assert setting.wanted(now=0.2) == {1: [A0]}
    setting.writer.pause(setting.buffer.partitions[A0])
    assert setting.plan(now=0.2) == {}


def test_a_full_partition_is_left_out_and_hurries_the_request_for_others() -> None:
    setting = Setting(leaders=[1, 1])
    setting.fill(A0)
    setting.fill(A0)

    node_plan = setting.plan()[1]

    assert list(node_plan.wanted) == [A1]
    assert node_plan.is_hurried


def test_bytes_of_one_node_take_nothing_from_the_others() -> None:
    setting = Setting()
    setting.fill(A0, size=4000)

    plans = setting.plan()

    assert (plans[1].max_bytes, plans[1].wanted, plans[1].waits_for_room) == (0, {}, True)
    assert (plans[2].max_bytes, list(plans[2].wanted)) == (2000, [A1])


def test_a_node_whose_share_is_used_up_waits_until_the_application_has_read() -> None:
    setting = Setting(leaders=[1, 1])
    setting.fill(A0, size=3001)

    node_plan = setting.plan()[1]

    assert (node_plan.wanted, node_plan.waits_for_room) == ({}, True)


def test_bytes_of_a_partition_that_backs_off_count() -> None:
    setting = Setting(leaders=[1, 1])
    setting.fill(A0, size=4000)
    setting.plan()  # a leader that is new ends the back-off
    partition = setting.partitions[A0]
    setting.positions.failed(partition, partition.version, NotLeaderOrFollowerError("moved"), 0.0)

    assert setting.plan()[1].max_bytes == 0


def test_a_partition_whose_batches_do_not_say_where_they_end_waits_to_be_read() -> None:
    setting = Setting(leaders=[1, 1])
    fetched = FetchedRecords("a", 0, batches(5, 2), 5)
    setting.writer.append(setting.buffer.partitions[A0], fetched, 100, -1)

    node_plan = setting.plan()[1]

    assert list(node_plan.wanted) == [A1]
    assert node_plan.waits_for_room


def test_paused_and_unreadable_partitions_delay_no_other() -> None:
    setting = Setting(leaders=[1, 1])
    setting.fill(A0, size=4000)

    setting.writer.pause(setting.buffer.partitions[A0])
    assert setting.plan()[1].max_bytes == 4000
    setting.writer.resume(setting.buffer.partitions[A0])
    assert setting.plan()[1].max_bytes == 0
    setting.partitions[A0].buffer.is_unreadable = True
    assert setting.plan()[1].max_bytes == 4000


def test_partitions_whose_place_is_not_known_hurry_requests_too() -> None:
    setting = Setting(leaders=[1, 1])
    setting.positions.seek_to(setting.partitions[A1], -1)

    node_plan = setting.plan()[1]

    assert list(node_plan.wanted) == [A0]
    assert node_plan.is_hurried


def test_a_plan_for_one_node_leaves_the_others_their_shares() -> None:
    setting = Setting()
    setting.plan()

    plans = plan(setting.partitions, MEMORY, 0.0, only_node=2)

    assert {node: list(node_plan.wanted) for node, node_plan in plans.items()} == {2: [A1]}
    assert plans[2].max_bytes == 2000


def test_a_nearer_replica_is_fetched_from() -> None:
    setting = Setting()
    setting.partitions[A0].prefer(9, until=10.0)

    assert list(setting.plan()[9].wanted) == [A0]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.OFFSET_OUT_OF_RANGE, FetchErrorAction.OUT_OF_RANGE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, FetchErrorAction.REFRESH),
        (ErrorCode.FENCED_LEADER_EPOCH, FetchErrorAction.REFRESH),
        (ErrorCode.REPLICA_NOT_AVAILABLE, FetchErrorAction.REFRESH),
        (ErrorCode.KAFKA_STORAGE_ERROR, FetchErrorAction.REFRESH),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, FetchErrorAction.REFRESH),
        (ErrorCode.UNKNOWN_TOPIC_ID, FetchErrorAction.REFRESH),
        (ErrorCode.INCONSISTENT_TOPIC_ID, FetchErrorAction.REFRESH),
        (ErrorCode.OFFSET_NOT_AVAILABLE, FetchErrorAction.WAIT),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, FetchErrorAction.WAIT),
        (ErrorCode.UNKNOWN_SERVER_ERROR, FetchErrorAction.WAIT),
        (ErrorCode.CORRUPT_MESSAGE, FetchErrorAction.FAIL),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, FetchErrorAction.FAIL),
        (ErrorCode.INVALID_REQUEST, FetchErrorAction.FAIL),
        (ErrorCode(31_000), FetchErrorAction.FAIL),
    ],
)
def test_every_error_has_an_action(code: ErrorCode, expected: FetchErrorAction) -> None:
    assert action_after(code) is expected


def test_a_node_whose_partitions_are_being_located_has_its_share_already() -> None:
    setting = Setting()
    setting.positions.seek_to(setting.partitions[A1], OffsetSpec.EARLIEST)

    assert setting.plan()[1].max_bytes == MEMORY.total // 2


def test_partitions_without_a_leader_take_no_share_of_the_memory() -> None:
    setting = Setting(leaders=[1, None])
    setting.positions.seek_to(setting.partitions[A1], OffsetSpec.EARLIEST)

    assert setting.plan()[1].max_bytes == MEMORY.total
