"""Calls of the admin client about replicas, the quorum and features, with the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from pyk.clients import (
    Admin,
    AlterConfig,
    AlterConfigOperation,
    AsyncAdmin,
    ConfigResource,
    ConfigResourceType,
    ElectionType,
    FeatureUpdate,
    Producer,
    TopicPartition,
    TopicPartitionReplica,
    UpgradeType,
)
from pyk.clients.errors import (
    BrokerIdNotRegisteredError,
    InvalidReplicaAssignmentError,
    InvalidUpdateVersionError,
    LogDirNotFoundError,
    NoReassignmentInProgressError,
    SeveralErrors,
    UnknownTopicOrPartitionError,
)
from support.brokers import Kafka
from support.real_time import eventually


@pytest.fixture
def admin(kafka: Kafka) -> Iterator[Admin]:
    with Admin(kafka.bootstrap) as admin:
        yield admin


@pytest.fixture
def filled(kafka: Kafka, topic: str) -> str:
    """A topic with a record in its first partition."""
    with Producer(kafka.bootstrap) as producer:
        producer.send(topic, b"x" * 1_000, partition=0)
    return topic


@pytest.fixture
def first(admin: Admin, filled: str) -> TopicPartitionReplica:
    """A replica of the partition with a record."""
    broker_id = admin.describe_topics([filled])[filled].partitions[0].leader_id
    assert broker_id is not None
    return TopicPartitionReplica(filled, 0, broker_id)


def test_log_directories_show_the_sizes_of_the_partitions_in_them(
    admin: Admin, first: TopicPartitionReplica
) -> None:
    place = TopicPartition(first.topic, 0)

    ((path, directory),) = admin.describe_log_dirs([first.broker_id])[first.broker_id].items()
    found = admin.describe_replica_log_dirs([first])[first]

    assert directory.error is None
    assert directory.total_bytes is not None
    assert directory.usable_bytes is not None
    assert directory.total_bytes >= directory.usable_bytes > 0
    assert 1_000 < directory.replicas[place].size < 2_000
    assert not directory.replicas[place].is_future
    assert (found.path, found.offset_lag, found.future_path) == (path, 0, None)


def test_a_replica_stays_in_its_directory_and_moves_to_no_unknown_one(
    admin: Admin, first: TopicPartitionReplica
) -> None:
    path = admin.describe_replica_log_dirs([first])[first].path
    missing = TopicPartitionReplica(first.topic, 99, first.broker_id)
    assert path is not None

    admin.alter_replica_log_dirs({first: path})
    with pytest.raises(LogDirNotFoundError):
        admin.alter_replica_log_dirs({first: "/no-such-directory"})
    with pytest.raises(SeveralErrors) as raised:
        admin.alter_replica_log_dirs({first: path, missing: path})

    assert set(raised.value.results) == {first}
    assert isinstance(raised.value.errors[missing], UnknownTopicOrPartitionError)


@pytest.mark.parametrize("election_type", ElectionType)
def test_no_election_is_needed_where_the_preferred_replica_leads(
    admin: Admin, filled: str, election_type: ElectionType
) -> None:
    place, missing = TopicPartition(filled, 0), TopicPartition(filled, 99)

    assert admin.elect_leaders(election_type, [place]) == {place: False}
    assert place not in elected_anywhere(admin, election_type)
    with pytest.raises(UnknownTopicOrPartitionError, match=f"No such partition as {filled}-99"):
        admin.elect_leaders(election_type, [missing])


def elected_anywhere(admin: Admin, election_type: ElectionType) -> set[TopicPartition]:
    """Return where an election was needed, of all partitions: of other tests, too."""
    try:
        return {*admin.elect_leaders(election_type)}
    except SeveralErrors as error:
        return {*error.results, *error.errors}


def test_a_partition_keeps_its_replicas_and_moves_to_no_unknown_broker(
    admin: Admin, filled: str
) -> None:
    place, missing = TopicPartition(filled, 0), TopicPartition(filled, 99)
    replicas = admin.describe_topics([filled])[filled].partitions[0].replicas

    admin.alter_partition_reassignments({place: replicas})

    assert admin.list_partition_reassignments() == {}
    assert admin.list_partition_reassignments([place, missing]) == {}
    with pytest.raises(InvalidReplicaAssignmentError, match="no such broker is registered"):
        admin.alter_partition_reassignments({place: [99]})
    with pytest.raises(InvalidReplicaAssignmentError, match="more than once"):
        admin.alter_partition_reassignments({place: [replicas[0], replicas[0]]})
    with pytest.raises(InvalidReplicaAssignmentError, match="empty replica list"):
        admin.alter_partition_reassignments({place: []})
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.alter_partition_reassignments({missing: replicas})


def test_a_reassignment_that_is_not_in_progress_cannot_be_cancelled(
    admin: Admin, filled: str
) -> None:
    with pytest.raises(NoReassignmentInProgressError):
        admin.alter_partition_reassignments({TopicPartition(filled, 0): None})


def test_the_quorum_of_the_metadata_log_has_a_leader_among_its_voters(
    kafka: Kafka, admin: Admin
) -> None:
    quorum = admin.describe_metadata_quorum()

    voters = {one.replica_id: one for one in quorum.voters}
    assert len(voters) == kafka.nodes
    assert voters[quorum.leader_id].log_end_offset >= quorum.high_watermark > 0
    assert voters[quorum.leader_id].last_caught_up_timestamp is not None
    assert quorum.leader_epoch >= 0
    assert quorum.endpoints.keys() == voters.keys()
    assert all("://" in one for some in quorum.endpoints.values() for one in some)


def test_a_broker_that_is_not_registered_cannot_be_unregistered(admin: Admin) -> None:
    with pytest.raises(
        BrokerIdNotRegisteredError, match="Broker ID 99 is not currently registered"
    ):
        admin.unregister_broker(99)


def test_resources_with_configurations_are_listed_by_type(
    admin: Admin, filled: str, group: str
) -> None:
    of_group = ConfigResource.group(group)
    node_id = admin.describe_cluster().nodes[0].node_id
    admin.incremental_alter_configs(
        {of_group: [AlterConfig("consumer.session.timeout.ms", "50000")]}
    )

    eventually(lambda: of_group in admin.list_config_resources())
    everything = admin.list_config_resources()
    of_brokers = admin.list_config_resources([ConfigResourceType.BROKER])

    assert ConfigResource.topic(filled) in everything
    assert ConfigResource(ConfigResourceType.BROKER_LOGGER, str(node_id)) in everything
    assert ConfigResource.broker(node_id) in of_brokers
    assert {one.type for one in of_brokers} == {ConfigResourceType.BROKER}
    assert admin.list_config_resources([ConfigResourceType.CLIENT_METRICS]) == []


def test_subscriptions_to_client_metrics_are_listed_while_they_have_settings(
    admin: Admin, group: str
) -> None:
    subscription = ConfigResource(ConfigResourceType.CLIENT_METRICS, group)

    admin.incremental_alter_configs({subscription: [AlterConfig("interval.ms", "1000")]})
    eventually(lambda: admin.list_client_metrics_resources() == [subscription])
    settings = admin.describe_configs([subscription])[subscription]
    taken_back = AlterConfig("interval.ms", operation=AlterConfigOperation.DELETE)
    admin.incremental_alter_configs({subscription: [taken_back]})

    assert settings["interval.ms"].value == "1000"
    eventually(lambda: admin.list_client_metrics_resources() == [])


def test_features_are_described_and_updates_that_cannot_be_are_refused(admin: Admin) -> None:
    features = admin.describe_features()
    level = features.finalized["transaction.version"][1]

    assert level == 2
    assert features.supported["metadata.version"][0] == 7
    assert features.finalized_epoch is not None
    admin.update_features([FeatureUpdate("transaction.version", level)], validate_only=True)
    with pytest.raises(InvalidUpdateVersionError):
        admin.update_features([FeatureUpdate("transaction.version", 99)])
    with pytest.raises(InvalidUpdateVersionError):
        admin.update_features([FeatureUpdate("no.such.feature", 1)])


def test_a_feature_goes_down_only_on_request_and_up_again(admin: Admin) -> None:
    name = "transaction.version"

    with pytest.raises(InvalidUpdateVersionError, match="Can't downgrade the version"):
        admin.update_features([FeatureUpdate(name, 1)])
    for level, upgrade_type in ((1, UpgradeType.SAFE_DOWNGRADE), (2, UpgradeType.UPGRADE)):
        admin.update_features([FeatureUpdate(name, level, upgrade_type)])
        eventually(lambda level=level: admin.describe_features().finalized[name] == (level, level))
    with pytest.raises(InvalidUpdateVersionError, match="Unsafe metadata downgrade"):
        admin.update_features([FeatureUpdate("metadata.version", 29, UpgradeType.UNSAFE_DOWNGRADE)])


def test_the_asyncio_client_makes_the_same_calls(kafka: Kafka, filled: str) -> None:
    place = TopicPartition(filled, 0)

    async def main() -> None:
        async with AsyncAdmin(kafka.bootstrap) as admin:
            found = await asyncio.gather(
                admin.elect_leaders(ElectionType.PREFERRED, [place]),
                admin.list_partition_reassignments([place]),
            )
            assert found == [{place: False}, {}]
            assert (await admin.describe_metadata_quorum()).high_watermark > 0

    asyncio.run(main())
