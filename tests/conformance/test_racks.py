"""Racks on three nodes of Apache Kafka: who looks at them, and who does not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from pyk.clients import Admin, Consumer, NewTopic, Producer, TopicPartition
from pyk.protocol.messages.consumer_group_describe import DescribedGroup, Member
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support import apache_kafka
from support.broker_requests import coordinator_of
from support.brokers import RealKafka, make_topic_of_node_0
from support.raw_client import RawClient
from support.raw_groups import Coordinator
from support.real_time import eventually

pytestmark = pytest.mark.conformance
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealKafka]:
    """Three nodes, each in a rack of its own."""
    if why := apache_kafka.missing():
        pytest.skip(why)
    with RealKafka(3, {"replica.selector.class": SELECTOR}, has_racks=True) as real:
        yield real


@pytest.mark.parametrize("node", [1, 2])
def test_records_are_fetched_from_the_replica_in_the_rack_of_the_client(
    cluster: RealKafka, node: int
) -> None:
    topic = make_topic_of_node_0(cluster, "racks")
    produce(cluster, topic, range(100))

    with Consumer(
        cluster.bootstrap, client_rack=f"rack-{node}", auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([(topic, 0)])
        assert read(consumer, 100) == list(range(100))
        assert fetched_from(consumer, topic) == node

        produce(cluster, topic, range(100, 200))
        assert read(consumer, 100) == list(range(100, 200))
        assert fetched_from(consumer, topic) == node
        assert consumer.health().is_healthy


def test_a_consumer_whose_rack_has_no_replica_fetches_from_the_leader(cluster: RealKafka) -> None:
    topic = make_topic_of_node_0(cluster, "racks")
    produce(cluster, topic, range(10))

    with Consumer(
        cluster.bootstrap, client_rack="rack-9", auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([(topic, 0)])
        assert read(consumer, 10) == list(range(10))
        assert fetched_from(consumer, topic) in (None, 0)


def test_records_come_from_the_other_replicas_while_the_closest_is_down(
    cluster: RealKafka,
) -> None:
    topic = make_topic_of_node_0(cluster, "racks")
    produce(cluster, topic, range(100))

    with Consumer(
        cluster.bootstrap, client_rack="rack-2", auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([(topic, 0)])
        assert read(consumer, 100) == list(range(100))
        assert fetched_from(consumer, topic) == 2

        cluster.kill_and_restart(2)
        produce(cluster, topic, range(100, 200))
        assert read(consumer, 100) == list(range(100, 200))

        def is_back() -> bool:
            consumer.seek_to_beginning()
            read(consumer, 200)
            return fetched_from(consumer, topic) == 2

        eventually(is_back)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
async def test_the_assignors_of_the_coordinator_do_not_look_at_racks(
    cluster: RealKafka, assignor: str
) -> None:
    topic = f"lone-replicas-{assignor}"

    def create() -> None:
        with Admin(cluster.bootstrap) as admin:
            admin.create_topics([NewTopic(topic, assignments={0: (0,), 1: (1,), 2: (2,)})])

    await asyncio.to_thread(create)
    along = await targets(cluster, topic, assignor, ["rack-0", "rack-1", "rack-2"])
    across = await targets(cluster, topic, assignor, ["rack-2", "rack-0", "rack-1"])

    assert sorted(one for held in along.values() for one in held) == [0, 1, 2]
    assert across == along


async def targets(
    cluster: RealKafka, topic: str, assignor: str, racks: list[str]
) -> dict[str, list[int]]:
    """Return what members a, b and c are to have, each in one of the racks."""
    group = f"{topic} of {racks[0]}"
    async with RawClient(cluster.bootstrap) as node_0:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        (metadata,) = (await node_0.ask(asked, 12)).topics
        address = await coordinator_of(node_0, group)
    async with RawClient(address) as client:
        coordinator = Coordinator(client, group, topic, metadata.topic_id)
        await coordinator.configure("consumer.assignment.interval.ms", "0")
        await coordinator.see_topic()
        for member_id, rack in zip("abc", racks, strict=True):
            await coordinator.join(member_id, rack_id=rack, server_assignor=assignor)
        described = await coordinator.describe()
    assert [member.rack_id for member in sorted_members(described)] == racks
    return {
        member.member_id: [
            partition
            for wanted in member.target_assignment.topic_partitions
            for partition in wanted.partitions
        ]
        for member in described.members
    }


def sorted_members(described: DescribedGroup) -> list[Member]:
    return sorted(described.members, key=lambda member: member.member_id)


def produce(cluster: RealKafka, topic: str, numbers: range) -> None:
    with Producer(cluster.bootstrap) as producer:
        for number in numbers:
            producer.send(topic, b"%d" % number, partition=0)


def read(consumer: Consumer[bytes, bytes], count: int) -> list[int]:
    """Return the next values; no record comes twice or is left out."""
    values: list[int] = []

    def have_come() -> bool:
        values.extend(int(record.value) for record in consumer.poll(0.5))
        return len(values) >= count

    eventually(have_come)
    return values


def fetched_from(consumer: Consumer[bytes, bytes], topic: str) -> int | None:
    """Return the replica that a consumer reads from because of its rack."""
    assigned = consumer._core.partitions[TopicPartition(topic, 0)]
    node: int | None = assigned.preferred_node
    return node
