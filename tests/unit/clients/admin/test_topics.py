"""Topics are made, changed and deleted by the controller, and each has an outcome of its own."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients import NewTopic
from pyk.clients.errors import (
    ClosedError,
    KafkaError,
    KafkaTimeoutError,
    NotControllerError,
    SeveralErrors,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
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
from pyk.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import administered, let_control
from support.scripted_broker import CLOSE, SILENCE


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


@virtual_time
async def test_topics_are_made_by_the_controller() -> None:
    async with administered(nodes=3) as (cluster, admin):
        await let_control(3, cluster, admin)
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
async def test_properties_that_are_not_given_are_left_to_the_broker() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, created(("orders", 0)))

        await admin.create_topics([NewTopic("orders", configs=None)])

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
async def test_errors_of_several_topics_come_together_with_the_successes() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, created(("a", 36), ("b", 0), ("c", 17)))

        with pytest.raises(SeveralErrors) as raised:
            await admin.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("c")])

        assert set(raised.value.errors) == {"a", "c"}
        assert set(raised.value.results) == {"b"}


@virtual_time
async def test_an_item_that_a_broker_leaves_out_is_an_error() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, created())

        with pytest.raises(KafkaError, match="left out 'orders'"):
            await admin.create_topics([NewTopic("orders")], timeout=1.0)


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
async def test_only_failed_items_are_requested_again() -> None:
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
        assert (
            str(raised.value) == "node 1 did not answer within the timeout; it may have been done"
        )
        assert current_clock().now() - began <= 2.01


@pytest.mark.parametrize("timeout", [0.5, 1.0, 2.0, 3.0, 5.0])
@virtual_time
async def test_a_call_that_cannot_reach_its_node_says_why(timeout: float) -> None:
    async with administered(nodes=3) as (cluster, admin):
        await admin.list_topics()
        for node_id in (1, 2, 3):
            await cluster.kill(node_id)

        with pytest.raises(KafkaTimeoutError, match=r"node \d.*connection refused"):
            await admin.create_topics([NewTopic("orders")], timeout=timeout)


@virtual_time
async def test_a_change_that_is_in_flight_when_the_client_is_closed_may_be_done() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, SILENCE)
        call = asyncio.create_task(admin.create_topics([NewTopic("orders")]))
        await asyncio.sleep(1)

        await admin.close()

        with pytest.raises(ClosedError, match="it may have been done") as raised:
            await call
        assert not raised.value.definite


@virtual_time
async def test_an_existing_topic_is_no_definite_error_after_a_lost_response() -> None:
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
        cluster.versions[ApiKey.DELETE_TOPICS] = VersionRange(1, highest)
        await let_control(2, cluster, admin)
        cluster.on(DeleteTopicsRequest, deleted(("orders", 0)))

        await admin.delete_topics(["orders"])

        message = cluster.requests(DeleteTopicsRequest)[0].message
        assert (message.topic_names or [state.name for state in message.topics]) == ["orders"]


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
