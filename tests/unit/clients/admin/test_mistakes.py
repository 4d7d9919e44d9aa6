"""A mistake in a call of the admin client is named at once, with what to write instead."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from pyk.clients import (
    AbortTransactionSpec,
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    Admin,
    AlterConfig,
    AlterConfigOperation,
    AsyncAdmin,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClosedError,
    ConfigResource,
    FeatureUpdate,
    NewPartitions,
    NewTopic,
    RaftVoterEndpoint,
    TopicPartition,
    TopicPartitionReplica,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from pyk.clients.admin import (
    AccessControlEntryFilter,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramCredentialInfo,
)

PLACE = TopicPartition("orders", 0)
ID = UUID(int=1)
REPLICA = TopicPartitionReplica("orders", 0, 0)
READS = AccessControlEntry("User:alice", AclOperation.READ)
MISTAKES: list[tuple[str, Callable[[Any], object], type[Exception], str]] = [
    (
        "a name as a topic",
        lambda a: a.create_topics("orders"),
        TypeError,
        r"is NewTopic\(name, …\), not 'orders'",
    ),
    ("no topics", lambda a: a.describe_topics(None), TypeError, "sequence of str, each a topic"),
    ("bytes", lambda a: a.describe_topics([b"orders"]), TypeError, "a topic must be a str"),
    (
        "names and ids",
        lambda a: a.delete_topics(["orders", ID]),
        TypeError,
        "all by name or all by",
    ),
    ("no page", lambda a: a.describe_topics("o", page_size=0), ValueError, "page_size must be 1"),
    ("names to grow", lambda a: a.create_partitions(["o"]), TypeError, "{topic: number of partit"),
    ("a count", lambda a: a.create_partitions({"o": "3"}), TypeError, "partitions must be an int"),
    ("partitions", lambda a: a.delete_records([PLACE]), TypeError, r"partition\): offset}"),
    ("offset", lambda a: a.delete_records({PLACE: "5"}), TypeError, "an offset must be an int"),
    (
        "topic",
        lambda a: a.alter_consumer_group_offsets("g", {"o": 1}),
        TypeError,
        r"Partition\(topic",
    ),
    (
        "negative",
        lambda a: a.alter_consumer_group_offsets("g", {PLACE: -1}),
        ValueError,
        "0 or more",
    ),
    (
        "both",
        lambda a: a.list_consumer_group_offsets({"g": None}, [PLACE]),
        TypeError,
        "by group id",
    ),
    (
        "a naive datetime",
        lambda a: a.reset_offsets("g", to=datetime.datetime(2026, 1, 1)),
        ValueError,
        "with a time zone",
    ),
    (
        "a date",
        lambda a: a.reset_offsets("g", to=datetime.date(2026, 1, 1)),
        TypeError,
        "a datetime",
    ),
    (
        "a word",
        lambda a: a.list_offsets({PLACE: "latest"}),
        TypeError,
        "OffsetSpec.LATEST or a time",
    ),
    (
        "a time before all",
        lambda a: a.list_offsets({PLACE: -7}),
        ValueError,
        r"or OffsetSpec.LATEST \(-1\), .*, EARLIEST_PENDING_UPLOAD \(-6\), not -7",
    ),
    (
        "a time after all",
        lambda a: a.list_offsets({PLACE: 1 << 63}),
        ValueError,
        "more than 64 bits hold",
    ),
    (
        "a run",
        lambda a: a.reset_offsets("g", to="earliest", dry_run="no"),
        TypeError,
        "dry_run must be True or False, not 'no'",
    ),
    ("a tuple", lambda a: a.describe_configs([("topic", "o")]), TypeError, "ConfigResource.topic"),
    (
        "a dict of settings",
        lambda a: a.incremental_alter_configs({ConfigResource.topic("o"): {"retention.ms": "5"}}),
        TypeError,
        r"AlterConfig\(name, value\)",
    ),
    ("a state", lambda a: a.list_groups(states=["Stabel"]), ValueError, "Stable, Empty"),
    ("a type", lambda a: a.list_groups(types=["shared"]), ValueError, "classic, consumer, share"),
    ("share", lambda a: a.list_consumer_groups(types=["share"]), ValueError, "classic, consumer"),
    ("an id", lambda a: a.describe_consumer_groups([3]), TypeError, "a group id must be a str"),
    (
        "members",
        lambda a: a.remove_members_from_consumer_group("g", [3]),
        TypeError,
        "an instance id",
    ),
    (
        "a reason",
        lambda a: a.remove_members_from_consumer_group("g", reason=3),
        TypeError,
        "a reason",
    ),
    ("directory", lambda a: a.remove_raft_voter(1, "abc"), TypeError, "must be a UUID"),
    (
        "endpoint",
        lambda a: a.add_raft_voter(1, ID, "c:1"),
        TypeError,
        r"RaftVoterEndpoint\(listener",
    ),
    ("a broker", lambda a: a.describe_log_dirs(["0"]), TypeError, "a broker id must be an int"),
    (
        "election",
        lambda a: a.elect_leaders("preferred", [PLACE]),
        TypeError,
        "ElectionType.PREFERRED",
    ),
    (
        "replicas",
        lambda a: a.alter_partition_reassignments({PLACE: "01"}),
        TypeError,
        "sequence of broker ids",
    ),
    (
        "one replica",
        lambda a: a.alter_partition_reassignments({PLACE: 0}),
        TypeError,
        "sequence of broker ids",
    ),
    (
        "duration",
        lambda a: a.list_transactions(duration_ms="5"),
        TypeError,
        "duration_ms must be an",
    ),
    (
        "ids",
        lambda a: a.force_terminate_transaction(["t"]),
        TypeError,
        "a transactional id must be",
    ),
    (
        "resources",
        lambda a: a.list_config_resources(["topic"]),
        TypeError,
        "ConfigResourceType.TOPIC",
    ),
    ("timeout", lambda a: a.list_topics(timeout=-1), ValueError, "from 0 on, not -1"),
    (
        "pause",
        lambda a: a.watch_groups(every=0),
        ValueError,
        "every must be a number of seconds above 0",
    ),
    ("types", lambda a: a.watch_groups(types=["shared"]), ValueError, "classic, consumer, share"),
    ("a wait", lambda a: a.watch_groups(timeout="5"), TypeError, "timeout must be a number"),
    ("condition", lambda a: a.wait_until("orders"), TypeError, "Until.topic_exists"),
    ("too many", lambda a: a.create_topics([NewTopic("o", 1 << 31)]), ValueError, "2147483647 at"),
    ("no new topics", lambda a: a.create_topics(None), TypeError, r"sequence of NewTopic\(name"),
    (
        "a topic twice",
        lambda a: a.create_topics([NewTopic("o", 1), NewTopic("o", 3)]),
        ValueError,
        "topic 'o' is given twice",
    ),
    ("no brokers", lambda a: a.describe_log_dirs(None), TypeError, "each a broker id"),
    ("a place", lambda a: a.describe_replica_log_dirs([PLACE]), TypeError, "a replica must be Top"),
    ("replicas to move", lambda a: a.alter_replica_log_dirs([PLACE]), TypeError, r"id\): path}"),
    ("a path", lambda a: a.alter_replica_log_dirs({REPLICA: 5}), TypeError, "a path must be a str"),
    ("a feature", lambda a: a.update_features("x"), TypeError, r"FeatureUpdate\(feature, level\)"),
    (
        "a feature twice",
        lambda a: a.update_features([FeatureUpdate("x", 1), FeatureUpdate("x", 2)]),
        ValueError,
        "feature 'x' is given twice",
    ),
    ("offsets", lambda a: a.reset_offsets("g", to={PLACE: -1}), ValueError, "must be 0 or more"),
    (
        "another partition",
        lambda a: a.reset_offsets("g", to={PLACE: 1}, partitions=[TopicPartition("orders", 1)]),
        ValueError,
        "to has no offset for orders-1",
    ),
]


QUOTA = ClientQuotaAlteration(ClientQuotaEntity({"user": "a"}), {})


@pytest.fixture
def admin() -> Iterator[Admin]:
    admin = Admin("127.0.0.1:1")
    yield admin
    admin.close()


@pytest.mark.parametrize(
    ("call", "error", "words"), [one[1:] for one in MISTAKES], ids=[one[0] for one in MISTAKES]
)
def test_a_mistake_is_named_before_anything_is_connected(
    admin: Admin, call: Callable[[Any], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(admin)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.create_topics([NewTopic("o")], validate_only="no"),
        lambda a: a.create_partitions({"o": 3}, validate_only="no"),
        lambda a: a.incremental_alter_configs({ConfigResource.topic("o"): []}, validate_only="no"),
        lambda a: a.alter_client_quotas([QUOTA], validate_only="no"),
        lambda a: a.update_features([FeatureUpdate("x", 1)], validate_only="no"),
    ],
    ids=["topics", "partitions", "configs", "quotas", "features"],
)
def test_a_word_is_not_taken_for_a_wish_to_validate_only(
    admin: Admin, call: Callable[[Any], object]
) -> None:
    with pytest.raises(TypeError, match="validate_only must be True or False, not 'no'"):
        call(admin)


async def test_the_arguments_of_a_watch_are_checked_where_it_is_asked_for() -> None:
    admin = AsyncAdmin("127.0.0.1:1")

    with pytest.raises(ValueError, match="every must be a number of seconds above 0"):
        admin.watch_groups(every=0)
    await admin.close()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NewTopic("o", configs=[("a", "b")]), "{setting: value}"),
        (lambda: NewTopic("o", configs={5: "b"}), "name of a setting must be a str, not 5"),
        (lambda: NewTopic("o", assignments=[[0]]), r"{partition: \[broker id\]}"),
        (lambda: NewTopic("o", assignments={0: 1}), "of partition 0 must be a sequence of broker"),
        (lambda: NewPartitions(2, [0]), "each must be a sequence of broker ids, not 0"),
        (lambda: NewPartitions(2, [["0"]]), "sequence of broker ids"),
        (lambda: ConfigResource("topic", "o"), "ConfigResourceType.TOPIC, "),
        (lambda: ConfigResource("broker", "0"), "not 'broker': give ConfigResourceType.BROKER$"),
        (lambda: ConfigResource("topics", "o"), "not 'topics': give ConfigResourceType.TOPIC$"),
        (lambda: ConfigResource(4, "0"), "not 4: give ConfigResourceType.BROKER$"),
        (lambda: ConfigResource("cluster", "0"), "not 'cluster'$"),
        (lambda: ConfigResource(True, "0"), "not True$"),
        (lambda: ConfigResource([4], "0"), r"not \[4\]$"),
        (lambda: ConfigResource.topic(5), "name of ConfigResource must be a str, not 5"),
        (lambda: AlterConfig("a", "b", "SET"), "operation of AlterConfig must be one of"),
        (lambda: TopicPartitionReplica("o", "0", 0), "partition of .* must be an int, not '0'"),
        (lambda: TopicPartitionReplica("o", 0, True), "broker_id of .* must be an int, not True"),
        (lambda: FeatureUpdate(5, 1), "feature of FeatureUpdate must be a str, not 5"),
        (lambda: TopicPartitionReplica(5, 0, 0), "topic of .* must be a str, not 5"),
        (lambda: AbortTransactionSpec("o", 1, 0, 0), "topic_partition of .* must be a TopicParti"),
        (lambda: AbortTransactionSpec(PLACE, "1", 0, 0), "producer_id of .* must be an int"),
        (lambda: AbortTransactionSpec(PLACE, 1, "0", 0), "producer_epoch of .* must be an int"),
        (lambda: NewPartitions(2, [[True]]), "sequence of broker ids"),
        (
            lambda: UserScramCredentialUpsertion(5, ScramCredentialInfo("SCRAM-SHA-256"), "x"),
            "user of UserScramCredentialUpsertion must be a str, not 5",
        ),
        (lambda: FeatureUpdate("x", "1"), "level of FeatureUpdate must be an int"),
        (lambda: FeatureUpdate("x", 1, "UPGRADE"), "UpgradeType.SAFE_DOWNGRADE"),
        (lambda: AbortTransactionSpec(PLACE, 1, 0, None), "0 where describe_producers has None"),
        (lambda: FeatureUpdate("x", 1, True), "not True$"),
        (
            lambda: AccessControlEntry("User:a", AclOperation.READ, "allow"),
            "permission_type must be",
        ),
        (lambda: AclBinding(ResourcePattern(ResourceType.TOPIC, "o"), "x"), "entry of AclBinding"),
        (lambda: ResourcePatternFilter(pattern_type="literal"), "pattern_type must be"),
        (lambda: AccessControlEntryFilter(operation="read"), "operation must be"),
        (lambda: AclBindingFilter(entry="x"), "entry of AclBindingFilter"),
        (lambda: AclBinding("o", READS), "pattern of AclBinding must be a ResourcePattern"),
        (lambda: AclBindingFilter("o"), "pattern of AclBindingFilter must be a ResourcePatternF"),
        (lambda: ClientQuotaAlteration({"user": "b"}, {}), "must be a ClientQuotaEntity"),
        (lambda: ClientQuotaFilter.contains(["user"]), "ClientQuotaFilterComponent.of_entity"),
        (
            lambda: UserScramCredentialUpsertion("b", "SCRAM-SHA-256", "x"),
            "credential_info of .* must be a ScramCredentialInfo",
        ),
        (lambda: UserScramCredentialDeletion(5, "SCRAM-SHA-256"), "user of .* must be a str"),
    ],
)
def test_a_field_of_a_wrong_type_is_named(make: Callable[[], object], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make()


def test_a_setting_without_a_value_is_refused_unless_it_is_deleted() -> None:
    with pytest.raises(ValueError, match="to return to the default"):
        AlterConfig("retention.ms")

    assert AlterConfig("retention.ms", None, AlterConfigOperation.DELETE).value is None


def test_values_of_wrong_types_are_refused_where_they_are_made() -> None:
    with pytest.raises(TypeError, match=r"configs of NewTopic\('o'\): retention.ms must be a str"):
        NewTopic("o", configs={"retention.ms": 5})  # type: ignore[dict-item]
    with pytest.raises(
        TypeError, match=r"value of AlterConfig\('retention.ms'\) must be a str, not"
    ):
        AlterConfig("retention.ms", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="count of NewPartitions must be an int"):
        NewPartitions("3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count of NewPartitions must be 2147483647 at most"):
        NewPartitions(1 << 31)
    with pytest.raises(ValueError, match="port of RaftVoterEndpoint must be from 1 to 65535"):
        RaftVoterEndpoint("CONTROLLER", "localhost", 0)


def test_a_closed_client_says_that_it_is_closed() -> None:
    admin = Admin("127.0.0.1:1")
    admin.close()

    with pytest.raises(ClosedError, match="the admin is closed"):
        admin.list_topics()


async def test_a_closed_asyncio_client_says_so_too() -> None:
    admin = AsyncAdmin("127.0.0.1:1")
    await admin.close()

    with pytest.raises(ClosedError, match="closed"):
        await admin.list_topics()
