"""Administrative calls go to the right node, try again what passes, and account for each item."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import (
    AlterConfig,
    AlterConfigOperation,
    AsyncAdmin,
    ConfigResource,
    NewTopic,
    OffsetAndMetadata,
    OffsetSpec,
    TopicPartition,
)
from pyk.clients.admin.settling import Settlement
from pyk.clients.errors import (
    BootstrapError,
    ClosedError,
    GroupIdNotFoundError,
    KafkaError,
    KafkaTimeoutError,
    NodeDisconnectedError,
    NotControllerError,
    SeveralErrors,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    error_for,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.io import MemoryNetwork
from pyk.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from pyk.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pyk.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from pyk.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from pyk.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from pyk.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pyk.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from pyk.protocol.versions import VersionRange
from support.scripted_broker import CLOSE, SILENCE, ScriptedCluster
from support.virtual_time import current_clock, virtual_time

ORDERS = TopicPartition("orders", 0)


@asynccontextmanager
async def administered(nodes: int = 1, **options: Any) -> AsyncIterator[Any]:
    """Run a scripted cluster and an admin client of it."""
    async with ScriptedCluster(MemoryNetwork(), nodes) as cluster:
        admin = AsyncAdmin(
            "broker1:9092",
            clock=current_clock(),
            network=cluster.network,
            random=random.Random(1),
            **options,
        )
        async with admin:
            yield cluster, admin
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == {asyncio.current_task()}


def created(*errors: tuple[str, int]) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=name, error_code=code, num_partitions=3, configs=[])
            for name, code in errors
        ]
    )


def deleted(*errors: tuple[str, int]) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(name=name, error_code=code) for name, code in errors]
    )


def listed(topic: str, partition: int, offset: int, code: int = 0) -> ListOffsetsTopicResponse:
    found = ListOffsetsPartitionResponse(
        partition_index=partition, offset=offset, error_code=code, leader_epoch=4
    )
    return ListOffsetsTopicResponse(name=topic, partitions=[found])


# -- topics ----------------------------------------------------------------------------------------


@virtual_time
async def test_topics_are_made_by_the_controller() -> None:
    async with administered(nodes=3) as (cluster, admin):
        cluster.controller_id = 3
        admin._client.request_metadata_update()
        await admin._client.metadata_updated(1, current_clock().now() + 1)
        cluster.on(CreateTopicsRequest, created(("orders", 0)))

        made = await admin.create_topics(
            [NewTopic("orders", 3, replication_factor=2, configs={"retention.ms": "1000"})]
        )

        (request,) = cluster.requests(CreateTopicsRequest)
        (asked,) = request.message.topics
        assert request.node_id == 3
        assert (asked.num_partitions, asked.replication_factor) == (3, 2)
        assert [(one.name, one.value) for one in asked.configs] == [("retention.ms", "1000")]
        assert made["orders"].partitions == 3


@virtual_time
async def test_what_is_not_given_is_left_to_the_broker() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, created(("orders", 0)))

        await admin.create_topics([NewTopic("orders")])

        (asked,) = cluster.requests(CreateTopicsRequest)[0].message.topics
        assert (asked.num_partitions, asked.replication_factor) == (-1, -1)


@virtual_time
async def test_the_error_of_one_topic_is_raised_as_it_is() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, created(("orders", 36)))

        with pytest.raises(TopicAlreadyExistsError) as raised:
            await admin.create_topics([NewTopic("orders")])

        assert raised.value.topic == "orders"
        assert raised.value.definite


@virtual_time
async def test_errors_of_several_topics_come_together_with_what_succeeded() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, created(("a", 36), ("b", 0), ("c", 17)))

        with pytest.raises(SeveralErrors) as raised:
            await admin.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("c")])

        assert set(raised.value.errors) == {"a", "c"}
        assert set(raised.value.results) == {"b"}


@virtual_time
async def test_a_controller_that_has_moved_is_found_again() -> None:
    async with administered(nodes=2) as (cluster, admin):

        def answer(request: CreateTopicsRequest) -> CreateTopicsResponse:
            cluster.controller_id = 2
            return created(("orders", ErrorCode.NOT_CONTROLLER))

        cluster.on(CreateTopicsRequest, created(("orders", 0)))
        cluster.once(CreateTopicsRequest, answer)

        await admin.create_topics([NewTopic("orders")])

        assert [one.node_id for one in cluster.requests(CreateTopicsRequest)][-1] == 2


@virtual_time
async def test_only_what_failed_is_asked_for_again() -> None:
    async with administered() as (cluster, admin):
        cluster.once(
            CreateTopicsRequest,
            created(("a", 0), ("b", ErrorCode.THROTTLING_QUOTA_EXCEEDED)),
            created(("b", 0)),
        )

        made = await admin.create_topics([NewTopic("a"), NewTopic("b")])

        assert set(made) == {"a", "b"}
        asked = [
            [topic.name for topic in one.message.topics]
            for one in cluster.requests(CreateTopicsRequest)
        ]
        assert asked == [["a", "b"], ["b"]]


@virtual_time
async def test_a_call_ends_in_its_time_with_the_last_error() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, created(("orders", ErrorCode.NOT_CONTROLLER)))
        began = current_clock().now()

        with pytest.raises(KafkaTimeoutError, match="NOT_CONTROLLER") as raised:
            await admin.create_topics([NewTopic("orders")], timeout=2.0)

        assert isinstance(raised.value.__cause__, NotControllerError)
        assert raised.value.definite
        assert current_clock().now() - began <= 2.0


@virtual_time
async def test_a_call_that_is_never_answered_ends_in_its_time_and_is_uncertain() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, SILENCE)
        began = current_clock().now()

        with pytest.raises(KafkaTimeoutError) as raised:
            await admin.create_topics([NewTopic("orders")], timeout=2.0)

        assert not raised.value.definite
        assert current_clock().now() - began <= 2.01


@virtual_time
async def test_a_topic_that_a_lost_answer_may_have_made_is_not_said_to_be_somebody_elses() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, created(("orders", 36)))
        cluster.once(CreateTopicsRequest, CLOSE)

        with pytest.raises(TopicAlreadyExistsError) as raised:
            await admin.create_topics([NewTopic("orders")])

        assert not raised.value.definite


@virtual_time
async def test_a_topic_that_a_lost_answer_has_deleted_is_deleted() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DeleteTopicsRequest, deleted(("orders", 3)))
        cluster.once(DeleteTopicsRequest, CLOSE)

        await admin.delete_topics(["orders"])

        assert len(cluster.requests(DeleteTopicsRequest)) == 2


@virtual_time
async def test_a_topic_that_never_was_cannot_be_deleted() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DeleteTopicsRequest, deleted(("orders", 3)))

        with pytest.raises(UnknownTopicOrPartitionError):
            await admin.delete_topics(["orders"])

        assert len(cluster.requests(DeleteTopicsRequest)) == 1


@pytest.mark.parametrize("highest", [5, 6])
@virtual_time
async def test_topics_are_deleted_by_brokers_old_and_new(highest: int) -> None:
    async with administered(nodes=2) as (cluster, admin):
        cluster.controller_id = 2
        cluster.versions[ApiKey.DELETE_TOPICS] = VersionRange(1, highest)
        admin._client.request_metadata_update()
        await admin._client.metadata_updated(1, current_clock().now() + 1)
        cluster.on(DeleteTopicsRequest, deleted(("orders", 0)))

        await admin.delete_topics(["orders"])

        message = cluster.requests(DeleteTopicsRequest)[0].message
        assert message.topic_names or [state.name for state in message.topics] == ["orders"]


@virtual_time
async def test_topics_grow() -> None:
    async with administered() as (cluster, admin):
        result = CreatePartitionsTopicResult(name="orders")
        cluster.on(CreatePartitionsRequest, CreatePartitionsResponse(results=[result]))

        await admin.create_partitions({"orders": 6}, validate_only=True)

        (request,) = cluster.requests(CreatePartitionsRequest)
        assert [(one.name, one.count) for one in request.message.topics] == [("orders", 6)]
        assert request.message.validate_only


@virtual_time
async def test_topics_are_listed_and_described_as_they_are_now() -> None:
    async with administered(nodes=2) as (cluster, admin):
        cluster.add_topic("orders", leaders=[1, 2])
        cluster.add_topic("payments", leaders=[2])

        listing = await admin.list_topics()
        described = await admin.describe_topics(["orders"])

        assert {name: one.partition_count for name, one in listing.items()} == {
            "orders": 2,
            "payments": 1,
        }
        assert [one.leader_id for one in described["orders"].partitions] == [1, 2]


@virtual_time
async def test_a_topic_that_is_missing_is_an_error_at_once() -> None:
    async with administered() as (_, admin):
        with pytest.raises(UnknownTopicOrPartitionError):
            await admin.describe_topics(["orders"])

        assert current_clock().now() < 0.1


@virtual_time
async def test_describing_never_makes_a_topic() -> None:
    async with administered() as (cluster, admin):
        await admin.list_topics()

        assert not any(one.message.allow_auto_topic_creation for one in cluster.received[1:])


# -- settings --------------------------------------------------------------------------------------


def configs_of(request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    entry = DescribeConfigsResourceResult(name="retention.ms", value="7", config_source=1)
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                resource_type=one.resource_type, resource_name=one.resource_name, configs=[entry]
            )
            for one in request.resources
        ]
    )


@virtual_time
async def test_settings_of_a_broker_are_asked_of_that_broker() -> None:
    async with administered(nodes=3) as (cluster, admin):
        cluster.on(DescribeConfigsRequest, configs_of)

        await admin.describe_configs([ConfigResource.broker(2), ConfigResource.broker(3)])

        assert {
            one.message.resources[0].resource_name: one.node_id
            for one in cluster.requests(DescribeConfigsRequest)
        } == {"2": 2, "3": 3}


@virtual_time
async def test_settings_are_found_by_resource_and_name() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeConfigsRequest, configs_of)
        orders = ConfigResource.topic("orders")

        found = await admin.describe_configs([orders])

        assert found[orders]["retention.ms"].value == "7"
        assert "7" not in repr(found[orders]["retention.ms"])


@virtual_time
async def test_settings_are_changed_one_by_one() -> None:
    async with administered() as (cluster, admin):
        orders = ConfigResource.topic("orders")
        done = AlterConfigsResourceResponse(resource_type=2, resource_name="orders")
        cluster.on(
            IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse(responses=[done])
        )

        await admin.incremental_alter_configs(
            {
                orders: [
                    AlterConfig("retention.ms", "7"),
                    AlterConfig("cleanup.policy", operation=AlterConfigOperation.DELETE),
                ]
            }
        )

        (resource,) = cluster.requests(IncrementalAlterConfigsRequest)[0].message.resources
        assert [(one.name, one.config_operation, one.value) for one in resource.configs] == [
            ("retention.ms", 0, "7"),
            ("cleanup.policy", 1, None),
        ]


# -- groups ----------------------------------------------------------------------------------------


@virtual_time
async def test_groups_of_all_brokers_are_listed() -> None:
    async with administered(nodes=3) as (cluster, admin):
        names = iter("cab")
        cluster.on(
            ListGroupsRequest,
            lambda _: ListGroupsResponse(
                groups=[ListedGroup(group_id=next(names), protocol_type="consumer")]
            ),
        )

        groups = await admin.list_groups(states=["Stable"])

        assert [group.group_id for group in groups] == ["a", "b", "c"]
        assert {one.node_id for one in cluster.requests(ListGroupsRequest)} == {1, 2, 3}
        assert cluster.requests(ListGroupsRequest)[0].message.states_filter == ["Stable"]


@virtual_time
async def test_a_group_is_described_by_its_coordinator_wherever_that_moves() -> None:
    async with administered(nodes=2) as (cluster, admin):

        def moved(request: DescribeGroupsRequest) -> DescribeGroupsResponse:
            cluster.coordinator_id = 2
            gone = DescribedGroup(group_id="g", error_code=ErrorCode.NOT_COORDINATOR)
            return DescribeGroupsResponse(groups=[gone])

        there = DescribedGroup(group_id="g", group_state="Stable", protocol_data="range")
        cluster.on(DescribeGroupsRequest, DescribeGroupsResponse(groups=[there]))
        cluster.once(DescribeGroupsRequest, moved)

        described = await admin.describe_consumer_groups(["g"])

        assert described["g"].coordinator_id == 2
        assert described["g"].partition_assignor == "range"
        assert len(cluster.requests(FindCoordinatorRequest)) == 2


@virtual_time
async def test_a_group_that_is_dead_does_not_exist() -> None:
    async with administered() as (cluster, admin):
        dead = DescribedGroup(group_id="g", group_state="Dead")
        cluster.on(DescribeGroupsRequest, DescribeGroupsResponse(groups=[dead]))

        with pytest.raises(GroupIdNotFoundError, match="'g'"):
            await admin.describe_consumer_groups(["g"])


@virtual_time
async def test_each_group_that_cannot_be_deleted_has_its_own_error() -> None:
    async with administered() as (cluster, admin):
        cluster.on(
            DeleteGroupsRequest,
            DeleteGroupsResponse(
                results=[
                    DeletableGroupResult(group_id="a", error_code=ErrorCode.NON_EMPTY_GROUP),
                    DeletableGroupResult(group_id="b", error_code=ErrorCode.GROUP_ID_NOT_FOUND),
                ]
            ),
        )

        with pytest.raises(SeveralErrors) as raised:
            await admin.delete_consumer_groups(["a", "b"])

        assert {name: error.code for name, error in raised.value.errors.items()} == {
            "a": ErrorCode.NON_EMPTY_GROUP,
            "b": ErrorCode.GROUP_ID_NOT_FOUND,
        }


def fetched(version_8: bool) -> OffsetFetchResponse:
    old = OffsetFetchResponsePartition(partition_index=0, committed_offset=7, metadata="note")
    new = OffsetFetchResponsePartitions(partition_index=0, committed_offset=7, metadata="note")
    if not version_8:
        return OffsetFetchResponse(
            topics=[OffsetFetchResponseTopic(name="orders", partitions=[old])]
        )
    topics = [OffsetFetchResponseTopics(name="orders", partitions=[new])]
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=topics)])


@pytest.mark.parametrize("highest", [6, 7, 8, 9, 10])
@virtual_time
async def test_committed_offsets_are_read_from_brokers_old_and_new(highest: int) -> None:
    async with administered(nodes=2) as (cluster, admin):
        cluster.coordinator_id = 2
        cluster.versions[ApiKey.OFFSET_FETCH] = VersionRange(1, highest)
        cluster.on(OffsetFetchRequest, fetched(highest >= 8))

        offsets = await admin.list_consumer_group_offsets("g", [ORDERS])

        assert offsets == {ORDERS: OffsetAndMetadata(7, metadata="note")}
        assert cluster.requests(OffsetFetchRequest)[0].version == min(highest, 9)


@virtual_time
async def test_offsets_of_a_group_are_changed_and_forgotten() -> None:
    async with administered() as (cluster, admin):
        stored = OffsetCommitResponseTopic(
            name="orders", partitions=[OffsetCommitResponsePartition(partition_index=0)]
        )
        cluster.on(OffsetCommitRequest, OffsetCommitResponse(topics=[stored]))
        cluster.on(OffsetDeleteRequest, OffsetDeleteResponse(error_code=68))

        await admin.alter_consumer_group_offsets("g", {ORDERS: 12})
        with pytest.raises(KafkaError, match="NON_EMPTY_GROUP"):
            await admin.delete_consumer_group_offsets("g", [ORDERS])

        (topic,) = cluster.requests(OffsetCommitRequest)[0].message.topics
        assert topic.partitions[0].committed_offset == 12
        assert topic.partitions[0].committed_leader_epoch == -1


@virtual_time
async def test_lag_is_what_was_not_committed_yet() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        cluster.on(OffsetFetchRequest, fetched(version_8=True))
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 12)]))

        lag = await admin.consumer_group_lag("g")

        assert lag[ORDERS].committed_offset == 7
        assert lag[ORDERS].end_offset == 12
        assert lag[ORDERS].lag == 5


# -- offsets ---------------------------------------------------------------------------------------


@virtual_time
async def test_offsets_are_asked_of_the_leaders() -> None:
    async with administered(nodes=2) as (cluster, admin):
        cluster.add_topic("orders", leaders=[1, 2])
        cluster.on(
            ListOffsetsRequest,
            lambda request: ListOffsetsResponse(
                topics=[
                    listed(topic.name, partition.partition_index, 5)
                    for topic in request.topics
                    for partition in topic.partitions
                ]
            ),
        )
        second = TopicPartition("orders", 1)

        offsets = await admin.list_offsets({ORDERS: OffsetSpec.LATEST, second: 1_000})

        assert {place: found.offset for place, found in offsets.items() if found} == {
            ORDERS: 5,
            second: 5,
        }
        assert {
            one.node_id: one.message.topics[0].partitions[0].timestamp
            for one in cluster.requests(ListOffsetsRequest)
        } == {1: -1, 2: 1_000}


@virtual_time
async def test_a_leader_that_has_moved_is_found_again() -> None:
    async with administered(nodes=2) as (cluster, admin):
        topic = cluster.add_topic("orders", leaders=[1])

        def moved(request: ListOffsetsRequest) -> ListOffsetsResponse:
            topic.leaders, topic.epochs = [2], [1]
            wrong = listed("orders", 0, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return ListOffsetsResponse(topics=[wrong])

        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 5)]))
        cluster.once(ListOffsetsRequest, moved)

        offsets = await admin.list_offsets({ORDERS: OffsetSpec.EARLIEST})

        found = offsets[ORDERS]
        assert found is not None
        assert found.offset == 5
        assert cluster.requests(ListOffsetsRequest)[-1].node_id == 2


@virtual_time
async def test_a_partition_that_does_not_exist_does_not_spoil_the_others() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 5)]))
        missing = TopicPartition("orders", 7)

        with pytest.raises(SeveralErrors) as raised:
            await admin.list_offsets({ORDERS: 0, missing: 0, TopicPartition("no", 0): 0})

        assert set(raised.value.results) == {ORDERS}
        assert str(raised.value.errors[missing]) == "topic 'orders' has no partition 7"
        assert current_clock().now() < 3.5


@virtual_time
async def test_a_topic_that_was_just_made_is_waited_for() -> None:
    async with administered() as (cluster, admin):
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 0)]))
        asking = asyncio.ensure_future(admin.list_offsets({ORDERS: OffsetSpec.LATEST}))
        await asyncio.sleep(1)

        cluster.add_topic("orders", leaders=[1])

        found = (await asking)[ORDERS]
        assert found.offset == 0


@virtual_time
async def test_no_record_that_new_is_none() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, -1)]))

        assert await admin.list_offsets({ORDERS: 10**13}) == {ORDERS: None}


@virtual_time
async def test_records_are_deleted_by_the_leader() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        gone = DeleteRecordsPartitionResult(partition_index=0, low_watermark=3)
        topic = DeleteRecordsTopicResult(name="orders", partitions=[gone])
        cluster.on(DeleteRecordsRequest, DeleteRecordsResponse(topics=[topic]))

        assert await admin.delete_records({ORDERS: 3}) == {ORDERS: 3}


@virtual_time
async def test_what_a_broker_leaves_out_of_its_answer_is_an_error() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, created())

        with pytest.raises(KafkaError, match="left out 'orders'"):
            await admin.create_topics([NewTopic("orders")], timeout=1.0)


# -- life ------------------------------------------------------------------------------------------


@virtual_time
async def test_the_cluster_is_described() -> None:
    async with administered(nodes=2) as (_, admin):
        cluster = await admin.describe_cluster()

        assert cluster.cluster_id == "scripted"
        assert cluster.controller_id == 1
        assert [node.node_id for node in cluster.nodes] == [1, 2]


@virtual_time
async def test_the_first_call_connects() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        admin = AsyncAdmin("broker1:9092", clock=current_clock(), network=cluster.network)

        await asyncio.gather(*(admin.list_topics() for _ in range(5)))

        assert cluster.connection_counts[1] == 1
        await admin.close()


@virtual_time
async def test_entering_fails_fast_and_leaves_nothing() -> None:
    admin = AsyncAdmin("nowhere:9092", clock=current_clock(), network=MemoryNetwork())

    with pytest.raises(BootstrapError, match="nowhere:9092"):
        await admin.__aenter__()

    assert asyncio.all_tasks() == {asyncio.current_task()}
    with pytest.raises(ClosedError):
        await admin.list_topics()


# -- what has become of each item (pure) -----------------------------------------------------------


class Patient:
    """A route that tries again whatever is retriable."""

    def may_pass(self, error: KafkaError) -> bool:
        return error.retriable


def settlement(*items: str, already_done: type[KafkaError] | None = None) -> Settlement:
    return Settlement(Patient(), list(items), already_done)  # type: ignore[arg-type]


def test_an_item_is_pending_until_it_has_a_result_or_a_lasting_error() -> None:
    state = settlement("a", "b", "c")

    again = state.take({"a": 1, "b": error_for(41), "c": error_for(36)})

    assert set(again) == {"b"}
    assert state.pending == ["b"]
    assert state.results == {"a": 1}
    assert set(state.errors) == {"c"}


@pytest.mark.parametrize(
    ("first", "is_done"),
    [(NodeDisconnectedError("lost"), True), (error_for(41), False)],
    ids=["after a lost answer", "after a certain failure"],
)
def test_what_is_already_done_counts_as_done_only(first: KafkaError, is_done: bool) -> None:
    state = settlement("a", already_done=UnknownTopicOrPartitionError)
    state.route.may_pass = lambda error: error is first  # type: ignore[method-assign]
    state.take({"a": first})

    state.take({"a": error_for(3)})

    assert ("a" in state.results) is is_done


def test_the_outcome_of_nothing_is_nothing() -> None:
    assert settlement().outcome() == {}
