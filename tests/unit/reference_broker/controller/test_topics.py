from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from pyk.protocol.messages.create_partitions import CreatePartitionsAssignment
from pyk.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic
from pyk.protocol.messages.delete_topics import DeleteTopicState
from pyk.reference_broker.controller.image import TOPIC_RESOURCE, PartitionChanged, TopicDeleted
from support.controllers import Controllers, topic


def test_a_topic_is_created_and_lives_through_a_restart() -> None:
    controllers = Controllers()

    (created,) = controllers.create(topic("orders", 3, retention_ms="1000"))
    controllers.restart()

    image = controllers.shard.image.topics["orders"]
    assert created.error_code == ErrorCode.NONE
    assert (created.num_partitions, created.replication_factor) == (3, 1)
    assert image.topic_id == created.topic_id
    assert sorted(image.partitions) == [0, 1, 2]
    assert controllers.shard.image.config(2, "orders") == {"retention.ms": "1000"}


def test_brokers_learn_of_each_partition() -> None:
    controllers = Controllers()
    controllers.create(topic("orders", 2))

    created = [each for each in controllers.changes if isinstance(each, PartitionChanged)]

    assert [str(each.topic_partition) for each in created] == ["orders-0", "orders-1"]
    assert created[0].partition.leader == 0


def test_a_topic_gets_the_default_partitions_and_replicas() -> None:
    (created,) = Controllers().create(topic("orders", -1, -1))

    assert (created.num_partitions, created.replication_factor) == (2, 1)


def test_the_response_has_the_whole_configuration() -> None:
    (created,) = Controllers().create(topic("orders", retention_ms="1000"))

    assert created.configs is not None
    by_name = {config.name: config for config in created.configs}
    assert by_name["retention.ms"].value == "1000"
    assert by_name["cleanup.policy"].value == "delete"


def test_validating_creates_nothing() -> None:
    controllers = Controllers()
    before = len(controllers.log)

    (created,) = controllers.create(topic("orders", 3), validate_only=True)

    assert created.num_partitions == 3
    assert len(controllers.log) == before


NAME_IS_REFUSED = [
    "",
    ".",
    "..",
    "a/b",
    "a\0b",
    "a b ",
    "ünïcode",
    "a\n",
    "../../etc/passwd",
    "x" * 250,
]


@pytest.mark.parametrize("name", NAME_IS_REFUSED)
def test_a_name_that_could_leave_its_directory_is_refused(name: str) -> None:
    (refused,) = Controllers().create(topic(name))

    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["x" * 249, "CON", "...", "a.b-c_D9"])
def test_a_name_of_legal_characters_is_taken(name: str) -> None:
    (created,) = Controllers().create(topic(name))

    assert created.error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("wanted", "error", "text"),
    [
        (topic("old"), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'old' already exists."),
        (
            topic("a_b"),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic 'a_b' collides with existing topic: a.b",
        ),
        (
            topic("__cluster_metadata"),
            ErrorCode.INVALID_REQUEST,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
        (
            topic("new", 0),
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            topic("new", 1, 0),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            topic("new", 1, 3),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 ",
        ),
        (
            topic("new", 2**31 - 1),
            ErrorCode.POLICY_VIOLATION,
            "Excessively large number of partitions per request.",
        ),
        (
            topic("new", retention_ms=None),
            ErrorCode.INVALID_CONFIG,
            "Null value not supported for topic configs: retention.ms",
        ),
        (
            topic("new", retention="1"),
            ErrorCode.INVALID_CONFIG,
            "unknown topic configuration 'retention'",
        ),
        (topic("new", retention_ms="soon"), ErrorCode.INVALID_CONFIG, "retention.ms='soon'"),
        (
            topic("new", assignments=[[0], [7]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes broker 7, but no such broker is registered.",
        ),
        (
            topic("new", assignments=[[0], []]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            topic("new", assignments=[[0, 0]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes the broker 0 more than once.",
        ),
    ],
)
def test_an_invalid_topic_is_refused_in_kafkas_words(
    wanted: CreatableTopic, error: ErrorCode, text: str
) -> None:
    controllers = Controllers()
    controllers.create(topic("old"), topic("a.b"))
    before = len(controllers.log)

    (refused,) = controllers.create(wanted)

    assert refused.error_code == error
    assert (refused.error_message or "").startswith(text)
    assert len(controllers.log) == before


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [([0, 2], "consecutive"), ([1, 2], "consecutive"), ([0, 0], "multiple")],
)
def test_assigned_partitions_have_to_be_numbered_from_0(numbers: list[int], reason: str) -> None:
    wanted = topic("new", assignments=[[0]])
    wanted.assignments = [
        CreatableReplicaAssignment(partition_index=number, broker_ids=[0]) for number in numbers
    ]

    (refused,) = Controllers().create(wanted)

    assert refused.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reason in (refused.error_message or "")


def test_an_assignment_excludes_numbers_of_partitions_and_replicas() -> None:
    wanted = topic("new", assignments=[[0]])
    wanted.num_partitions = 1

    (refused,) = Controllers().create(wanted)

    assert refused.error_code == ErrorCode.INVALID_REQUEST


def test_topics_named_twice_are_refused_once_and_the_rest_is_created() -> None:
    results = Controllers().create(topic("twice"), topic("once"), topic("twice"))

    assert {result.name: result.error_code for result in results} == {
        "twice": ErrorCode.INVALID_REQUEST,
        "once": ErrorCode.NONE,
    }


def test_two_of_one_request_must_not_collide() -> None:
    first, second = Controllers().create(topic("a.b"), topic("a_b"))

    assert first.error_code == ErrorCode.NONE
    assert second.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_request_for_too_many_partitions_is_refused_whole() -> None:
    controllers = Controllers()

    results = controllers.create(*(topic(f"t{number}", 4000) for number in range(3)))

    assert {result.error_code for result in results} == {ErrorCode.POLICY_VIOLATION}
    assert controllers.shard.image.topics == {}


# -- adding partitions --------------------------------------------------------------------------


def test_partitions_are_added_after_those_that_are_there() -> None:
    controllers = Controllers()
    controllers.create(topic("orders", 2))

    added = controllers.add_partitions("orders", 4)

    assert added.error_code == ErrorCode.NONE
    assert sorted(controllers.shard.image.topics["orders"].partitions) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "count", "error", "text"),
    [
        ("nope", 3, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        ("orders", 2, ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
        (
            "orders",
            1,
            ErrorCode.INVALID_PARTITIONS,
            "The topic orders currently has 2 partition(s); 1 would not be an increase.",
        ),
        ("orders", 2**31 - 1, ErrorCode.POLICY_VIOLATION, "Excessively"),
    ],
)
def test_an_invalid_number_of_partitions_is_refused(
    name: str, count: int, error: ErrorCode, text: str
) -> None:
    controllers = Controllers()
    controllers.create(topic("orders", 2))

    refused = controllers.add_partitions(name, count)

    assert refused.error_code == error
    assert (refused.error_message or "").startswith(text)


def test_assignments_of_new_partitions_must_be_as_many() -> None:
    controllers = Controllers()
    controllers.create(topic("orders", 2))

    refused = controllers.add_partitions(
        "orders", 4, assignments=[CreatePartitionsAssignment(broker_ids=[0])]
    )

    assert refused.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


# -- deleting -----------------------------------------------------------------------------------


def test_a_topic_is_deleted_by_name_or_by_id_with_its_configuration() -> None:
    controllers = Controllers()
    controllers.create(topic("one", retention_ms="1"), topic("two"))
    two = controllers.shard.image.topics["two"].topic_id

    first, second = controllers.delete(DeleteTopicState(name="one"), DeleteTopicState(topic_id=two))

    assert first.error_code == second.error_code == ErrorCode.NONE
    assert second.name == "two"
    assert controllers.shard.image.topics == {}
    assert controllers.shard.image.config(TOPIC_RESOURCE, "one") == {}
    assert sum(isinstance(change, TopicDeleted) for change in controllers.changes) == 2
    controllers.restart()
    assert controllers.shard.image.topics == {}


def test_a_deletion_names_one_topic_that_exists_once() -> None:
    controllers = Controllers()
    controllers.create(topic("one"))
    one = controllers.shard.image.topics["one"].topic_id

    results = controllers.delete(
        DeleteTopicState(name="nope"),
        DeleteTopicState(name="one", topic_id=one),
        DeleteTopicState(),
        DeleteTopicState(name="twice"),
        DeleteTopicState(name="twice"),
    )

    assert [result.error_code for result in results] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    assert "one" in controllers.shard.image.topics


def test_a_topic_of_the_same_name_is_another_topic() -> None:
    controllers = Controllers()
    (first,) = controllers.create(topic("orders"))
    controllers.delete(DeleteTopicState(name="orders"))

    (second,) = controllers.create(topic("orders"))

    assert second.error_code == ErrorCode.NONE
    assert first.topic_id != second.topic_id


def test_producer_ids_are_given_out_in_blocks_and_never_twice() -> None:
    controllers = Controllers()

    request = AllocateProducerIdsRequest(broker_id=0, broker_epoch=0)
    first = controllers.ask(request)
    controllers.restart()
    second = controllers.ask(request)

    assert (first.producer_id_start, first.producer_id_len) == (0, 1000)
    assert (second.producer_id_start, second.producer_id_len) == (1000, 1000)
