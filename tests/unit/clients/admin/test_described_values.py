"""What responses of brokers become: unknown values are None, and zero is a value."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.clients import ConfigResource, ConfigResourceType, NewTopic, TopicPartition
from pyk.clients.admin import cluster as clusters
from pyk.clients.admin import (
    configs,
    features,
    quorums,
    raft_voters,
    replica_places,
    topic_descriptions,
    topic_listings,
    topics,
)
from pyk.clients.admin.replica_places import ReplicaLogDir, TopicPartitionReplica
from pyk.clients.errors import (
    ClusterAuthorizationFailedError,
    InvalidConfigError,
    KafkaStorageError,
    TopicAuthorizationFailedError,
)
from pyk.protocol.acls import AclOperation
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import api_versions as versions
from pyk.protocol.messages import create_topics as creations
from pyk.protocol.messages import delete_topics as deletions
from pyk.protocol.messages import describe_cluster as described_clusters
from pyk.protocol.messages import describe_configs as described_configs
from pyk.protocol.messages import describe_log_dirs as log_dirs
from pyk.protocol.messages import describe_quorum as quorum
from pyk.protocol.messages import describe_topic_partitions as page_of
from pyk.protocol.messages import elect_leaders as elections
from pyk.protocol.messages import update_features as updates
from pyk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ORDERS = TopicPartition("orders", 0)
DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
known_or_not = pytest.mark.parametrize(("sent", "told"), [(0, 0), (7, 7), (-1, None)])


# -- topics and the cluster ------------------------------------------------------------------------


@known_or_not
def test_a_leader_and_its_epoch(sent: int, told: int | None) -> None:
    partition = MetadataResponsePartition(leader_id=sent, leader_epoch=sent)
    topic = MetadataResponseTopic(name="orders", partitions=[partition])

    found: Any = topic_descriptions.topic_descriptions(
        MetadataResponse(topics=[topic]), by_id=False
    )

    (described,) = found["orders"].partitions
    assert (described.leader_id, described.leader_epoch) == (told, told)


@pytest.mark.parametrize(("internal", "names"), [(False, {"a"}), (True, {"a", "__b"})])
def test_topics_of_kafka_are_listed_if_they_are_asked_for(internal: bool, names: set[str]) -> None:
    response = MetadataResponse(
        topics=[
            MetadataResponseTopic(name="a"),
            MetadataResponseTopic(name="__b", is_internal=True),
            MetadataResponseTopic(name=None, topic_id=UUID(int=7)),
        ]
    )

    assert set(topic_listings.topic_listings(response, internal=internal)) == names


def test_a_topic_that_was_asked_for_by_id_is_named_by_it_in_its_error() -> None:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic = MetadataResponseTopic(name=None, topic_id=UUID(int=7), error_code=code)

    found = topic_descriptions.topic_descriptions(MetadataResponse(topics=[topic]), by_id=True)

    error: Any = found[UUID(int=7)]
    assert isinstance(error, TopicAuthorizationFailedError)
    assert error.topic == str(UUID(int=7))


@known_or_not
def test_the_size_of_a_new_topic(sent: int, told: int | None) -> None:
    created = creations.CreatableTopicResult(
        name="orders", num_partitions=sent, replication_factor=sent, configs=None
    )
    response = creations.CreateTopicsResponse(topics=[created])

    found: Any = topics.created_topics(response)["orders"]

    assert (found.partitions, found.replication_factor, found.configs) == (told, told, {})


@known_or_not
def test_the_controller_of_a_cluster(sent: int, told: int | None) -> None:
    brokers = [
        described_clusters.DescribeClusterBroker(broker_id=number, is_fenced=number == 2)
        for number in (2, 1)
    ]
    response = described_clusters.DescribeClusterResponse(controller_id=sent, brokers=brokers)

    found = clusters.described_cluster(response)

    assert found.controller_id == told
    assert ([one.node_id for one in found.nodes], found.fenced_node_ids) == ([1, 2], {2})


@known_or_not
def test_the_epoch_of_finalized_features(sent: int, told: int | None) -> None:
    response = versions.ApiVersionsResponse(finalized_features_epoch=sent)

    assert features.described_features(response).finalized_epoch == told


@pytest.mark.parametrize(
    ("by_id", "operations", "version"),
    [(True, True, 12), (True, False, 12), (False, True, 8), (False, False, None)],
)
def test_topics_are_described_by_the_first_version_that_has_all(
    by_id: bool, operations: bool, version: int | None
) -> None:
    found = topic_descriptions.first_version(by_id=by_id, authorized_operations=operations)

    assert found == version


def test_a_request_for_topics_makes_none() -> None:
    request = topic_descriptions.describe_request(["orders"], authorized_operations=False)

    assert not request.allow_auto_topic_creation


def test_the_id_of_a_topic_is_none_where_the_broker_has_no_ids() -> None:
    assert topic_listings.known_id(UUID(int=0)) is None
    assert topic_listings.known_id(UUID(int=7)) == UUID(int=7)


def test_an_assignment_by_hand_decides_how_many_partitions_and_replicas_there_are() -> None:
    given = NewTopic("orders", 3, replication_factor=2, assignments={0: [1, 2]})

    (topic,) = topics.create_topics_request([given], 1000, validate_only=False).topics

    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert [(one.partition_index, one.broker_ids) for one in topic.assignments] == [(0, [1, 2])]


@pytest.mark.parametrize("by_id", [False, True])
def test_a_topic_that_cannot_be_deleted_is_named_in_its_error(by_id: bool) -> None:
    result = deletions.DeletableTopicResult(
        name=None if by_id else "orders",
        topic_id=UUID(int=7),
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    )

    found = topics.deleted_topics(deletions.DeleteTopicsResponse(responses=[result]), by_id=by_id)

    ((key, error),) = found.items()
    assert key == (UUID(int=7) if by_id else "orders")
    assert error is not None
    assert error.topic == str(key)


@pytest.mark.parametrize("with_operations", [False, True])
def test_operations_on_topics_are_told_if_they_were_asked_for(with_operations: bool) -> None:
    pages = topic_descriptions.TopicPages(with_operations)
    bits = 1 << AclOperation.READ
    topic = page_of.DescribeTopicPartitionsResponseTopic(name="a", topic_authorized_operations=bits)
    pages.add([topic])

    found: Any = pages.descriptions()["a"]

    assert found.authorized_operations == ({AclOperation.READ} if with_operations else None)


def test_the_features_of_one_request_share_the_error_of_all() -> None:
    results = [updates.UpdatableFeatureResult(feature="a")]
    refused = updates.UpdateFeaturesResponse(error_code=DENIED, results=results)

    found = features.updated(refused, ["a", "b"])

    assert {type(one) for one in found.values()} == {ClusterAuthorizationFailedError}
    assert set(found) == {"a", "b"}
    assert features.updated(updates.UpdateFeaturesResponse(), ["a"]) == {"a": None}


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "node_id"),
    [
        (ConfigResourceType.BROKER, "5", 5),
        (ConfigResourceType.BROKER_LOGGER, "5", 5),
        (ConfigResourceType.BROKER, "", None),
        (ConfigResourceType.TOPIC, "5", None),
        (ConfigResourceType.GROUP, "5", None),
    ],
)
def test_only_the_settings_of_one_broker_are_those_of_a_node(
    kind: ConfigResourceType, name: str, node_id: int | None
) -> None:
    assert ConfigResource(kind, name).node_id == node_id


@pytest.mark.parametrize(
    ("is_default", "source", "told"), [(True, 0, True), (False, 5, True), (False, 1, False)]
)
def test_a_default_is_known_by_its_source_or_by_its_mark_in_old_versions(
    is_default: bool, source: int, told: bool
) -> None:
    entry = described_configs.DescribeConfigsResourceResult(
        name="a", is_default=is_default, config_source=source
    )
    result = described_configs.DescribeConfigsResult(
        resource_type=2, resource_name="orders", configs=[entry]
    )

    found: Any = configs.described_configs(
        described_configs.DescribeConfigsResponse(results=[result])
    )

    assert found[ConfigResource.topic("orders")]["a"].is_default is told


@pytest.mark.parametrize(
    ("resource", "topic"),
    [(ConfigResource.topic("orders"), "orders"), (ConfigResource.group("g"), None)],
)
def test_only_the_error_of_a_topic_has_a_topic(resource: ConfigResource, topic: str | None) -> None:
    result = described_configs.DescribeConfigsResult(
        resource_type=resource.type,
        resource_name=resource.name,
        error_code=ErrorCode.INVALID_CONFIG,
        error_message="no",
    )
    response = described_configs.DescribeConfigsResponse(results=[result])

    error: Any = configs.described_configs(response)[resource]

    assert isinstance(error, InvalidConfigError)
    assert error.topic == topic


@pytest.mark.parametrize(
    ("documentation", "synonyms", "version"),
    [(True, True, 3), (True, False, 3), (False, True, 1), (False, False, None)],
)
def test_settings_are_described_by_the_first_version_that_has_all(
    documentation: bool, synonyms: bool, version: int | None
) -> None:
    found = configs.first_describe_version(documentation=documentation, synonyms=synonyms)

    assert found == version


# -- the quorum and elections ----------------------------------------------------------------------


def quorum_response(timestamp: int = -1, directory: int = 0, code: int = 0) -> Any:
    voter = quorum.ReplicaState(
        replica_id=1,
        replica_directory_id=UUID(int=directory),
        last_fetch_timestamp=timestamp,
        last_caught_up_timestamp=timestamp,
    )
    partition = quorum.ResponsePartitionData(error_code=code, current_voters=[voter], leader_id=1)
    topic = quorum.ResponseTopicData(topic_name="__cluster_metadata", partitions=[partition])
    return quorum.DescribeQuorumResponse(topics=[topic])


@known_or_not
def test_when_a_voter_has_fetched(sent: int, told: int | None) -> None:
    (voter,) = quorums.described_quorum(quorum_response(sent)).voters

    assert (voter.last_fetch_timestamp, voter.last_caught_up_timestamp) == (told, told)


def test_the_directory_of_a_voter() -> None:
    found = [
        quorums.described_quorum(quorum_response(directory=number)).voters[0].directory_id
        for number in (0, 7)
    ]

    assert found == [None, UUID(int=7)]


@pytest.mark.parametrize(
    "response", [quorum.DescribeQuorumResponse(error_code=DENIED), quorum_response(code=DENIED)]
)
def test_the_error_of_a_quorum_or_of_its_partition_is_raised(response: Any) -> None:
    with pytest.raises(ClusterAuthorizationFailedError):
        quorums.described_quorum(response)


def test_the_error_of_an_election_as_a_whole_counts_where_no_partition_has_one() -> None:
    with pytest.raises(ClusterAuthorizationFailedError):
        quorums.elected(elections.ElectLeadersResponse(error_code=DENIED))

    result = elections.PartitionResult(partition_id=0, error_code=0, error_message=None)
    topic = elections.ReplicaElectionResult(topic="orders", partition_result=[result])
    response = elections.ElectLeadersResponse(error_code=DENIED, replica_election_results=[topic])
    assert quorums.elected(response) == {ORDERS: True}


def test_the_quorum_is_that_of_the_only_metadata_partition() -> None:
    (topic,) = quorums.quorum_request().topics

    assert topic.topic_name == "__cluster_metadata"
    assert [one.partition_index for one in topic.partitions] == [0]


@pytest.mark.parametrize("given", ["host:9093", b"x", 5])
def test_endpoints_of_a_voter_are_a_sequence(given: Any) -> None:
    with pytest.raises(TypeError, match="give a sequence of RaftVoterEndpoint"):
        raft_voters.checked_endpoints(given)


def test_the_lowest_port_of_a_voter_is_one() -> None:
    assert raft_voters.RaftVoterEndpoint("CONTROLLER", "host", 1).port == 1
    with pytest.raises(ValueError, match="must be from 1 to"):
        raft_voters.RaftVoterEndpoint("CONTROLLER", "host", 0)


# -- log directories -------------------------------------------------------------------------------


def test_all_directories_are_asked_for_or_those_of_some_partitions() -> None:
    (topic,) = replica_places.log_dirs_request([ORDERS]).topics or []

    assert (topic.topic, topic.partitions) == ("orders", [0])
    assert replica_places.log_dirs_request().topics is None


def directory(path: str, total: int = -1, code: int = 0, **replica: Any) -> Any:
    partitions = [log_dirs.DescribeLogDirsPartition(**replica)] if replica else []
    topic = log_dirs.DescribeLogDirsTopic(name="orders", partitions=partitions)
    return log_dirs.DescribeLogDirsResult(
        log_dir=path, error_code=code, total_bytes=total, usable_bytes=total, topics=[topic]
    )


@known_or_not
def test_the_bytes_of_a_directory(sent: int, told: int | None) -> None:
    response = log_dirs.DescribeLogDirsResponse(results=[directory("/a", sent)])

    found = replica_places.described_log_dirs(response, 1)["/a"]

    assert (found.total_bytes, found.usable_bytes, found.error) == (told, told, None)


def test_a_directory_that_has_failed_is_among_the_others() -> None:
    failed = directory("/a", code=ErrorCode.KAFKA_STORAGE_ERROR)

    response = log_dirs.DescribeLogDirsResponse(results=[failed, directory("/b")])

    found = replica_places.described_log_dirs(response, 1)
    assert isinstance(found["/a"].error, KafkaStorageError)
    assert found["/b"].error is None


def test_the_error_of_all_directories_is_raised() -> None:
    with pytest.raises(ClusterAuthorizationFailedError):
        replica_places.described_log_dirs(log_dirs.DescribeLogDirsResponse(error_code=DENIED), 1)


def test_a_replica_is_found_in_its_directory_and_in_the_one_it_moves_to() -> None:
    response = log_dirs.DescribeLogDirsResponse(
        results=[
            directory("/a", partition_index=0, offset_lag=0),
            directory("/b", partition_index=0, offset_lag=5, is_future_key=True),
            directory("/c"),
        ]
    )
    directories = replica_places.described_log_dirs(response, 1)

    found = replica_places.log_dir_of(directories, ORDERS)
    other = replica_places.log_dir_of(directories, TopicPartition("orders", 1))

    assert found == ReplicaLogDir("/a", 0, "/b", 5)
    assert other == ReplicaLogDir(None, None)


def test_replicas_are_moved_by_directory_and_topic() -> None:
    replicas = [TopicPartitionReplica("orders", number, 1) for number in range(3)]

    request = replica_places.move_log_dirs_request(
        dict(zip(replicas, ["/a", "/b", "/a"], strict=True))
    )

    moved = {one.path: [(t.name, t.partitions) for t in one.topics] for one in request.dirs}
    assert moved == {"/a": [("orders", [0, 2])], "/b": [("orders", [1])]}
