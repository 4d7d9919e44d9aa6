"""Calls of the admin client, and the errors that brokers refuse them with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from pyk.clients import (
    Admin,
    AlterConfig,
    AlterConfigOperation,
    AsyncAdmin,
    ConfigResource,
    ConfigSource,
    Consumer,
    GroupIdNotFoundError,
    InvalidConfigError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    NewTopic,
    NonEmptyGroupError,
    OffsetAndMetadata,
    OffsetSpec,
    Producer,
    TopicAlreadyExistsError,
    TopicPartition,
    UnknownTopicOrPartitionError,
)
from pyk.clients.errors import SeveralErrors
from support.brokers import Kafka, every_node_knows
from support.real_time import eventually


@pytest.fixture
def admin(kafka: Kafka) -> Iterator[Admin]:
    with Admin(kafka.bootstrap) as admin:
        yield admin


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no topic has."""
    return f"{request.node.originalname}-{time.time_ns()}"


@pytest.fixture
def filled(kafka: Kafka, topic: str) -> str:
    """A topic with ten records in its first two partitions, one per millisecond from 1000 on."""
    with Producer(kafka.bootstrap) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=number % 2, timestamp_ms=1_000 + number)
    return topic


def test_describe_cluster_returns_the_brokers_and_the_controller(
    kafka: Kafka, admin: Admin
) -> None:
    cluster = admin.describe_cluster()

    addresses = [f"{node.host}:{node.port}" for node in cluster.nodes]
    assert ",".join(addresses) == kafka.bootstrap
    assert cluster.controller_id in {node.node_id for node in cluster.nodes}
    assert cluster.cluster_id


def test_a_topic_is_created_described_listed_and_deleted(
    kafka: Kafka, admin: Admin, name: str
) -> None:
    made = admin.create_topics([NewTopic(name, 3, configs={"retention.ms": "3600000"})])[name]
    eventually(lambda: every_node_knows(kafka, name))
    described = admin.describe_topics([name])[name]

    assert made.partitions == len(described.partitions) == 3
    assert made.topic_id == described.topic_id
    assert made.configs["retention.ms"] == "3600000"
    assert all(one.leader_id is not None for one in described.partitions)
    assert admin.list_topics()[name].partition_count == 3

    admin.delete_topics([name])

    eventually(lambda: name not in admin.list_topics())


def test_a_topic_that_exists_cannot_be_created(admin: Admin, topic: str) -> None:
    with pytest.raises(TopicAlreadyExistsError) as raised:
        admin.create_topics([NewTopic(topic)])

    assert raised.value.topic == topic


def test_each_of_several_topics_has_its_own_outcome(admin: Admin, topic: str, name: str) -> None:
    with pytest.raises(SeveralErrors) as raised:
        admin.create_topics([NewTopic(topic), NewTopic("not/allowed"), NewTopic(name, 1)])

    assert isinstance(raised.value.errors[topic], TopicAlreadyExistsError)
    assert isinstance(raised.value.errors["not/allowed"], InvalidTopicError)
    assert set(raised.value.results) == {name}


def test_creating_a_topic_can_be_validated_without_creating_it(admin: Admin, name: str) -> None:
    admin.create_topics([NewTopic(name, 2)], validate_only=True)

    assert name not in admin.list_topics()


def test_more_replicas_than_brokers_are_refused(admin: Admin, name: str) -> None:
    with pytest.raises(InvalidReplicationFactorError):
        admin.create_topics([NewTopic(name, 1, replication_factor=7)])


def test_an_unknown_topic_cannot_be_described_or_deleted(admin: Admin, name: str) -> None:
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.describe_topics([name])
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([name])


def test_a_topic_gains_partitions_and_never_loses_any(admin: Admin, topic: str) -> None:
    admin.create_partitions({topic: 5})
    eventually(lambda: len(admin.describe_topics([topic])[topic].partitions) == 5)

    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({topic: 2})


def test_configurations_are_set_and_reset_to_their_defaults(admin: Admin, topic: str) -> None:
    resource = ConfigResource.topic(topic)

    def retention() -> tuple[str | None, ConfigSource]:
        entry = admin.describe_configs([resource])[resource]["retention.ms"]
        return entry.value, entry.source

    admin.incremental_alter_configs({resource: [AlterConfig("retention.ms", "1000")]})
    eventually(lambda: retention() == ("1000", ConfigSource.TOPIC))

    taken_back = AlterConfig("retention.ms", operation=AlterConfigOperation.DELETE)
    admin.incremental_alter_configs({resource: [taken_back]})
    eventually(lambda: retention() == ("604800000", ConfigSource.DEFAULT))


def test_an_unknown_configuration_is_refused(admin: Admin, topic: str) -> None:
    with pytest.raises(InvalidConfigError, match="mss"):
        admin.incremental_alter_configs(
            {ConfigResource.topic(topic): [AlterConfig("retention.mss", "1")]}
        )


def test_describing_a_broker_returns_the_configurations_of_that_broker(admin: Admin) -> None:
    node_id = admin.describe_cluster().nodes[0].node_id
    resource = ConfigResource.broker(node_id)

    settings = admin.describe_configs([resource])[resource]

    assert settings["node.id"].value == str(node_id)
    assert settings["node.id"].is_read_only


def test_offsets_are_listed_at_both_ends_and_by_timestamp(admin: Admin, filled: str) -> None:
    first, second, empty = (TopicPartition(filled, n) for n in range(3))

    ends = admin.list_offsets(dict.fromkeys((first, second, empty), OffsetSpec.LATEST))
    begins = admin.list_offsets(dict.fromkeys((first, second, empty), OffsetSpec.EARLIEST))
    times = admin.list_offsets({first: 1_003, second: 1_004, empty: 0})
    newest = admin.list_offsets({first: OffsetSpec.MAX_TIMESTAMP})

    assert [one.offset for one in ends.values() if one] == [5, 5, 0]
    assert [one.offset for one in begins.values() if one] == [0, 0, 0]
    assert [(one.offset, one.timestamp) if one else None for one in times.values()] == [
        (2, 1_004),
        (2, 1_005),
        None,
    ]
    assert [(one.offset, one.timestamp) for one in newest.values() if one] == [(4, 1_008)]


def test_list_offsets_keeps_the_results_of_known_partitions_when_others_are_unknown(
    admin: Admin, filled: str, name: str
) -> None:
    there, beyond = TopicPartition(filled, 0), TopicPartition(filled, 9)

    with pytest.raises(SeveralErrors) as raised:
        admin.list_offsets(dict.fromkeys((there, beyond, TopicPartition(name, 0)), 0))

    assert set(raised.value.results) == {there}
    assert isinstance(raised.value.errors[beyond], UnknownTopicOrPartitionError)


def test_records_before_an_offset_are_deleted(admin: Admin, filled: str) -> None:
    first, second = TopicPartition(filled, 0), TopicPartition(filled, 1)

    assert admin.delete_records({first: 2, second: OffsetSpec.LATEST}) == {first: 2, second: 5}

    begins = admin.list_offsets(dict.fromkeys((first, second), OffsetSpec.EARLIEST))
    assert [one.offset for one in begins.values() if one] == [2, 5]


def test_committed_offsets_of_a_group_are_set_listed_and_deleted(
    admin: Admin, filled: str, group: str
) -> None:
    first, second, third = (TopicPartition(filled, n) for n in range(3))
    noted = OffsetAndMetadata(1, metadata="a note")

    admin.alter_consumer_group_offsets(group, {first: 3, second: noted})
    assert admin.list_consumer_group_offsets(group) == {
        first: OffsetAndMetadata(3),
        second: noted,
    }
    assert admin.list_consumer_group_offsets(group, [first, third])[third] is None
    assert {place.partition: one.lag for place, one in admin.lag(group).items()} == {
        0: 2,
        1: 4,
    }

    admin.delete_consumer_group_offsets(group, [first])
    assert set(admin.list_consumer_group_offsets(group)) == {second}


def test_a_group_is_listed_described_and_deleted(admin: Admin, filled: str, group: str) -> None:
    admin.alter_consumer_group_offsets(group, {TopicPartition(filled, 0): 3})

    (listing,) = [one for one in admin.list_groups() if one.group_id == group]
    described = admin.describe_consumer_groups([group])[group]

    assert listing.state == described.state == "Empty"
    assert described.members == ()
    assert group in {one.group_id for one in admin.list_groups(states=["Empty"])}
    assert group not in {one.group_id for one in admin.list_groups(states=["Stable"])}

    admin.delete_consumer_groups([group])

    assert group not in {one.group_id for one in admin.list_groups()}


def test_groups_of_both_types_are_described(
    kafka: Kafka, admin: Admin, filled: str, group: str
) -> None:
    admin.alter_consumer_group_offsets(f"{group}-old", {TopicPartition(filled, 0): 3})
    with Consumer(
        kafka.bootstrap, topics=[filled], group_id=group, group_protocol="consumer"
    ) as consumer:
        while not consumer.assignment():
            consumer.poll(0.1)
        described = admin.describe_consumer_groups([f"{group}-old", group])
        with pytest.raises(NonEmptyGroupError):
            admin.delete_consumer_groups([group])

    (member,) = described[group].members
    assert described[f"{group}-old"].group_type == "classic"
    assert (described[group].group_type, described[group].protocol_type) == ("consumer",) * 2
    assert described[group].partition_assignor == "uniform"
    assert {partition.topic for partition in member.assignment} == {filled}


def test_an_unknown_group_cannot_be_described_or_deleted(admin: Admin, group: str) -> None:
    with pytest.raises(GroupIdNotFoundError, match=group):
        admin.describe_consumer_groups([group])
    with pytest.raises(GroupIdNotFoundError, match=group):
        admin.delete_consumer_groups([group])


def test_many_calls_run_at_once(kafka: Kafka, topic: str) -> None:
    async def main() -> None:
        async with AsyncAdmin(kafka.bootstrap) as admin:
            found = await asyncio.gather(*(admin.describe_topics([topic]) for _ in range(50)))
        assert all(one[topic].name == topic for one in found)

    asyncio.run(main())


def test_the_admin_client_works_after_a_restart_of_the_broker(kafka: Kafka, admin: Admin) -> None:
    admin.list_topics()

    kafka.kill_and_restart()

    assert admin.describe_cluster(timeout=20).nodes


def test_offsets_of_a_share_group_are_altered_listed_and_deleted(
    admin: Admin, filled: str, group: str
) -> None:
    first, second = TopicPartition(filled, 0), TopicPartition(filled, 1)
    assert admin.list_share_group_offsets(group, [first]) == {first: None}

    admin.alter_share_group_offsets(group, {first: 1, second: 0})

    found = admin.list_share_group_offsets(group)
    ends = admin.list_offsets(dict.fromkeys([first, second], OffsetSpec.LATEST))
    offsets = {place: each and (each.start_offset, each.lag) for place, each in found.items()}
    assert offsets == {first: (1, ends[first].offset - 1), second: (0, ends[second].offset)}
    (listing,) = [one for one in admin.list_groups(types=["share"]) if one.group_id == group]
    assert (listing.group_type, listing.state) == ("share", "Empty")
    described = admin.describe_share_groups([group])[group]
    assert (described.state, described.members) == ("Empty", ())

    admin.delete_share_group_offsets(group, [filled])
    assert admin.list_share_group_offsets(group) == {}
    admin.delete_share_groups([group])
    assert group not in {one.group_id for one in admin.list_groups()}


def test_an_unknown_share_group_has_nothing_to_describe_or_delete(
    admin: Admin, topic: str, group: str
) -> None:
    with pytest.raises(GroupIdNotFoundError, match=group):
        admin.describe_share_groups([group])
    with pytest.raises(GroupIdNotFoundError, match=group):
        admin.delete_share_groups([group])
    with pytest.raises(GroupIdNotFoundError, match=group):
        admin.delete_share_group_offsets(group, [topic])
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.alter_share_group_offsets(group, {TopicPartition(topic, 99): 0})


def test_the_asyncio_admin_client_knows_share_groups(kafka: Kafka, filled: str, group: str) -> None:
    async def main() -> None:
        async with AsyncAdmin(kafka.bootstrap) as admin:
            await admin.alter_share_group_offsets(group, {TopicPartition(filled, 0): 1})
            found = await admin.list_share_group_offsets(group)
            assert [each and each.start_offset for each in found.values()] == [1]
            await admin.delete_share_group_offsets(group, filled)
            assert (await admin.describe_share_groups(group))[group].state == "Empty"
            await admin.delete_share_groups(group)

    asyncio.run(main())
