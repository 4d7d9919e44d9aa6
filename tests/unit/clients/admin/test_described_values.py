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
    groups,
    quorums,
    replica_places,
    share_groups,
    streams_groups,
    topic_descriptions,
    topics,
    transactions,
)
from pyk.clients.admin.replica_places import ReplicaLogDir, TopicPartitionReplica
from pyk.clients.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidConfigError,
    KafkaStorageError,
    TopicAuthorizationFailedError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import api_versions as versions
from pyk.protocol.messages import consumer_protocol as consumer
from pyk.protocol.messages import create_topics as creations
from pyk.protocol.messages import describe_cluster as described_clusters
from pyk.protocol.messages import describe_configs as described_configs
from pyk.protocol.messages import describe_groups as classic
from pyk.protocol.messages import describe_log_dirs as log_dirs
from pyk.protocol.messages import describe_producers as producers
from pyk.protocol.messages import describe_quorum as quorum
from pyk.protocol.messages import describe_transactions as described_transactions
from pyk.protocol.messages import elect_leaders as elections
from pyk.protocol.messages import share_group_describe as shares
from pyk.protocol.messages import streams_group_describe as streams
from pyk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from pyk.protocol.persisted import encode_versioned

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

    assert set(topic_descriptions.topic_listings(response, internal=internal)) == names


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
    assert topics.known_id(UUID(int=0)) is None
    assert topics.known_id(UUID(int=7)) == UUID(int=7)


def test_an_assignment_by_hand_decides_how_many_partitions_and_replicas_there_are() -> None:
    given = NewTopic("orders", 3, replication_factor=2, assignments={0: [1, 2]})

    (topic,) = topics.create_topics_request([given], 1000, validate_only=False).topics

    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert [(one.partition_index, one.broker_ids) for one in topic.assignments] == [(0, [1, 2])]


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


# -- log directories -------------------------------------------------------------------------------


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


# -- groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("types", "version", "sent"),
    [
        (["classic"], 4, []),
        (["Classic", "share"], 4, []),
        (["classic"], 5, ["classic"]),
        (["share"], 4, ["share"]),
        ([], 4, []),
    ],
)
def test_brokers_before_types_list_their_classic_groups(
    types: list[str], version: int, sent: list[str]
) -> None:
    assert groups.list_request([], types, version).types_filter == sent


@pytest.mark.parametrize(
    ("states", "types", "version"),
    [
        ([], [], None),
        (["Stable"], [], 4),
        ([], ["classic"], None),
        (["Stable"], ["classic"], 4),
        ([], ["share"], 5),
        (["Stable"], ["share"], 5),
    ],
)
def test_groups_are_listed_by_the_first_version_with_the_filters(
    states: list[str], types: list[str], version: int | None
) -> None:
    assert groups.first_list_version(states, types) == version


def member_of(protocol_type: str, assignment: bytes) -> Any:
    member = classic.DescribedGroupMember(member_id="m", member_assignment=assignment)
    group = classic.DescribedGroup(
        group_id="g", group_state="Stable", protocol_type=protocol_type, members=[member]
    )
    response = classic.DescribeGroupsResponse(groups=[group])
    return groups.classic_group(groups.described_groups(response, 1)["g"])


def test_the_assignment_of_a_member_is_read_where_the_protocol_is_that_of_consumers() -> None:
    topic = consumer.TopicPartition(topic="orders", partitions=[0])
    assigned = encode_versioned(consumer.ConsumerProtocolAssignment(assigned_partitions=[topic]), 0)

    found = [member_of(kind, assigned).members[0].assignment for kind in ("consumer", "connect")]

    assert found == [(ORDERS,), ()]


@pytest.mark.parametrize("assignment", [b"", b"\0\0\xff"], ids=["none yet", "of somebody else"])
def test_an_assignment_that_cannot_be_read_is_empty(assignment: bytes) -> None:
    assert member_of("consumer", assignment).members[0].assignment == ()


@pytest.mark.parametrize(("protocol_type", "is_simple"), [("", True), ("consumer", False)])
def test_a_group_that_only_has_offsets_is_simple(protocol_type: str, is_simple: bool) -> None:
    assert member_of(protocol_type, b"").is_simple is is_simple


def test_a_group_that_cannot_be_described_stays_an_error_as_a_classic_one() -> None:
    error = GroupAuthorizationFailedError("no")

    assert groups.classic_group(error) is error


def test_each_share_group_is_described_or_has_its_error() -> None:
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    response = shares.ShareGroupDescribeResponse(
        groups=[
            shares.DescribedGroup(group_id="g", group_state="Stable"),
            shares.DescribedGroup(group_id="secret", error_code=code),
        ]
    )

    found: Any = share_groups.described_share_groups(response, 1)

    assert found["g"].state == "Stable"
    assert isinstance(found["secret"], GroupAuthorizationFailedError)


def test_partitions_of_a_topic_go_into_one_entry() -> None:
    request = share_groups.alter_offsets_request(
        "g", {TopicPartition("orders", number): number + 10 for number in range(2)}
    )

    (topic,) = request.topics
    assert [(one.partition_index, one.start_offset) for one in topic.partitions] == [
        (0, 10),
        (1, 11),
    ]


def streams_group(**fields: Any) -> Any:
    group = streams.DescribedGroup(group_id="g", **fields)
    response = streams.StreamsGroupDescribeResponse(groups=[group])
    return streams_groups.described_streams_groups(response, 1)["g"]


def test_a_streams_group_without_a_topology_has_no_epoch_of_it() -> None:
    found = streams_group(topology=None)

    assert (found.topology_epoch, found.subtopologies) == (None, ())


def test_a_size_that_the_coordinator_of_a_streams_group_does_not_know_is_none() -> None:
    sized = streams.TopicInfo(name="a", partitions=3, replication_factor=2)
    unsized = streams.TopicInfo(name="b", partitions=0, replication_factor=0)
    part = streams.Subtopology(subtopology_id="0", state_changelog_topics=[sized, unsized])

    found = streams_group(topology=streams.Topology(epoch=4, subtopologies=[part]))

    (one,) = found.subtopologies
    sizes = {
        t.name: (t.partitions, t.replication_factor) for t in one.state_changelog_topics.values()
    }
    assert found.topology_epoch == 4
    assert sizes == {"a": (3, 2), "b": (None, None)}


@pytest.mark.parametrize(("endpoint", "told"), [(None, None), (("h", 7), "h:7")])
def test_the_endpoint_of_a_member_of_a_streams_group(endpoint: Any, told: str | None) -> None:
    given = None if endpoint is None else streams.Endpoint(host=endpoint[0], port=endpoint[1])

    (member,) = streams_group(members=[streams.Member(member_id="m", user_endpoint=given)]).members

    assert member.user_endpoint == told


def test_the_error_of_a_streams_group() -> None:
    assert isinstance(
        streams_group(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED),
        GroupAuthorizationFailedError,
    )


# -- transactions ----------------------------------------------------------------------------------


@known_or_not
def test_the_start_of_a_transaction(sent: int, told: int | None) -> None:
    one = described_transactions.TransactionState(
        transactional_id="t", transaction_state="Ongoing", transaction_start_time_ms=sent
    )
    response = described_transactions.DescribeTransactionsResponse(transaction_states=[one])

    found: Any = transactions.described_transactions(response, 1)["t"]

    assert found.transaction_start_time_ms == told


@known_or_not
def test_the_coordinator_epoch_and_the_open_transaction_of_a_producer(
    sent: int, told: int | None
) -> None:
    one = producers.ProducerState(coordinator_epoch=sent, current_txn_start_offset=sent)
    partition = producers.PartitionResponse(
        partition_index=0, error_message=None, active_producers=[one]
    )
    topic = producers.TopicResponse(name="orders", partitions=[partition])

    found: Any = transactions.described_producers(
        producers.DescribeProducersResponse(topics=[topic])
    )

    (state,) = found[ORDERS]
    assert (state.coordinator_epoch, state.current_transaction_start_offset) == (told, told)
