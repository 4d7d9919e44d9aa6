"""What each API needs: refused without it, and with one part of it missing; served with all."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import EncodeError, ErrorCode
from pyk.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from pyk.protocol.messages.add_raft_voter import AddRaftVoterRequest
from pyk.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, RequestEntryData
from pyk.protocol.messages.alter_configs import AlterConfigsRequest
from pyk.protocol.messages.alter_configs import AlterConfigsResource as ReplacedResource
from pyk.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from pyk.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pyk.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from pyk.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pyk.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.protocol.messages.describe_acls import DescribeAclsRequest
from pyk.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from pyk.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from pyk.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pyk.protocol.messages.describe_quorum import DescribeQuorumRequest
from pyk.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from pyk.protocol.messages.describe_topic_partitions import TopicRequest as DescribedTopic
from pyk.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pyk.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from pyk.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.join_group import JoinGroupRequest
from pyk.protocol.messages.leave_group import LeaveGroupRequest
from pyk.protocol.messages.list_config_resources import ListConfigResourcesRequest
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from pyk.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from pyk.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from pyk.protocol.messages.sync_group import SyncGroupRequest
from pyk.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pyk.protocol.messages.unregister_broker import UnregisterBrokerRequest
from pyk.protocol.messages.update_features import UpdateFeaturesRequest
from pyk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.handlers.authorization.requirements import REQUIREMENTS
from pyk.reference_broker.handlers.table import SERVED
from pyk.runtime.virtual_time import virtual_time
from support.authorized_broker import Right, authorized_broker, on_cluster, refusals
from support.raw_client import batch

TOPIC = "orders"
ALTER, ALTER_CONFIGS = AclOperation.ALTER, AclOperation.ALTER_CONFIGS
CREATE, DELETE = AclOperation.CREATE, AclOperation.DELETE
DESCRIBE, DESCRIBE_CONFIGS = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS
READ, WRITE = AclOperation.READ, AclOperation.WRITE
ACTION, IDEMPOTENT = AclOperation.CLUSTER_ACTION, AclOperation.IDEMPOTENT_WRITE
TWO_PHASE = AclOperation.TWO_PHASE_COMMIT
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NO_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
NO_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
NO_TRANSACTION = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
BROKER_CONFIG, TOPIC_CONFIG, GROUP_CONFIG = 4, 2, 32


def on_topic(operation: AclOperation, name: str = TOPIC) -> Right:
    return operation, ResourceType.TOPIC, name


def on_group(operation: AclOperation) -> Right:
    return operation, ResourceType.GROUP, "billing"


def on_id(operation: AclOperation) -> Right:
    return operation, ResourceType.TRANSACTIONAL_ID, "payer"


def produced(**more: Any) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=batch(b"one", **more))
    topics = [TopicProduceData(name=TOPIC, partition_data=[data])]
    transactional_id = "payer" if more else None
    return ProduceRequest(transactional_id=transactional_id, acks=1, topic_data=topics)


def fetched(replica_id: int = -1) -> FetchRequest:
    asked = [FetchTopic(topic=TOPIC, partitions=[FetchPartition(partition=0)])]
    return FetchRequest(replica_id=replica_id, max_wait_ms=0, topics=asked)


def committed() -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
    return OffsetCommitRequest(group_id="billing", topics=topics)


def committed_in_transaction() -> TxnOffsetCommitRequest:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
    return TxnOffsetCommitRequest(transactional_id="payer", group_id="billing", topics=topics)


def added() -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])]
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="payer", v3_and_below_topics=topics
    )


def added_by_a_broker() -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])]
    transaction = AddPartitionsToTxnTransaction(transactional_id="payer", topics=topics)
    return AddPartitionsToTxnRequest(transactions=[transaction])


def marked() -> WriteTxnMarkersRequest:
    topics = [WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])]
    return WriteTxnMarkersRequest(markers=[WritableTxnMarker(producer_id=1, topics=topics)])


def offsets_of_group() -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="billing", topics=topics)])


def offsets_of_single_group() -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
    return OffsetFetchRequest(group_id="billing", topics=topics)


def deleted_offsets() -> OffsetDeleteRequest:
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    topics = [OffsetDeleteRequestTopic(name=TOPIC, partitions=partitions)]
    return OffsetDeleteRequest(group_id="billing", topics=topics)


def described_configs(kind: int, name: str) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name)
    return DescribeConfigsRequest(resources=[resource])


def altered_configs(kind: int, name: str) -> IncrementalAlterConfigsRequest:
    resource = AlterConfigsResource(resource_type=kind, resource_name=name)
    return IncrementalAlterConfigsRequest(resources=[resource])


def found(key_type: int, key: str) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])


def found_alone(key_type: int, key: str) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(key_type=key_type, key=key)


def listed_offsets() -> ListOffsetsRequest:
    asked = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    return ListOffsetsRequest(topics=[ListOffsetsTopic(name=TOPIC, partitions=asked)])


def epochs() -> OffsetForLeaderEpochRequest:
    asked = [OffsetForLeaderPartition(partition=0, leader_epoch=0)]
    return OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=TOPIC, partitions=asked)])


def deleted_records() -> DeleteRecordsRequest:
    asked = [DeleteRecordsPartition(partition_index=0, offset=0)]
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=TOPIC, partitions=asked)])


def replaced_configs() -> AlterConfigsRequest:
    resource = ReplacedResource(resource_type=TOPIC_CONFIG, resource_name=TOPIC)
    return AlterConfigsRequest(resources=[resource])


NEW_TOPIC = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
SCRAM_CHANGE = ScramCredentialDeletion(name="bob", mechanism=1)
NEW_RULE = AclCreation(
    resource_type=2, resource_name=TOPIC, principal="User:bob", host="*", operation=3,
    permission_type=3,
)  # fmt: skip

CASES: list[tuple[Message, int | None, list[Right], ErrorCode]] = [
    (produced(), 12, [on_topic(WRITE)], NO_TOPIC),
    (
        produced(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True),
        11,
        [on_id(WRITE), on_topic(WRITE)],
        NO_TRANSACTION,
    ),
    (fetched(), 12, [on_topic(READ)], NO_TOPIC),
    (fetched(replica_id=1), 12, [on_cluster(ACTION)], NO_TOPIC),
    (listed_offsets(), None, [on_topic(DESCRIBE)], NO_TOPIC),
    (epochs(), None, [on_topic(DESCRIBE)], NO_TOPIC),
    (epochs(), None, [on_cluster(ACTION)], NO_TOPIC),
    (deleted_records(), None, [on_topic(DELETE)], NO_TOPIC),
    (
        MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]),
        None,
        [on_topic(DESCRIBE)],
        NO_TOPIC,
    ),
    (
        MetadataRequest(topics=[MetadataRequestTopic(name="new")]),
        None,
        [on_topic(DESCRIBE, "new"), on_topic(CREATE, "new")],
        NO_TOPIC,
    ),
    (
        MetadataRequest(topics=[MetadataRequestTopic(name="new")]),
        None,
        [on_topic(DESCRIBE, "new"), on_cluster(CREATE)],
        NO_TOPIC,
    ),
    (
        DescribeTopicPartitionsRequest(topics=[DescribedTopic(name=TOPIC)]),
        None,
        [on_topic(DESCRIBE)],
        NO_TOPIC,
    ),
    (
        CreateTopicsRequest(topics=[NEW_TOPIC]),
        None,
        [on_topic(CREATE, "new"), on_topic(DESCRIBE_CONFIGS, "new")],
        NO_TOPIC,
    ),
    (
        CreateTopicsRequest(topics=[NEW_TOPIC]),
        None,
        [on_cluster(CREATE), on_topic(DESCRIBE_CONFIGS, "new")],
        NO_TOPIC,
    ),
    (
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=TOPIC, count=2)]),
        None,
        [on_topic(ALTER)],
        NO_TOPIC,
    ),
    (
        DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)]),
        None,
        [on_topic(DELETE)],
        NO_TOPIC,
    ),
    (DeleteTopicsRequest(topic_names=[TOPIC]), 5, [on_topic(DELETE)], NO_TOPIC),
    (DeleteTopicsRequest(topic_names=[TOPIC]), 5, [on_cluster(DELETE)], NO_TOPIC),
    (UpdateFeaturesRequest(), None, [on_cluster(ALTER)], NO_CLUSTER),
    (UnregisterBrokerRequest(broker_id=99), None, [on_cluster(ALTER)], NO_CLUSTER),
    (DescribeLogDirsRequest(), None, [on_cluster(DESCRIBE)], NO_CLUSTER),
    (
        AlterReplicaLogDirsRequest(
            dirs=[AlterReplicaLogDir(topics=[AlterReplicaLogDirTopic(partitions=[0])])]
        ),
        None,
        [on_cluster(ALTER)],
        NO_CLUSTER,
    ),
    (
        ElectLeadersRequest(topic_partitions=[TopicPartitions(topic=TOPIC, partitions=[0])]),
        None,
        [on_cluster(ALTER)],
        NO_CLUSTER,
    ),
    (AlterPartitionReassignmentsRequest(), None, [on_cluster(ALTER)], NO_CLUSTER),
    (ListPartitionReassignmentsRequest(), None, [on_cluster(DESCRIBE)], NO_CLUSTER),
    (DescribeQuorumRequest(), None, [on_cluster(DESCRIBE)], NO_CLUSTER),
    (AddRaftVoterRequest(), None, [on_cluster(ALTER)], NO_CLUSTER),
    (RemoveRaftVoterRequest(), None, [on_cluster(ALTER)], NO_CLUSTER),
    (ListConfigResourcesRequest(), None, [on_cluster(DESCRIBE_CONFIGS)], NO_CLUSTER),
    (described_configs(TOPIC_CONFIG, TOPIC), None, [on_topic(DESCRIBE_CONFIGS)], NO_TOPIC),
    (described_configs(BROKER_CONFIG, "0"), None, [on_cluster(DESCRIBE_CONFIGS)], NO_CLUSTER),
    (described_configs(GROUP_CONFIG, "billing"), None, [on_group(DESCRIBE_CONFIGS)], NO_GROUP),
    (altered_configs(TOPIC_CONFIG, TOPIC), None, [on_topic(ALTER_CONFIGS)], NO_TOPIC),
    (altered_configs(BROKER_CONFIG, "0"), None, [on_cluster(ALTER_CONFIGS)], NO_CLUSTER),
    (altered_configs(GROUP_CONFIG, "billing"), None, [on_group(ALTER_CONFIGS)], NO_GROUP),
    (replaced_configs(), None, [on_topic(ALTER_CONFIGS)], NO_TOPIC),
    (DescribeClientQuotasRequest(), None, [on_cluster(DESCRIBE_CONFIGS)], NO_CLUSTER),
    (
        AlterClientQuotasRequest(entries=[RequestEntryData()]),
        None,
        [on_cluster(ALTER_CONFIGS)],
        NO_CLUSTER,
    ),
    (found(0, "billing"), None, [on_group(DESCRIBE)], NO_GROUP),
    (found(1, "payer"), None, [on_id(DESCRIBE)], NO_TRANSACTION),
    (found_alone(0, "billing"), 3, [on_group(DESCRIBE)], NO_GROUP),
    (found_alone(1, "payer"), 3, [on_id(DESCRIBE)], NO_TRANSACTION),
    (found(2, "billing"), None, [on_cluster(ACTION)], NO_CLUSTER),
    (JoinGroupRequest(group_id="billing"), None, [on_group(READ)], NO_GROUP),
    (SyncGroupRequest(group_id="billing"), None, [on_group(READ)], NO_GROUP),
    (HeartbeatRequest(group_id="billing"), None, [on_group(READ)], NO_GROUP),
    (LeaveGroupRequest(group_id="billing"), None, [on_group(READ)], NO_GROUP),
    (committed(), 9, [on_group(READ), on_topic(READ)], NO_GROUP),
    (offsets_of_group(), 9, [on_group(DESCRIBE), on_topic(DESCRIBE)], NO_GROUP),
    (offsets_of_single_group(), 7, [on_group(DESCRIBE), on_topic(DESCRIBE)], NO_GROUP),
    (offsets_of_single_group(), 1, [on_group(DESCRIBE), on_topic(DESCRIBE)], NO_GROUP),
    (deleted_offsets(), None, [on_group(DELETE)], NO_GROUP),
    (
        ConsumerGroupHeartbeatRequest(
            group_id="billing", member_id="m", subscribed_topic_names=["orders"]
        ),
        None,
        [on_group(READ), on_topic(DESCRIBE)],
        NO_GROUP,
    ),
    (ConsumerGroupDescribeRequest(group_ids=["billing"]), None, [on_group(DESCRIBE)], NO_GROUP),
    (DescribeGroupsRequest(groups=["billing"]), None, [on_group(DESCRIBE)], NO_GROUP),
    (DescribeGroupsRequest(groups=["billing"]), 0, [on_group(DESCRIBE)], NO_GROUP),
    (DeleteGroupsRequest(groups_names=["billing"]), None, [on_group(DELETE)], NO_GROUP),
    (InitProducerIdRequest(transactional_id="payer"), None, [on_id(WRITE)], NO_TRANSACTION),
    (
        InitProducerIdRequest(transactional_id="payer", enable2_pc=True),
        None,
        [on_id(WRITE), on_id(TWO_PHASE)],
        NO_TRANSACTION,
    ),
    (InitProducerIdRequest(transactional_id=None), None, [on_cluster(IDEMPOTENT)], NO_CLUSTER),
    (InitProducerIdRequest(transactional_id=None), None, [on_topic(WRITE)], NO_CLUSTER),
    (added(), 3, [on_id(WRITE), on_topic(WRITE)], NO_TRANSACTION),
    (added_by_a_broker(), None, [on_cluster(ACTION)], NO_CLUSTER),
    (
        AddOffsetsToTxnRequest(transactional_id="payer", group_id="billing"),
        None,
        [on_id(WRITE), on_group(READ)],
        NO_TRANSACTION,
    ),
    (
        committed_in_transaction(),
        None,
        [on_id(WRITE), on_group(READ), on_topic(READ)],
        NO_TRANSACTION,
    ),
    (EndTxnRequest(transactional_id="payer"), None, [on_id(WRITE)], NO_TRANSACTION),
    (marked(), None, [on_cluster(ACTION)], NO_CLUSTER),
    (marked(), None, [on_cluster(ALTER)], NO_CLUSTER),
    (
        DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=[0])]),
        None,
        [on_topic(READ)],
        NO_TOPIC,
    ),
    (
        DescribeTransactionsRequest(transactional_ids=["payer"]),
        None,
        [on_id(DESCRIBE)],
        NO_TRANSACTION,
    ),
    (DescribeAclsRequest(), None, [on_cluster(DESCRIBE)], NO_CLUSTER),
    (CreateAclsRequest(creations=[NEW_RULE]), None, [on_cluster(ALTER)], NO_CLUSTER),
    (DeleteAclsRequest(filters=[DeleteAclsFilter()]), None, [on_cluster(ALTER)], NO_CLUSTER),
    (DescribeUserScramCredentialsRequest(), None, [on_cluster(DESCRIBE)], NO_CLUSTER),
    (
        AlterUserScramCredentialsRequest(deletions=[SCRAM_CHANGE]),
        None,
        [on_cluster(ALTER)],
        NO_CLUSTER,
    ),
]
NAMES = [
    f"{type(request).__name__}-{version}-{'-'.join(right[0].name for right in rights)}"
    for request, version, rights, _ in CASES
]


@pytest.mark.parametrize(("request_", "version", "rights", "code"), CASES, ids=NAMES)
@virtual_time
async def test_a_request_is_refused_unless_all_that_it_needs_is_allowed(
    request_: Message, version: int | None, rights: list[Right], code: ErrorCode
) -> None:
    async with authorized_broker() as broker:
        assert refusals(await broker.ask(request_, version)) == {code}

    for missing in range(len(rights)):
        async with authorized_broker() as broker:
            broker.allow(*rights[:missing], *rights[missing + 1 :])
            assert refusals(await broker.ask(request_, version))

    async with authorized_broker() as broker:
        broker.allow(*rights)
        assert not refusals(await broker.ask(request_, version))


@virtual_time
async def test_the_reason_is_in_the_words_of_kafka() -> None:
    async with authorized_broker() as broker:
        answer = await broker.ask(FindCoordinatorRequest(key="billing"), 3)

    assert answer.error_message == "Group authorization failed."


@pytest.mark.parametrize("key", sorted(SERVED), ids=lambda key: key.api_name)
def test_every_api_has_a_requirement(key: ApiKey) -> None:
    assert key in REQUIREMENTS


@pytest.mark.parametrize(("request_", "version", "rights", "code"), CASES, ids=NAMES)
@virtual_time
async def test_a_refusal_can_be_encoded_in_every_version_that_has_the_request(
    request_: Message, version: int | None, rights: list[Right], code: ErrorCode
) -> None:
    versions = [each for each in served(request_) if can_be_encoded(request_, each)]
    async with authorized_broker() as broker:
        for each in versions:
            answer = await broker.ask(request_, each)

            decoded = type(answer).decode(answer.encode(each), each)

            assert refusals(decoded) == refusals(answer)
    assert versions


def served(request: Message) -> range:
    versions = SERVED[ApiKey(request.api_key)]
    return range(versions.lowest, versions.highest + 1)


def can_be_encoded(request: Message, version: int) -> bool:
    try:
        request.encode(version)
    except EncodeError:
        return False
    return True
