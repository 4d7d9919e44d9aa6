"""Calls of the admin client about topics by id, in pages, with operations; and the cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from pyk.clients import (
    AclOperation,
    Admin,
    AsyncAdmin,
    ConfigResource,
    ConfigSource,
    ConfigType,
    InvalidReplicaAssignmentError,
    NewPartitions,
    OffsetSpec,
    Producer,
    ProducerFencedError,
    RaftVoterEndpoint,
    TopicPartition,
    TransactionState,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from pyk.clients.errors import SeveralErrors
from support.brokers import Kafka, make_topic
from support.real_time import eventually

ALL_OF_A_TOPIC = {
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
}
ALL_OF_THE_CLUSTER = {
    AclOperation.CREATE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.IDEMPOTENT_WRITE,
}


@pytest.fixture
def admin(kafka: Kafka) -> Iterator[Admin]:
    with Admin(kafka.bootstrap) as admin:
        yield admin


def test_topics_are_described_and_deleted_by_id(admin: Admin, topic: str) -> None:
    topic_id = admin.list_topics()[topic].topic_id
    missing = uuid4()
    assert topic_id is not None

    described = admin.describe_topics([topic_id])[topic_id]
    assert (described.name, len(described.partitions)) == (topic, 3)
    with pytest.raises(SeveralErrors) as raised:
        admin.describe_topics([topic_id, missing])
    assert set(raised.value.results) == {topic_id}
    assert isinstance(raised.value.errors[missing], UnknownTopicIdError)

    admin.delete_topics([topic_id])
    eventually(lambda: topic not in admin.list_topics())
    with pytest.raises(UnknownTopicIdError):
        admin.delete_topics([topic_id])


def test_an_id_of_a_topic_in_place_of_its_name_is_not_found(admin: Admin, topic: str) -> None:
    topic_id = admin.list_topics()[topic].topic_id

    with pytest.raises(UnknownTopicOrPartitionError):
        admin.describe_topics([str(topic_id)])
    with pytest.raises(UnknownTopicIdError):
        admin.describe_topics([UUID(int=7)])


def test_topics_are_described_in_pages(kafka: Kafka, admin: Admin, topic: str) -> None:
    other = make_topic(kafka, "other", partitions=4)

    described = admin.describe_topics([topic, other], page_size=2)

    assert [len(described[name].partitions) for name in (topic, other)] == [3, 4]
    assert [one.partition for one in described[other].partitions] == [0, 1, 2, 3]
    assert described == admin.describe_topics([topic, other])


def test_what_the_caller_may_do_is_returned_if_asked_for(admin: Admin, topic: str) -> None:
    topic_id = admin.list_topics()[topic].topic_id
    assert topic_id is not None

    by_name = admin.describe_topics([topic], authorized_operations=True)[topic]
    by_id = admin.describe_topics([topic_id], authorized_operations=True)[topic_id]

    assert by_name.authorized_operations == by_id.authorized_operations == ALL_OF_A_TOPIC
    assert admin.describe_topics([topic])[topic].authorized_operations is None
    assert admin.describe_cluster().authorized_operations is None
    described = admin.describe_cluster(authorized_operations=True)
    assert described.authorized_operations == ALL_OF_THE_CLUSTER


def test_no_running_broker_is_fenced(kafka: Kafka, admin: Admin) -> None:
    described = admin.describe_cluster(fenced_brokers=True)

    assert len(described.nodes) == kafka.nodes
    assert described.fenced_node_ids == frozenset()


def test_new_partitions_are_given_to_brokers(admin: Admin, topic: str) -> None:
    node_id = admin.describe_cluster().nodes[0].node_id
    replicas = admin.describe_topics([topic])[topic].partitions[0].replicas

    admin.create_partitions({topic: NewPartitions(4, [replicas])})

    eventually(lambda: len(admin.describe_topics([topic])[topic].partitions) == 4)
    assert admin.describe_topics([topic])[topic].partitions[3].replicas == replicas
    with pytest.raises(InvalidReplicaAssignmentError):
        admin.create_partitions({topic: NewPartitions(5, [[node_id, 99]])})


def test_settings_have_types_and_synonyms(kafka: Kafka, admin: Admin) -> None:
    resource = ConfigResource.topic(make_topic(kafka, "typed", **{"retention.ms": "5000"}))

    entry = admin.describe_configs([resource], synonyms=True)[resource]["retention.ms"]
    without = admin.describe_configs([resource])[resource]["retention.ms"]

    assert entry.type is ConfigType.LONG
    assert entry.synonyms[0].source is ConfigSource.TOPIC
    assert (entry.synonyms[0].name, entry.synonyms[0].value) == ("retention.ms", "5000")
    assert without.synonyms == ()


def test_offsets_of_tiers_are_those_of_the_disk_without_tiered_storage(
    admin: Admin, topic: str
) -> None:
    place = TopicPartition(topic, 0)

    found = {
        spec: admin.list_offsets({place: spec})[place]
        for spec in (OffsetSpec.EARLIEST_LOCAL, OffsetSpec.LATEST_TIERED)
    }

    local = found[OffsetSpec.EARLIEST_LOCAL]
    assert local is not None
    assert local.offset == 0
    assert found[OffsetSpec.LATEST_TIERED] is None


def test_the_features_of_one_broker_are_described(admin: Admin) -> None:
    node_id = admin.describe_cluster().nodes[-1].node_id

    assert admin.describe_features(broker_id=node_id).finalized["metadata.version"]


def test_a_quorum_of_fixed_voters_takes_and_loses_none(admin: Admin) -> None:
    # The reference broker has no listener for controllers: they speak over that of the clients.
    names = ("CONTROLLER", "PLAINTEXT")
    endpoints = [RaftVoterEndpoint(name, "127.0.0.1", 9093) for name in names]

    with pytest.raises(UnsupportedVersionError, match="UNSUPPORTED_VERSION"):
        admin.add_raft_voter(7, uuid4(), endpoints)
    with pytest.raises(UnsupportedVersionError, match="UNSUPPORTED_VERSION"):
        admin.remove_raft_voter(7, uuid4())


def test_a_transaction_is_terminated_by_force(kafka: Kafka, admin: Admin, topic: str) -> None:
    name = f"terminated-{time.time_ns()}"
    with Producer(kafka.bootstrap, transactional_id=name) as producer:
        producer.begin_transaction()
        producer.send_and_wait(topic, b"1", partition=0)

        admin.force_terminate_transaction(name)

        described = admin.describe_transactions([name])[name]
        assert (described.state, described.topic_partitions) == (
            TransactionState.EMPTY,
            frozenset(),
        )
        with pytest.raises(ProducerFencedError):
            producer.commit_transaction()


def test_there_are_no_client_metrics_to_list(admin: Admin) -> None:
    assert admin.list_client_metrics_resources() == []


def test_the_asyncio_client_makes_the_same_calls(kafka: Kafka, topic: str) -> None:
    async def main() -> None:
        async with AsyncAdmin(kafka.bootstrap) as admin:
            topic_id = (await admin.list_topics())[topic].topic_id
            assert topic_id is not None
            assert (await admin.describe_topics([topic_id]))[topic_id].name == topic
            cluster = await admin.describe_cluster(fenced_brokers=True, authorized_operations=True)
            assert cluster.authorized_operations == ALL_OF_THE_CLUSTER
            assert await admin.list_client_metrics_resources() == []
            with pytest.raises(UnsupportedVersionError):
                await admin.remove_raft_voter(7, uuid4())

    asyncio.run(main())
