"""Offsets of share groups: which are asked for, and what becomes of each."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.admin import SharePartitionOffset
from pyk.clients.errors import (
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    KafkaError,
    NonEmptyGroupError,
    SeveralErrors,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import alter_share_group_offsets as alterations
from pyk.protocol.messages import delete_share_group_offsets as deletions
from pyk.protocol.messages import describe_share_group_offsets as descriptions
from pyk.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from pyk.runtime.virtual_time import virtual_time
from support.administering import ORDERS, administered
from support.scripted_broker import CLOSE

BILLS = TopicPartition("bills", 3)
TOLD = SharePartitionOffset(start_offset=5, leader_epoch=2, lag=7)


def described(*offsets: tuple[TopicPartition, int], code: int = 0) -> Any:
    group = descriptions.DescribeShareGroupOffsetsResponseGroup(
        group_id="g",
        error_code=code,
        topics=[
            descriptions.DescribeShareGroupOffsetsResponseTopic(
                topic_name=one.topic,
                partitions=[
                    descriptions.DescribeShareGroupOffsetsResponsePartition(
                        partition_index=one.partition,
                        start_offset=-1 if error else 5,
                        leader_epoch=2,
                        lag=7,
                        error_code=max(0, error),
                    )
                ],
            )
            for one, error in offsets
        ],
    )
    return descriptions.DescribeShareGroupOffsetsResponse(groups=[group])


@virtual_time
async def test_all_offsets_of_a_share_group_are_listed_if_no_partitions_are_named() -> None:
    async with administered() as (cluster, admin):
        answer = described((ORDERS, 0), (BILLS, -1))
        cluster.on(descriptions.DescribeShareGroupOffsetsRequest, answer)

        assert await admin.list_share_group_offsets("g") == {ORDERS: TOLD, BILLS: None}

        (request,) = cluster.requests(descriptions.DescribeShareGroupOffsetsRequest)
        assert request.message.groups[0].topics is None


@virtual_time
async def test_a_partition_that_was_named_and_not_answered_is_an_error() -> None:
    async with administered() as (cluster, admin):
        cluster.on(descriptions.DescribeShareGroupOffsetsRequest, described((ORDERS, 0)))

        assert await admin.list_share_group_offsets("g", [ORDERS]) == {ORDERS: TOLD}
        with pytest.raises(KafkaError, match="bills"):
            await admin.list_share_group_offsets("g", [ORDERS, BILLS])


@virtual_time
async def test_the_error_of_a_partition_is_raised() -> None:
    async with administered() as (cluster, admin):
        answer = described((ORDERS, 0), (BILLS, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        cluster.on(descriptions.DescribeShareGroupOffsetsRequest, answer)

        with pytest.raises((TopicAuthorizationFailedError, SeveralErrors)) as raised:
            await admin.list_share_group_offsets("g")

        assert "bills" in repr(raised.value.__dict__)


@virtual_time
async def test_the_error_of_the_group_is_raised_as_it_is() -> None:
    async with administered() as (cluster, admin):
        answer = described(code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        cluster.on(descriptions.DescribeShareGroupOffsetsRequest, answer)

        with pytest.raises(GroupAuthorizationFailedError) as raised:
            await admin.list_share_group_offsets("g", [ORDERS])

        assert raised.value.group_id == "g"


@virtual_time
async def test_start_offsets_are_altered_and_each_partition_has_its_outcome() -> None:
    async with administered() as (cluster, admin):
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        answer = alterations.AlterShareGroupOffsetsResponse(
            responses=[
                alterations.AlterShareGroupOffsetsResponseTopic(
                    topic_name=one.topic,
                    partitions=[
                        alterations.AlterShareGroupOffsetsResponsePartition(
                            partition_index=one.partition, error_code=code
                        )
                    ],
                )
                for one, code in ((ORDERS, 0), (BILLS, missing))
            ]
        )
        cluster.on(alterations.AlterShareGroupOffsetsRequest, answer)

        with pytest.raises(SeveralErrors) as raised:
            await admin.alter_share_group_offsets("g", {ORDERS: 1, BILLS: 2})

        assert list(raised.value.results) == [ORDERS]
        assert isinstance(raised.value.errors[BILLS], UnknownTopicOrPartitionError)


@virtual_time
async def test_the_error_of_the_group_concerns_everything_that_was_to_be_changed() -> None:
    async with administered() as (cluster, admin):
        code = ErrorCode.NON_EMPTY_GROUP
        altered = alterations.AlterShareGroupOffsetsResponse(error_code=code)
        deleted = deletions.DeleteShareGroupOffsetsResponse(error_code=code)
        cluster.on(alterations.AlterShareGroupOffsetsRequest, altered)
        cluster.on(deletions.DeleteShareGroupOffsetsRequest, deleted)

        with pytest.raises(SeveralErrors) as altering:
            await admin.alter_share_group_offsets("g", {ORDERS: 1, BILLS: 2})
        with pytest.raises(SeveralErrors) as deleting:
            await admin.delete_share_group_offsets("g", ["orders", "bills"])

        assert set(altering.value.errors) == {ORDERS, BILLS}
        assert set(deleting.value.errors) == {"orders", "bills"}
        errors = [*altering.value.errors.values(), *deleting.value.errors.values()]
        assert {type(one) for one in errors} == {NonEmptyGroupError}


@virtual_time
async def test_offsets_of_topics_are_deleted() -> None:
    async with administered() as (cluster, admin):
        outcome = deletions.DeleteShareGroupOffsetsResponseTopic(topic_name="orders")
        answer = deletions.DeleteShareGroupOffsetsResponse(responses=[outcome])
        cluster.on(deletions.DeleteShareGroupOffsetsRequest, answer)

        await admin.delete_share_group_offsets("g", ["orders"])

        (request,) = cluster.requests(deletions.DeleteShareGroupOffsetsRequest)
        assert [one.topic_name for one in request.message.topics] == ["orders"]


@pytest.mark.parametrize(
    ("request_class", "call"),
    [
        (
            alterations.AlterShareGroupOffsetsRequest,
            lambda a: a.alter_share_group_offsets("g", {ORDERS: 1}, timeout=2),
        ),
        (
            deletions.DeleteShareGroupOffsetsRequest,
            lambda a: a.delete_share_group_offsets("g", ["orders"], timeout=2),
        ),
    ],
    ids=["alter", "delete"],
)
@virtual_time
async def test_a_change_without_an_answer_may_have_been_done(request_class: Any, call: Any) -> None:
    async with administered() as (cluster, admin):
        cluster.on(request_class, CLOSE)

        with pytest.raises(KafkaError, match="; it may have been done"):
            await call(admin)


@virtual_time
async def test_a_share_group_is_deleted_as_any_group() -> None:
    async with administered() as (cluster, admin):
        code = ErrorCode.GROUP_ID_NOT_FOUND
        result = DeletableGroupResult(group_id="g", error_code=code)
        cluster.on(DeleteGroupsRequest, DeleteGroupsResponse(results=[result]))

        with pytest.raises(GroupIdNotFoundError):
            await admin.delete_share_groups(["g"])
