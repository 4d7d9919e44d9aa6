"""Offsets of share groups: requests that are refused before, or by, the coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.read_share_group_state_summary import PartitionResult
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.handlers.share_group_offsets import (
    _described,
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
)
from pyk.runtime.virtual_time import virtual_time
from support.running_brokers import TOPIC, context, running_broker
from support.share_groups import GROUP, answered

E = ErrorCode


async def alter(broker: Broker, *numbers: int, group: str = GROUP) -> Any:
    partitions = [
        AlterShareGroupOffsetsRequestPartition(partition_index=number, start_offset=0)
        for number in numbers or (0,)
    ]
    topics = [AlterShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=partitions)]
    request = AlterShareGroupOffsetsRequest(group_id=group, topics=topics)
    return await answered(alter_share_group_offsets(broker.services, request, context(0)))


async def delete(broker: Broker, group: str = GROUP) -> Any:
    topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=TOPIC)]
    request = DeleteShareGroupOffsetsRequest(group_id=group, topics=topics)
    return await answered(delete_share_group_offsets(broker.services, request, context(0)))


async def describe(broker: Broker, group: str = GROUP, topics: list[Any] | None = None) -> Any:
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=topics)
    request = DescribeShareGroupOffsetsRequest(groups=[asked])
    response = await answered(describe_share_group_offsets(broker.services, request, context(0)))
    (found,) = response.groups
    return found


def refusal(response: Any) -> tuple[int, str | None]:
    return response.error_code, response.error_message


@virtual_time
async def test_a_cluster_without_share_groups_refuses_all_about_their_offsets() -> None:
    async with running_broker() as broker:
        broker.image.features["share.version"] = 0
        unsupported = (E.UNSUPPORTED_VERSION, "The version of API is not supported.")

        assert refusal(await alter(broker)) == unsupported
        assert refusal(await delete(broker)) == unsupported
        assert (await describe(broker)).error_code == E.UNSUPPORTED_VERSION


@virtual_time
async def test_offsets_of_no_group_are_refused() -> None:
    async with running_broker() as broker:
        invalid = (E.INVALID_GROUP_ID, "The group id is invalid.")

        assert refusal(await alter(broker, group="")) == invalid
        assert refusal(await delete(broker, group="")) == invalid


@virtual_time
async def test_nothing_that_is_asked_for_is_described_as_nothing() -> None:
    async with running_broker() as broker:
        found = await describe(broker, group="", topics=[])

        assert (found.error_code, found.topics) == (E.NONE, [])


@virtual_time
async def test_partitions_of_no_group_are_not_described() -> None:
    async with running_broker() as broker:
        asked = DescribeShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=[0])

        refused = await describe(broker, group="", topics=[asked])

        assert refused.error_code == E.UNKNOWN_SERVER_ERROR


@virtual_time
async def test_even_negative_partitions_of_unknown_topics_are_described_as_unknown() -> None:
    async with running_broker() as broker:
        asked = DescribeShareGroupOffsetsRequestTopic(topic_name="missing", partitions=[-1])

        ((partition,),) = [
            topic.partitions for topic in (await describe(broker, topics=[asked])).topics
        ]

        assert (partition.start_offset, partition.error_code) == (-1, E.NONE)


MOVED = E.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("known", "end", "expected"),
    [
        ({}, 20, (10, 4, 7, E.NONE)),
        ({"start_offset": -1, "delivery_complete_count": 0}, 20, (-1, 4, -1, E.NONE)),
        ({"delivery_complete_count": -1}, 20, (10, 4, -1, E.NONE)),
        ({"delivery_complete_count": -1}, MOVED, (10, 4, -1, E.NONE)),  # the end is not needed
        ({}, MOVED, (0, 0, -1, MOVED)),
        ({"error_code": E.NOT_COORDINATOR}, 20, (-1, 0, -1, E.NONE)),
    ],
)
def test_a_partition_is_described_by_its_state_and_its_end(
    known: dict[str, int], end: int | ErrorCode, expected: tuple[int, int, int, ErrorCode]
) -> None:
    fields: dict[str, Any] = {
        "leader_epoch": 4,
        "start_offset": 10,
        "delivery_complete_count": 3,
        **known,
    }

    found = _described(PartitionResult(**fields), end)

    assert (found.start_offset, found.leader_epoch, found.lag, found.error_code) == expected


@pytest.mark.parametrize("numbers", [(-1,), (0, -1), (-1, 0)])
@virtual_time
async def test_one_negative_partition_is_enough_to_refuse_a_change(
    numbers: tuple[int, ...],
) -> None:
    async with running_broker() as broker:
        response = await alter(broker, *numbers)

        assert response.error_code == E.UNKNOWN_SERVER_ERROR
        assert response.error_message.endswith(" -1")
        assert (await describe(broker)).topics == []


@virtual_time
async def test_a_broker_that_does_not_coordinate_the_group_says_so() -> None:
    async with running_broker() as broker:  # the topic of groups does not exist yet
        for response in (await alter(broker), await delete(broker), await describe(broker)):
            assert response.error_code == E.COORDINATOR_NOT_AVAILABLE
