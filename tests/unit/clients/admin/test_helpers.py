"""What the admin client makes of several calls: resets of offsets, copies of settings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pyk.clients import ConfigResource, OffsetAndMetadata, TopicPartition
from pyk.clients.admin import OffsetReset
from pyk.protocol.messages import offset_commit
from pyk.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from pyk.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from pyk.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from pyk.runtime.virtual_time import virtual_time
from support.administering import ORDERS, administered, fetched
from support.scripted_broker import ScriptedCluster

OTHER = TopicPartition("orders", 1)
BEGIN, END, COMMITTED = 10, 90, 40
EARLIEST, LATEST = -2, -1


def keep_a_log(cluster: ScriptedCluster, at_time: int = 55) -> None:
    """Let two partitions have records from BEGIN to END; the group has read one to COMMITTED."""
    cluster.add_topic("orders", [1, 1])

    def offsets(request: ListOffsetsRequest) -> ListOffsetsResponse:
        found = {EARLIEST: BEGIN, LATEST: END}
        topics = [
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=one.partition_index,
                        offset=found.get(one.timestamp, at_time),
                        leader_epoch=4,
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return ListOffsetsResponse(topics=topics)

    def commit(request: OffsetCommitRequest) -> OffsetCommitResponse:
        topics = [
            offset_commit.OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    offset_commit.OffsetCommitResponsePartition(partition_index=one.partition_index)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return OffsetCommitResponse(topics=topics)

    cluster.on(ListOffsetsRequest, offsets)
    cluster.on(OffsetFetchRequest, fetched("orders", 0, COMMITTED))
    cluster.on(OffsetCommitRequest, commit)


def committed(cluster: ScriptedCluster) -> dict[int, int]:
    """Return the offsets that were committed, by partition."""
    return {
        one.partition_index: one.committed_offset
        for request in cluster.requests(OffsetCommitRequest)
        for topic in request.message.topics
        for one in topic.partitions
    }


@pytest.mark.parametrize(
    ("to", "after"),
    [
        ("earliest", BEGIN),
        ("latest", END),
        (timedelta(hours=1), 55),
        ({ORDERS: 50}, 50),
        ({ORDERS: 5}, BEGIN),
        ({ORDERS: 95}, END),
    ],
    ids=["earliest", "latest", "a time", "an offset", "before the log", "after the log"],
)
@virtual_time
async def test_a_group_is_reset_within_the_log(to: Any, after: int) -> None:
    async with administered() as (cluster, admin):
        keep_a_log(cluster)

        reset = await admin.reset_offsets("g", to=to)

        assert reset == {ORDERS: OffsetReset(COMMITTED, after)}
        assert committed(cluster) == {0: after}


@virtual_time
async def test_a_time_after_the_last_record_leads_to_the_end() -> None:
    async with administered() as (cluster, admin):
        keep_a_log(cluster, at_time=-1)

        reset = await admin.reset_offsets("g", to=timedelta(0))

        assert reset[ORDERS].after == END


@virtual_time
async def test_a_dry_run_commits_nothing() -> None:
    async with administered() as (cluster, admin):
        keep_a_log(cluster)

        reset = await admin.reset_offsets("g", to="earliest", dry_run=True)

        assert reset == {ORDERS: OffsetReset(COMMITTED, BEGIN)}
        assert committed(cluster) == {}


@virtual_time
async def test_a_partition_that_is_named_is_reset_although_nothing_was_committed_there() -> None:
    async with administered() as (cluster, admin):
        keep_a_log(cluster)

        assert await admin.reset_offsets("g", to={OTHER: 20}) == {OTHER: OffsetReset(None, 20)}
        assert await admin.reset_offsets("g", to="latest", partitions=[OTHER]) == {
            OTHER: OffsetReset(None, END)
        }

        assert committed(cluster) == {1: END}


@virtual_time
async def test_a_group_that_has_committed_nothing_is_left_alone() -> None:
    async with administered() as (cluster, admin):
        keep_a_log(cluster)
        nothing = OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g")])
        cluster.on(OffsetFetchRequest, nothing)

        assert await admin.reset_offsets("g", to="latest") == {}

        assert cluster.requests(ListOffsetsRequest) == []


@virtual_time
async def test_offsets_of_open_transactions_are_counted_in_resets_and_lags() -> None:
    async with administered() as (cluster, admin):
        keep_a_log(cluster)

        await admin.reset_offsets("g", to="latest")
        lag = await admin.lag("g")

        assert lag[ORDERS].lag == END - COMMITTED
        levels = {one.message.isolation_level for one in cluster.requests(ListOffsetsRequest)}
        stable = {one.message.require_stable for one in cluster.requests(OffsetFetchRequest)}
        assert (levels, stable) == ({0}, {False})


@virtual_time
async def test_the_end_of_a_partition_without_a_committed_offset_has_no_lag() -> None:
    async with administered() as (cluster, admin):
        keep_a_log(cluster)
        cluster.on(OffsetFetchRequest, fetched("orders", 1, -1))

        lag = await admin.lag("g", [OTHER])

        assert (lag[OTHER].committed_offset, lag[OTHER].end_offset) == (None, END)
        assert lag[OTHER].lag is None


@virtual_time
async def test_an_offset_is_committed_with_its_note() -> None:
    async with administered() as (cluster, admin):
        keep_a_log(cluster)

        await admin.alter_consumer_group_offsets("g", {ORDERS: OffsetAndMetadata(7, "note", 3)})

        (request,) = cluster.requests(OffsetCommitRequest)
        (one,) = request.message.topics[0].partitions
        assert (one.committed_offset, one.committed_metadata) == (7, "note")


# -- settings --------------------------------------------------------------------------------------


def described(*entries: tuple[str, int]) -> DescribeConfigsResponse:
    configs = [
        DescribeConfigsResourceResult(name=name, value="7", config_source=source)
        for name, source in entries
    ]
    result = DescribeConfigsResult(resource_type=2, resource_name="a", configs=configs)
    return DescribeConfigsResponse(results=[result])


@virtual_time
async def test_only_the_settings_that_a_topic_has_of_its_own_are_copied() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeConfigsRequest, described(("own", 1), ("default", 5), ("broker", 4)))
        outcome = AlterConfigsResourceResponse(resource_type=2, resource_name="b")
        answer = IncrementalAlterConfigsResponse(responses=[outcome])
        cluster.on(IncrementalAlterConfigsRequest, answer)

        assert await admin.copy_topic_config("a", "b") == {"own": "7"}

        (request,) = cluster.requests(IncrementalAlterConfigsRequest)
        (resource,) = request.message.resources
        assert ConfigResource.topic(resource.resource_name) == ConfigResource.topic("b")
        assert [(one.name, one.value) for one in resource.configs] == [("own", "7")]
        assert not request.message.validate_only
        asked = cluster.requests(DescribeConfigsRequest)[0].message
        assert not asked.include_documentation
        assert not asked.include_synonyms


@virtual_time
async def test_nothing_is_changed_where_the_source_has_no_settings_of_its_own() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeConfigsRequest, described(("default", 5)))

        assert await admin.copy_topic_config("a", "b") == {}

        assert cluster.requests(IncrementalAlterConfigsRequest) == []
