"""What Admin says to a user whom no ACL allows to do more than to look at one topic and group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from pyk.clients import (
    AbortTransactionSpec,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    Admin,
    AlterConfig,
    AuthorizationError,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ConfigResource,
    ElectionType,
    FeatureUpdate,
    NewTopic,
    OffsetSpec,
    Plain,
    RaftVoterEndpoint,
    ResourcePattern,
    ResourceType,
    ScramCredentialInfo,
    TopicPartition,
    TopicPartitionReplica,
    Until,
    UserScramCredentialUpsertion,
)
from pyk.clients.errors import DelegationTokenAuthorizationFailedError
from support import apache_kafka
from support.guarded_brokers import (
    PASSWORD,
    GuardedApacheKafka,
    GuardedReferenceBroker,
    guarded_config,
)
from support.real_time import eventually

SEEN, HIDDEN = TopicPartition("bills", 0), TopicPartition("letters", 0)
REPLICA = TopicPartitionReplica("bills", 0, 0)
BOB = ClientQuotaEntity({"user": "bob"})
NEW = UserScramCredentialUpsertion("bob", ScramCredentialInfo("SCRAM-SHA-512"), "secret")
LET = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "bills"), AccessControlEntry("User:bob", AclOperation.READ)
)
SETTING = [AlterConfig("retention.ms", "5")]
VOTER = 7, UUID(int=7)
ENDPOINT = RaftVoterEndpoint("CONTROLLER", "localhost", 9093)

CALLS: list[tuple[str, Callable[[Admin], object]]] = [
    ("CREATE on it or on the cluster", lambda a: a.create_topics([NewTopic("new", 1)])),
    ("DESCRIBE, READ or WRITE", lambda a: a.describe_topics(["letters"])),
    ("DELETE", lambda a: a.delete_topics(["bills"])),
    ("ALTER", lambda a: a.create_partitions({"bills": 2})),
    ("DELETE", lambda a: a.delete_records({SEEN: 0})),
    ("DESCRIBE", lambda a: a.list_offsets({HIDDEN: OffsetSpec.LATEST})),
    ("DESCRIBE_CONFIGS", lambda a: a.describe_configs([ConfigResource.topic("bills")])),
    (
        "DESCRIBE_CONFIGS on the cluster",
        lambda a: a.describe_configs([ConfigResource.broker(0)]),
    ),
    (
        "ALTER_CONFIGS",
        lambda a: a.incremental_alter_configs({ConfigResource.topic("bills"): SETTING}),
    ),
    ("DESCRIBE_CONFIGS", lambda a: a.copy_topic_config("bills", "letters")),
    ("DESCRIBE_CONFIGS on the cluster", lambda a: a.list_config_resources()),
    ("DESCRIBE_CONFIGS on the cluster", lambda a: a.list_client_metrics_resources()),
    ("DESCRIBE or READ", lambda a: a.describe_consumer_groups(["other"])),
    ("DESCRIBE or READ", lambda a: a.describe_classic_groups(["other"])),
    ("DESCRIBE or READ", lambda a: a.describe_share_groups(["other"])),
    ("DESCRIBE or READ", lambda a: a.describe_streams_groups(["other"])),
    ("DELETE", lambda a: a.delete_consumer_groups(["tax"])),
    ("READ", lambda a: a.remove_members_from_consumer_group("tax", ["one"])),
    ("DESCRIBE or READ", lambda a: a.list_consumer_group_offsets("other")),
    ("READ", lambda a: a.alter_consumer_group_offsets("tax", {SEEN: 0})),
    ("DELETE", lambda a: a.delete_consumer_group_offsets("tax", [SEEN])),
    ("DESCRIBE or READ", lambda a: a.lag("other")),
    ("READ", lambda a: a.reset_offsets("tax", to="earliest", partitions=[SEEN])),
    ("DESCRIBE or READ", lambda a: a.wait_until(Until.group_is_empty("other"))),
    ("DESCRIBE or READ", lambda a: a.list_share_group_offsets("other")),
    ("READ", lambda a: a.alter_share_group_offsets("tax", {SEEN: 0})),
    ("DELETE", lambda a: a.delete_share_group_offsets("tax", ["bills"])),
    ("DESCRIBE or WRITE", lambda a: a.describe_transactions(["payments"])),
    ("READ", lambda a: a.describe_producers([SEEN])),
    (
        "ALTER or CLUSTER_ACTION on the cluster",
        lambda a: a.abort_transaction(AbortTransactionSpec(SEEN, 5, 0, 0)),
    ),
    ("DESCRIBE or WRITE", lambda a: a.fence_producers(["payments"])),
    ("DESCRIBE on the cluster", lambda a: a.describe_log_dirs([0])),
    ("DESCRIBE on the cluster", lambda a: a.describe_replica_log_dirs([REPLICA])),
    ("ALTER on the cluster", lambda a: a.alter_replica_log_dirs({REPLICA: "/elsewhere"})),
    ("ALTER on the cluster", lambda a: a.elect_leaders(ElectionType.PREFERRED, [SEEN])),
    ("ALTER on the cluster", lambda a: a.alter_partition_reassignments({SEEN: [0]})),
    ("DESCRIBE on the cluster", lambda a: a.list_partition_reassignments()),
    ("DESCRIBE on the cluster", lambda a: a.describe_metadata_quorum()),
    ("ALTER on the cluster", lambda a: a.add_raft_voter(*VOTER, ENDPOINT)),
    ("ALTER on the cluster", lambda a: a.remove_raft_voter(*VOTER)),
    ("ALTER on the cluster", lambda a: a.unregister_broker(5)),
    ("ALTER on the cluster", lambda a: a.update_features([FeatureUpdate("group.version", 1)])),
    ("DESCRIBE on the cluster", lambda a: a.describe_acls()),
    ("ALTER on the cluster", lambda a: a.create_acls([LET])),
    ("ALTER on the cluster", lambda a: a.delete_acls([LET])),
    ("DESCRIBE on the cluster", lambda a: a.describe_user_scram_credentials()),
    ("DESCRIBE on the cluster", lambda a: a.describe_user_scram_credentials(["bob"])),
    ("ALTER on the cluster", lambda a: a.alter_user_scram_credentials([NEW])),
    ("DESCRIBE_CONFIGS on the cluster", lambda a: a.describe_client_quotas()),
    (
        "ALTER_CONFIGS on the cluster",
        lambda a: a.alter_client_quotas(ClientQuotaAlteration(BOB, {"producer_byte_rate": 9})),
    ),
    ("CREATE_TOKENS on the user", lambda a: a.create_delegation_token(owner="User:bob")),
]
REFUSALS = AuthorizationError, DelegationTokenAuthorizationFailedError


@pytest.fixture(
    scope="module",
    params=["reference", pytest.param("apache", marks=pytest.mark.conformance)],
)
def shop(request: pytest.FixtureRequest) -> Iterator[Admin]:
    """A client of a user that may describe one topic and one group."""
    kind = GuardedReferenceBroker
    if request.param == "apache":
        if why := apache_kafka.missing():
            pytest.skip(why)
        kind = GuardedApacheKafka  # type: ignore[assignment]
    config = guarded_config(["shop"]) | {"delegation.token.secret.key": "key of the tokens"}
    with kind(config) as broker:
        with Admin(broker.bootstrap) as admin:
            allow(admin)
        login = Plain("shop", PASSWORD)
        with Admin(broker.sasl_bootstrap, security_protocol="SASL_PLAINTEXT", auth=login) as shop:
            eventually(lambda: "bills" in shop.list_topics())
            yield shop


def allow(admin: Admin) -> None:
    """Create topics and a group, and let the user describe one of each."""
    admin.create_topics([NewTopic("bills", 1), NewTopic("letters", 1)])
    admin.wait_until(Until.topic_has_leaders("bills"))
    admin.alter_consumer_group_offsets("tax", {SEEN: 0})
    describe = AccessControlEntry("User:shop", AclOperation.DESCRIBE)
    admin.create_acls(
        [
            AclBinding(ResourcePattern(ResourceType.TOPIC, "bills"), describe),
            AclBinding(ResourcePattern(ResourceType.GROUP, "tax"), describe),
        ]
    )


def refused(admin: Admin, call: Callable[[Admin], object]) -> str:
    """Return the error of a call that an ACL denies."""
    with pytest.raises(REFUSALS) as caught:
        call(admin)
    return str(caught.value)


def test_each_call_that_is_not_allowed_names_the_acl_that_it_needs(shop: Admin) -> None:
    texts = [refused(shop, call) for _, call in CALLS]

    wrong = [
        (needed, text)
        for (needed, _), text in zip(CALLS, texts, strict=True)
        if f"it needs an ACL for {needed}" not in text
    ]
    assert wrong == []


def test_what_is_hidden_is_left_out_of_lists(shop: Admin) -> None:
    assert list(shop.list_topics()) == ["bills"]
    assert [one.group_id for one in shop.list_groups()] == ["tax"]
    assert shop.list_transactions() == []
    assert shop.describe_cluster(authorized_operations=True).authorized_operations == frozenset()
