"""Calls of Admin to brokers of older releases work, or name the API or version that is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from pyk.clients import (
    AbortTransactionSpec,
    AclBindingFilter,
    AlterConfig,
    AsyncAdmin,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ConfigResource,
    ConfigResourceType,
    ElectionType,
    FeatureUpdate,
    NewTopic,
    OffsetSpec,
    RaftVoterEndpoint,
    ScramMechanism,
    TopicPartition,
    UserScramCredentialDeletion,
)
from pyk.clients.errors import KafkaError, UnsupportedVersionError
from pyk.protocol.releases import RELEASES
from pyk.reference_broker import AsyncCluster
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import virtual_time

ORDERS = TopicPartition("orders", 0)
TOPIC = ConfigResource.topic("orders")
BILLS = NewTopic("bills", 1, replication_factor=1)
ASSIGNED = NewTopic("bills", assignments={0: (0,)})
BOB = ClientQuotaEntity({"user": "bob"})
ID = UUID(int=7)
VOTER = (9, ID, RaftVoterEndpoint("CONTROLLER", "localhost", 9093))

Call = Callable[[Any], Awaitable[object]]
CALLS: list[tuple[str, str, Call]] = [
    ("2.1", "CreateTopics", lambda a: a.create_topics([BILLS], validate_only=True)),
    ("2.1", "CreateTopics", lambda a: a.create_topics([ASSIGNED], validate_only=True)),
    ("2.4", "CreateTopics", lambda a: a.create_topics([NewTopic("bills", 1)], validate_only=True)),
    ("2.1", "CreatePartitions", lambda a: a.create_partitions({"orders": 2})),
    ("2.1", "Metadata", lambda a: a.describe_topics(["orders"])),
    ("2.3", "Metadata", lambda a: a.describe_topics(["orders"], authorized_operations=True)),
    ("3.1", "Metadata", lambda a: a.describe_topics([ID])),
    ("2.8", "DeleteTopics", lambda a: a.delete_topics([ID])),
    ("2.1", "DeleteTopics", lambda a: a.delete_topics(["nothing"])),
    ("2.1", "DescribeCluster", lambda a: a.describe_cluster()),
    ("2.3", "Metadata", lambda a: a.describe_cluster(authorized_operations=True)),
    ("4.0", "DescribeCluster", lambda a: a.describe_cluster(fenced_brokers=True)),
    ("2.1", "DescribeConfigs", lambda a: a.describe_configs([TOPIC], synonyms=True)),
    ("2.6", "DescribeConfigs", lambda a: a.describe_configs([TOPIC], documentation=True)),
    (
        "2.3",
        "IncrementalAlterConfigs",
        lambda a: a.incremental_alter_configs({TOPIC: [AlterConfig("retention.ms", "5")]}),
    ),
    ("3.7", "ListConfigResources", lambda a: a.list_client_metrics_resources()),
    (
        "4.1",
        "ListConfigResources",
        lambda a: a.list_config_resources([ConfigResourceType.TOPIC]),
    ),
    ("2.1", "ListOffsets", lambda a: a.list_offsets({ORDERS: OffsetSpec.LATEST})),
    ("3.0", "ListOffsets", lambda a: a.list_offsets({ORDERS: OffsetSpec.MAX_TIMESTAMP})),
    ("3.5", "ListOffsets", lambda a: a.list_offsets({ORDERS: OffsetSpec.EARLIEST_LOCAL})),
    ("3.9", "ListOffsets", lambda a: a.list_offsets({ORDERS: OffsetSpec.LATEST_TIERED})),
    ("2.1", "DeleteRecords", lambda a: a.delete_records({ORDERS: 0})),
    ("2.1", "ListGroups", lambda a: a.list_groups()),
    ("2.1", "ListGroups", lambda a: a.list_groups(types=["classic"])),
    ("2.6", "ListGroups", lambda a: a.list_groups(states=["Stable"])),
    ("3.8", "ListGroups", lambda a: a.list_groups(types=["consumer"])),
    ("2.1", "ListGroups", lambda a: a.list_consumer_groups()),
    ("2.1", "DescribeGroups", lambda a: a.describe_consumer_groups(["tax"])),
    (
        "2.3",
        "DescribeGroups",
        lambda a: a.describe_classic_groups(["tax"], authorized_operations=True),
    ),
    ("2.1", "DeleteGroups", lambda a: a.delete_consumer_groups(["nothing"])),
    ("2.4", "LeaveGroup", lambda a: a.remove_members_from_consumer_group("tax", ["a"], reason="b")),
    ("2.1", "OffsetFetch", lambda a: a.list_consumer_group_offsets("tax")),
    ("2.1", "OffsetCommit", lambda a: a.alter_consumer_group_offsets("tax", {ORDERS: 0})),
    ("2.4", "OffsetDelete", lambda a: a.delete_consumer_group_offsets("tax", [ORDERS])),
    ("4.1", "ShareGroupDescribe", lambda a: a.describe_share_groups(["s"])),
    ("4.1", "AlterShareGroupOffsets", lambda a: a.alter_share_group_offsets("s", {ORDERS: 0})),
    ("4.1", "DescribeShareGroupOffsets", lambda a: a.list_share_group_offsets("s")),
    ("4.1", "DeleteShareGroupOffsets", lambda a: a.delete_share_group_offsets("s", ["orders"])),
    ("4.1", "StreamsGroupDescribe", lambda a: a.describe_streams_groups(["s"])),
    ("3.0", "ListTransactions", lambda a: a.list_transactions()),
    ("3.8", "ListTransactions", lambda a: a.list_transactions(duration_ms=5)),
    ("4.1", "ListTransactions", lambda a: a.list_transactions(transactional_id_pattern="a")),
    ("3.0", "DescribeTransactions", lambda a: a.describe_transactions(["t"])),
    ("2.8", "DescribeProducers", lambda a: a.describe_producers([ORDERS])),
    (
        "2.7",
        "WriteTxnMarkers",
        lambda a: a.abort_transaction(AbortTransactionSpec(ORDERS, 5, 0, 0)),
    ),
    ("2.1", "InitProducerId", lambda a: a.fence_producers(["t"])),
    ("2.1", "DescribeLogDirs", lambda a: a.describe_log_dirs([0])),
    ("2.2", "ElectLeaders", lambda a: a.elect_leaders(ElectionType.PREFERRED, [ORDERS])),
    ("2.4", "ElectLeaders", lambda a: a.elect_leaders(ElectionType.UNCLEAN, [ORDERS])),
    (
        "2.4",
        "AlterPartitionReassignments",
        lambda a: a.alter_partition_reassignments({ORDERS: [0]}),
    ),
    (
        "4.1",
        "AlterPartitionReassignments",
        lambda a: a.alter_partition_reassignments(
            {ORDERS: [0]}, allow_replication_factor_change=False
        ),
    ),
    ("2.4", "ListPartitionReassignments", lambda a: a.list_partition_reassignments()),
    ("3.3", "DescribeQuorum", lambda a: a.describe_metadata_quorum()),
    ("3.9", "AddRaftVoter", lambda a: a.add_raft_voter(*VOTER)),
    ("3.3", "UnregisterBroker", lambda a: a.unregister_broker(9)),
    ("2.1", "ApiVersions", lambda a: a.describe_features()),
    (
        "3.3",
        "UpdateFeatures",
        lambda a: a.update_features([FeatureUpdate("group.version", 1)], validate_only=True),
    ),
    ("2.1", "DescribeAcls", lambda a: a.describe_acls(AclBindingFilter())),
    ("2.6", "DescribeClientQuotas", lambda a: a.describe_client_quotas()),
    (
        "2.6",
        "AlterClientQuotas",
        lambda a: a.alter_client_quotas(ClientQuotaAlteration(BOB, {"producer_byte_rate": 9})),
    ),
    ("2.7", "DescribeUserScramCredentials", lambda a: a.describe_user_scram_credentials()),
    (
        "2.7",
        "AlterUserScramCredentials",
        lambda a: a.alter_user_scram_credentials(
            [UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256)]
        ),
    ),
    ("2.1", "CreateDelegationToken", lambda a: a.create_delegation_token()),
    ("3.3", "CreateDelegationToken", lambda a: a.create_delegation_token(owner="User:bob")),
    ("2.1", "DescribeDelegationToken", lambda a: a.describe_delegation_token(["User:bob"])),
]


async def refusal(admin: AsyncAdmin, call: Call) -> str:
    """Return what the error of a call says about versions, empty without such an error."""
    try:
        await call(admin)
    except UnsupportedVersionError as error:
        return str(error)
    except KafkaError:
        return ""  # of the broker, which understood the request
    return ""


@pytest.mark.parametrize("release", ["2.1", "2.4", "2.8", "3.2", "3.9", "4.0", "4.3"])
@virtual_time
async def test_a_call_works_or_names_the_api_that_an_older_broker_lacks(release: str) -> None:
    world, age = World(), RELEASES.index
    async with AsyncCluster(**world.host("broker").environment) as cluster:
        await cluster.create_topic("orders")
        cluster.faults.pretend(release)
        async with AsyncAdmin(cluster.bootstrap, **world.host("ops").client_options) as admin:
            await admin.alter_consumer_group_offsets("tax", {ORDERS: 0})

            refusals = [await refusal(admin, call) for _, _, call in CALLS]

    expected = [api if age(release) < age(since) else "" for since, api, _ in CALLS]
    wrong = [
        (since, api, refused)
        for (since, api, _), name, refused in zip(CALLS, expected, refusals, strict=True)
        if (name not in refused if name else refused)
    ]
    assert wrong == []
