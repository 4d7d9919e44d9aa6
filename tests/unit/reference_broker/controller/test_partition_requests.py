"""Elections, reassignments and the quorum of one node, in the words of Apache Kafka 4.3.1."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)
from pyk.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pyk.protocol.messages.metadata_records import PartitionRecord, TopicRecord
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.partition_requests import elect_leaders
from pyk.reference_broker.controller.quorum import Quorum, describe_quorum

QUORUM = Quorum(node_id=0, leader_epoch=3, high_watermark=7, log_end_offset=9)


def quorum_of(*partitions: tuple[str, int]) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(
        topics=[
            RequestTopicData(topic_name=name, partitions=[RequestPartitionData(partition_index=n)])
            for name, n in partitions
        ]
    )


def test_an_unknown_type_of_election_is_refused_for_each_partition() -> None:
    asked = [TopicPartitions(topic="orders", partitions=[0, 1])]

    response = elect_leaders(
        MetadataImage(), ElectLeadersRequest(election_type=5, topic_partitions=asked)
    )

    (topic,) = response.replica_election_results
    assert response.error_code == 42
    assert [(one.partition_id, one.error_code) for one in topic.partition_result] == [
        (0, 42),
        (1, 42),
    ]
    assert {one.error_message for one in topic.partition_result} == {"Unknown election type 5"}


def image_without_a_leader_of(topic: str) -> MetadataImage:
    image = MetadataImage()
    topic_id = UUID(int=1)
    image.replay(TopicRecord(name=topic, topic_id=topic_id))
    for number, leader in enumerate((0, -1)):
        image.replay(
            PartitionRecord(
                partition_id=number, topic_id=topic_id, replicas=[0], isr=[0], leader=leader
            )
        )
    return image


@pytest.mark.parametrize(
    ("election_type", "code"),
    [
        (0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
        (1, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    ],
)
def test_a_partition_in_a_failed_directory_gets_no_leader(
    election_type: int, code: ErrorCode
) -> None:
    image = image_without_a_leader_of("orders")
    asked = [TopicPartitions(topic="orders", partitions=[0, 1])]

    (named,) = elect_leaders(
        image, ElectLeadersRequest(election_type=election_type, topic_partitions=asked)
    ).replica_election_results
    (of_all,) = elect_leaders(
        image, ElectLeadersRequest(election_type=election_type, topic_partitions=None)
    ).replica_election_results

    assert [(each.partition_id, each.error_code) for each in named.partition_result] == [
        (0, ErrorCode.ELECTION_NOT_NEEDED),
        (1, code),
    ]
    assert [(each.partition_id, each.error_code) for each in of_all.partition_result] == [(1, code)]
    assert all("not available" in each.error_message for each in of_all.partition_result)


def test_the_quorum_is_this_node_up_to_date() -> None:
    response = describe_quorum(QUORUM, MetadataImage(), 1234, quorum_of(("__cluster_metadata", 0)))

    ((partition,),) = (topic.partitions for topic in response.topics)
    (voter,) = partition.current_voters
    assert (partition.leader_epoch, partition.high_watermark) == (3, 7)
    assert (voter.log_end_offset, voter.last_caught_up_timestamp) == (9, 1234)


@pytest.mark.parametrize(
    "partitions",
    [[("orders", 0)], [("__cluster_metadata", 1)], [("__cluster_metadata", 0), ("orders", 0)]],
    ids=str,
)
def test_no_other_partition_has_a_quorum(partitions: list[tuple[str, int]]) -> None:
    response = describe_quorum(QUORUM, MetadataImage(), 1234, quorum_of(*partitions))

    found = [one for topic in response.topics for one in topic.partitions]
    assert [one.error_code for one in found] == [3] * len(partitions)
    assert not response.nodes
