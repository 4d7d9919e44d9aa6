"""Calls of the admin client against the last release of Apache Kafka 3."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from pyk.clients import (
    Admin,
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    Consumer,
    ElectionType,
    GroupIdNotFoundError,
    NewTopic,
    OffsetSpec,
    Producer,
    TopicPartition,
    UnsupportedVersionError,
    Until,
)
from pyk.clients.errors import UnknownTopicIdError
from support import apache_kafka
from support.apache_kafka import ApacheKafka

pytestmark = pytest.mark.conformance
TOPIC = "orders"
PLACE = TopicPartition(TOPIC, 0)


@pytest.fixture(scope="module")
def older() -> Iterator[str]:
    """Bootstrap servers of Apache Kafka 3.9 with a topic of three partitions and a record."""
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafka(version=apache_kafka.LAST_OF_3) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic(TOPIC, 3)])
            admin.wait_until(Until.topic_has_leaders(TOPIC, 3))
        with Producer(broker.bootstrap) as producer:
            producer.send_and_wait(TOPIC, b"1", partition=0)
        yield broker.bootstrap


@pytest.fixture
def admin(older: str) -> Iterator[Admin]:
    with Admin(older) as admin:
        yield admin


def test_topics_are_listed_described_grown_and_deleted(admin: Admin) -> None:
    admin.create_topics([NewTopic("other", 1)])
    admin.wait_until(Until.topic_has_leaders("other"))
    topic_id = admin.list_topics()["other"].topic_id
    assert topic_id is not None

    admin.create_partitions({"other": 2})
    admin.wait_until(Until.topic_has_leaders("other", 2))
    described = admin.describe_topics(["other"], authorized_operations=True)["other"]

    assert described.authorized_operations
    assert admin.describe_topics([topic_id])[topic_id].name == "other"
    admin.delete_topics([topic_id])
    with pytest.raises(UnknownTopicIdError):
        admin.describe_topics([uuid4()])


def test_offsets_are_listed_and_records_deleted(admin: Admin) -> None:
    ends = admin.list_offsets({PLACE: OffsetSpec.LATEST})
    assert ends[PLACE] is not None
    assert ends[PLACE].offset == 1

    assert admin.delete_records({PLACE: 0}) == {PLACE: 0}


def test_settings_are_changed_described_and_listed(admin: Admin) -> None:
    resource = ConfigResource.topic(TOPIC)

    admin.incremental_alter_configs({resource: [AlterConfig("retention.ms", "1000")]})

    assert admin.describe_configs([resource])[resource]["retention.ms"].value
    assert admin.list_client_metrics_resources() == []
    with pytest.raises(UnsupportedVersionError, match="ListConfigResources"):
        admin.list_config_resources([ConfigResourceType.TOPIC])


def test_groups_are_listed_described_reset_and_deleted(older: str, admin: Admin) -> None:
    with Consumer(older, topics=[TOPIC], group_id="readers", group_instance_id="one") as consumer:
        while not consumer.assignment():
            consumer.poll(0.1)
        described = admin.describe_consumer_groups(["readers"])["readers"]
        classic = admin.describe_classic_groups(["readers"], authorized_operations=True)["readers"]
    admin.remove_members_from_consumer_group("readers", ["one"])
    admin.wait_until(Until.group_is_empty("readers"))

    assert len(described.members) == len(classic.members) == 1
    assert "readers" in {one.group_id for one in admin.list_groups()}
    assert "readers" in {one.group_id for one in admin.list_consumer_groups()}
    admin.alter_consumer_group_offsets("readers", {PLACE: 0})
    assert next(admin.watch_groups()).group_id == "readers"
    assert admin.list_consumer_group_offsets({"readers": None})["readers"]
    assert admin.lag("readers")[PLACE].lag == 1
    assert admin.reset_offsets("readers", to="latest")[PLACE].after == 1
    admin.delete_consumer_groups(["readers"])
    with pytest.raises(GroupIdNotFoundError):
        admin.delete_consumer_group_offsets("readers", [PLACE])


def test_a_group_that_does_not_exist_is_not_found(admin: Admin) -> None:
    with pytest.raises(GroupIdNotFoundError):
        admin.describe_consumer_groups(["nobody"])

    assert admin.wait_until(Until.group_is_empty("nobody")) is None


@pytest.mark.parametrize("kind", ["share", "streams"])
def test_groups_of_newer_types_are_refused_with_the_names_of_what_is_missing(
    admin: Admin, kind: str
) -> None:
    describe = {"share": admin.describe_share_groups, "streams": admin.describe_streams_groups}

    with pytest.raises(UnsupportedVersionError, match=f"{kind.title()}GroupDescribe"):
        describe[kind](["readers"])


def test_the_cluster_its_quorum_and_its_features_are_described(admin: Admin) -> None:
    cluster = admin.describe_cluster(authorized_operations=True)

    assert cluster.authorized_operations
    assert admin.describe_metadata_quorum().leader_id in {n.node_id for n in cluster.nodes}
    assert admin.describe_features().finalized["metadata.version"]
    with pytest.raises(UnsupportedVersionError, match="DescribeCluster"):
        admin.describe_cluster(fenced_brokers=True)
    with pytest.raises(UnsupportedVersionError):
        admin.remove_raft_voter(7, uuid4())


def test_replicas_and_leaders_are_described(admin: Admin) -> None:
    (node,) = admin.describe_cluster().nodes

    assert admin.describe_log_dirs([node.node_id])[node.node_id]
    assert admin.elect_leaders(ElectionType.PREFERRED, [PLACE]) == {PLACE: False}
    assert admin.list_partition_reassignments() == {}
    admin.alter_partition_reassignments({PLACE: [node.node_id]})


def test_transactions_and_producers_are_described_and_fenced(older: str, admin: Admin) -> None:
    with Producer(older, transactional_id="payments") as producer, producer.transaction():
        producer.send(TOPIC, b"2", partition=0)

    assert [one.transactional_id for one in admin.list_transactions()] == ["payments"]
    assert admin.describe_transactions(["payments"])["payments"].producer_id >= 0
    assert admin.describe_producers([PLACE])[PLACE]
    assert admin.fence_producers(["payments"])["payments"].epoch > 0
    admin.force_terminate_transaction("payments")
