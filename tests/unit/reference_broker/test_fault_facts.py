"""The topics and groups that requests name."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages import (
    add_partitions_to_txn,
    alter_share_group_offsets,
    describe_log_dirs,
    describe_share_group_offsets,
    elect_leaders,
    offset_fetch,
    write_txn_markers,
)
from pyk.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from pyk.reference_broker.fault_facts import (
    check_names_groups,
    check_names_topics,
    named_groups,
    named_topics,
)

TOPICS_OF_TRANSACTION = [add_partitions_to_txn.AddPartitionsToTxnTopic(name="t", partitions=[0])]
NAMING_TOPICS = {
    "Metadata": MetadataRequest(topics=[MetadataRequestTopic(name="t")]),
    "CreateTopics": CreateTopicsRequest(topics=[CreatableTopic(name="t")]),
    "DeleteTopics": DeleteTopicsRequest(topics=[DeleteTopicState(name="t")]),
    "DeleteTopics before version 6": DeleteTopicsRequest(topic_names=["t"]),
    "OffsetFetch before version 8": offset_fetch.OffsetFetchRequest(
        topics=[offset_fetch.OffsetFetchRequestTopic(name="t")]
    ),
    "OffsetFetch": offset_fetch.OffsetFetchRequest(
        groups=[
            offset_fetch.OffsetFetchRequestGroup(
                topics=[offset_fetch.OffsetFetchRequestTopics(name="t")]
            )
        ]
    ),
    "AddPartitionsToTxn before version 4": AddPartitionsToTxnRequest(
        v3_and_below_topics=TOPICS_OF_TRANSACTION
    ),
    "AddPartitionsToTxn": AddPartitionsToTxnRequest(
        transactions=[
            add_partitions_to_txn.AddPartitionsToTxnTransaction(topics=TOPICS_OF_TRANSACTION)
        ]
    ),
    "WriteTxnMarkers": write_txn_markers.WriteTxnMarkersRequest(
        markers=[
            write_txn_markers.WritableTxnMarker(
                topics=[write_txn_markers.WritableTxnMarkerTopic(name="t")]
            )
        ]
    ),
    "DescribeLogDirs": describe_log_dirs.DescribeLogDirsRequest(
        topics=[describe_log_dirs.DescribableLogDirTopic(topic="t")]
    ),
    "ElectLeaders": elect_leaders.ElectLeadersRequest(
        topic_partitions=[elect_leaders.TopicPartitions(topic="t", partitions=[0])]
    ),
    "AlterShareGroupOffsets": alter_share_group_offsets.AlterShareGroupOffsetsRequest(
        topics=[alter_share_group_offsets.AlterShareGroupOffsetsRequestTopic(topic_name="t")]
    ),
}
NAMING_GROUPS = {
    "Heartbeat": HeartbeatRequest(group_id="g"),
    "OffsetFetch before version 8": offset_fetch.OffsetFetchRequest(group_id="g"),
    "OffsetFetch": offset_fetch.OffsetFetchRequest(
        groups=[offset_fetch.OffsetFetchRequestGroup(group_id="g")]
    ),
    "DescribeGroups": DescribeGroupsRequest(groups=["g"]),
    "DeleteGroups": DeleteGroupsRequest(groups_names=["g"]),
    "ShareGroupDescribe": ShareGroupDescribeRequest(group_ids=["g"]),
    "DescribeShareGroupOffsets": describe_share_group_offsets.DescribeShareGroupOffsetsRequest(
        groups=[describe_share_group_offsets.DescribeShareGroupOffsetsRequestGroup(group_id="g")]
    ),
}


@pytest.mark.parametrize("api", NAMING_TOPICS)
def test_topics_are_found_wherever_a_request_names_them(api: str) -> None:
    body = NAMING_TOPICS[api]

    assert [name for name, _ in named_topics(body)] == ["t"]
    check_names_topics(body.api_key)  # type: ignore[arg-type]


def test_a_topic_that_goes_by_its_id_has_no_name() -> None:
    topic = MetadataRequestTopic(name=None, topic_id=UUID(int=7))

    assert list(named_topics(MetadataRequest(topics=[topic]))) == [("", topic)]


@pytest.mark.parametrize(
    "body", [MetadataRequest(topics=None), HeartbeatRequest(group_id="g")], ids=["all", "none"]
)
def test_a_request_may_name_no_topic(body: Any) -> None:
    assert list(named_topics(body)) == []


@pytest.mark.parametrize("api_key", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.SHARE_FETCH])
def test_apis_whose_partitions_have_a_shape_of_their_own_name_topics(api_key: ApiKey) -> None:
    check_names_topics(api_key)


@pytest.mark.parametrize("api", NAMING_GROUPS)
def test_groups_are_found_wherever_a_request_names_them(api: str) -> None:
    body = NAMING_GROUPS[api]

    assert list(named_groups(body)) == ["g"]
    check_names_groups(body.api_key)  # type: ignore[arg-type]


def test_a_request_may_name_no_group() -> None:
    assert list(named_groups(DescribeGroupsRequest(groups=[]))) == []
