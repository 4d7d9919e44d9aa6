"""Elections and reassignments: who is asked, and what becomes of each partition."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import ElectionType, TopicPartition
from pyk.clients.errors import (
    InvalidReplicaAssignmentError,
    KafkaError,
    PreferredLeaderNotAvailableError,
    SeveralErrors,
    UnsupportedVersionError,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import alter_partition_reassignments as changes
from pyk.protocol.messages import elect_leaders as elections
from pyk.protocol.messages import list_partition_reassignments as listings
from pyk.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from pyk.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from pyk.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import virtual_time
from support.administering import ORDERS, administered
from support.scripted_broker import CLOSE

BILLS = TopicPartition("bills", 3)


def elected(*outcomes: tuple[TopicPartition, int]) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        replica_election_results=[
            elections.ReplicaElectionResult(
                topic=one.topic,
                partition_result=[
                    elections.PartitionResult(
                        partition_id=one.partition, error_code=code, error_message=None
                    )
                ],
            )
            for one, code in outcomes
        ]
    )


@virtual_time
async def test_leaders_are_elected_for_the_partitions_that_are_named() -> None:
    async with administered() as (cluster, admin):
        not_needed = ErrorCode.ELECTION_NOT_NEEDED
        cluster.on(ElectLeadersRequest, elected((ORDERS, 0), (BILLS, not_needed)))

        found = await admin.elect_leaders(ElectionType.PREFERRED, [ORDERS, BILLS])

        assert found == {ORDERS: True, BILLS: False}
        asked = cluster.requests(ElectLeadersRequest)[0].message.topic_partitions
        assert {(one.topic, *one.partitions) for one in asked} == {("orders", 0), ("bills", 3)}


@virtual_time
async def test_leaders_are_elected_for_all_partitions_if_none_are_named() -> None:
    async with administered() as (cluster, admin):
        cluster.on(ElectLeadersRequest, elected((ORDERS, 0), (BILLS, 0)))

        found = await admin.elect_leaders(ElectionType.PREFERRED, None)

        assert found == {ORDERS: True, BILLS: True}
        assert cluster.requests(ElectLeadersRequest)[0].message.topic_partitions is None


@virtual_time
async def test_partitions_of_all_that_get_no_leader_are_raised_with_those_that_do() -> None:
    async with administered() as (cluster, admin):
        code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        cluster.on(ElectLeadersRequest, elected((ORDERS, 0), (BILLS, code)))

        with pytest.raises(SeveralErrors, match="1 of 2 failed") as raised:
            await admin.elect_leaders(ElectionType.PREFERRED, None)

        assert raised.value.results == {ORDERS: True}
        assert isinstance(raised.value.errors[BILLS], PreferredLeaderNotAvailableError)


@virtual_time
async def test_only_preferred_leaders_are_elected_by_brokers_that_know_no_other_election() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.ELECT_LEADERS] = VersionRange(0, 0)
        cluster.on(ElectLeadersRequest, elected((ORDERS, 0)))

        assert await admin.elect_leaders(ElectionType.PREFERRED, [ORDERS]) == {ORDERS: True}
        with pytest.raises(UnsupportedVersionError):
            await admin.elect_leaders(ElectionType.UNCLEAN, [ORDERS])

        assert len(cluster.requests(ElectLeadersRequest)) == 1


# -- reassignments ---------------------------------------------------------------------------------


def reassigned(*outcomes: tuple[TopicPartition, int]) -> Any:
    return changes.AlterPartitionReassignmentsResponse(
        responses=[
            changes.ReassignableTopicResponse(
                name=one.topic,
                partitions=[
                    changes.ReassignablePartitionResponse(
                        partition_index=one.partition, error_code=code
                    )
                ],
            )
            for one, code in outcomes
        ]
    )


@virtual_time
async def test_each_reassignment_has_its_outcome() -> None:
    async with administered() as (cluster, admin):
        code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        cluster.on(AlterPartitionReassignmentsRequest, reassigned((ORDERS, 0), (BILLS, code)))

        with pytest.raises(SeveralErrors) as raised:
            await admin.alter_partition_reassignments({ORDERS: [1, 2], BILLS: None})

        assert list(raised.value.results) == [ORDERS]
        assert isinstance(raised.value.errors[BILLS], InvalidReplicaAssignmentError)
        topics = cluster.requests(AlterPartitionReassignmentsRequest)[0].message.topics
        assert [each.replicas for one in topics for each in one.partitions] == [[1, 2], None]


@virtual_time
async def test_a_broker_that_cannot_keep_the_replication_factor_is_not_asked_to() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.ALTER_PARTITION_REASSIGNMENTS] = VersionRange(0, 0)
        cluster.on(AlterPartitionReassignmentsRequest, reassigned((ORDERS, 0)))

        await admin.alter_partition_reassignments({ORDERS: [1]})
        with pytest.raises(UnsupportedVersionError):
            await admin.alter_partition_reassignments(
                {ORDERS: [1]}, allow_replication_factor_change=False
            )

        assert len(cluster.requests(AlterPartitionReassignmentsRequest)) == 1


@virtual_time
async def test_a_reassignment_without_an_answer_may_have_begun() -> None:
    async with administered() as (cluster, admin):
        cluster.on(AlterPartitionReassignmentsRequest, CLOSE)

        with pytest.raises(KafkaError, match="; it may have been done"):
            await admin.alter_partition_reassignments({ORDERS: [1]}, timeout=2)


@pytest.mark.parametrize("partitions", [None, [ORDERS]])
@virtual_time
async def test_reassignments_are_listed_of_all_partitions_or_of_some(partitions: Any) -> None:
    async with administered() as (cluster, admin):
        moving = listings.OngoingPartitionReassignment(
            partition_index=0, replicas=[1, 2], adding_replicas=[2], removing_replicas=[1]
        )
        topic = listings.OngoingTopicReassignment(name="orders", partitions=[moving])
        answer = listings.ListPartitionReassignmentsResponse(topics=[topic])
        cluster.on(ListPartitionReassignmentsRequest, answer)

        found = await admin.list_partition_reassignments(partitions)

        assert (found[ORDERS].adding_replicas, found[ORDERS].removing_replicas) == ((2,), (1,))
        asked = cluster.requests(ListPartitionReassignmentsRequest)[0].message.topics
        names = None if asked is None else [one.name for one in asked]
        assert names == (None if partitions is None else ["orders"])
