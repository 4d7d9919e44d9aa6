"""Calls of the admin client that need several brokers: moves, elections, and brokers that go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyk.clients import Admin, ElectionType, NewTopic, TopicPartition
from pyk.clients.errors import BrokerIdNotRegisteredError
from support import apache_kafka
from support.apache_kafka import ApacheKafkaCluster
from support.real_time import eventually

pytestmark = pytest.mark.conformance
SOON_FENCED = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApacheKafkaCluster]:
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafkaCluster(3, config=SOON_FENCED) as real:
        yield real


@pytest.fixture
def admin(cluster: ApacheKafkaCluster) -> Iterator[Admin]:
    """An admin client; all nodes are up and registered at the end."""
    with Admin(cluster.bootstrap) as admin:
        yield admin
        for node in cluster.nodes:
            if not node.has_started:
                node.start()
        eventually(lambda: len(admin.describe_cluster().nodes) == 3)


def create(admin: Admin, topic: str, *replicas: int) -> TopicPartition:
    admin.create_topics([NewTopic(topic, assignments={0: replicas})])
    place = TopicPartition(topic, 0)
    eventually(lambda: topic in admin.list_topics() and leader_of(admin, place) == replicas[0])
    return place


def replicas_of(admin: Admin, place: TopicPartition) -> tuple[int, ...]:
    return admin.describe_topics([place.topic])[place.topic].partitions[0].replicas


def leader_of(admin: Admin, place: TopicPartition) -> int | None:
    return admin.describe_topics([place.topic])[place.topic].partitions[0].leader_id


def test_a_partition_moves_to_other_brokers(admin: Admin) -> None:
    place = create(admin, "moved", 0, 1)

    admin.alter_partition_reassignments({place: [2, 0]})

    eventually(lambda: admin.list_partition_reassignments([place]) == {})
    eventually(lambda: replicas_of(admin, place) == (2, 0))
    eventually(lambda: leader_of(admin, place) in (2, 0))


def test_a_move_to_a_broker_that_is_down_is_listed_and_can_be_cancelled(
    cluster: ApacheKafkaCluster, admin: Admin
) -> None:
    place = create(admin, "stays", 0, 1)
    cluster.nodes[2].kill()

    admin.alter_partition_reassignments({place: [0, 2]})
    ((found, move),) = admin.list_partition_reassignments().items()

    assert found == place
    assert (move.adding_replicas, move.removing_replicas) == ((2,), (1,))
    assert set(move.replicas) == {0, 1, 2}
    admin.alter_partition_reassignments({place: None})
    assert admin.list_partition_reassignments() == {}
    eventually(lambda: replicas_of(admin, place) == (0, 1))


def test_an_election_returns_the_lead_to_the_preferred_replica(
    cluster: ApacheKafkaCluster, admin: Admin
) -> None:
    place = create(admin, "led", 2, 0)
    cluster.nodes[2].kill()
    eventually(lambda: leader_of(admin, place) == 0)
    cluster.nodes[2].start()
    eventually(lambda: 2 in admin.describe_topics(["led"])["led"].partitions[0].in_sync_replicas)

    assert admin.elect_leaders(ElectionType.PREFERRED, [place]) == {place: True}

    eventually(lambda: leader_of(admin, place) == 2)
    assert admin.elect_leaders(ElectionType.PREFERRED, [place]) == {place: False}


def test_a_broker_that_is_down_is_fenced_then_unregistered_and_can_come_back(
    cluster: ApacheKafkaCluster, admin: Admin
) -> None:
    def fenced() -> set[int]:
        return set(admin.describe_cluster(fenced_brokers=True).fenced_node_ids)

    cluster.nodes[2].kill()
    eventually(lambda: fenced() == {2})
    eventually(lambda: [one.node_id for one in admin.describe_cluster().nodes] == [0, 1])

    admin.unregister_broker(2)

    eventually(lambda: fenced() == set())
    with pytest.raises(BrokerIdNotRegisteredError):
        admin.unregister_broker(2)
    cluster.nodes[2].start()
    eventually(lambda: len(admin.describe_cluster().nodes) == 3)
