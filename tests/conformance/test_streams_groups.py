"""Streams groups (KIP-1071): the same requests get the same answers as from Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from pyk.clients import Admin, NewTopic
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.list_groups import ListGroupsRequest
from pyk.protocol.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from support.brokers import Kafka, make_topic
from support.raw_streams_groups import (
    StreamsCoordinator,
    named,
    owning,
    statuses,
    streams_coordinator,
)

E = ErrorCode
STALE, MISSING_SOURCES, WRONG_PARTITIONS, MISSING_INTERNAL, SHUTDOWN, DELAYED = range(6)
ALL = {"0": [0, 1, 2, 3]}


@pytest_asyncio.fixture
async def group_(kafka: Kafka, group: str) -> AsyncIterator[StreamsCoordinator]:
    async with streams_coordinator(kafka, group) as coordinator:
        yield coordinator


# -- members -------------------------------------------------------------------------------------


async def test_a_member_hears_of_its_tasks_when_it_joins_and_when_they_change(
    group_: StreamsCoordinator,
) -> None:
    answer = await group_.join("a")
    assert (answer.member_id, answer.member_epoch, statuses(answer)) == ("a", 2, [])
    assert named(answer.active_tasks) == ALL
    assert (answer.standby_tasks, answer.warmup_tasks) == ([], [])
    assert (answer.task_offset_interval_ms, answer.acceptable_recovery_lag_legacy) == (0, 0)

    answer = await group_.beat("a", 2)
    assert (answer.active_tasks, answer.standby_tasks, answer.status) == (None, None, [])

    answer = await group_.beat("a", -1)
    assert (answer.member_id, answer.member_epoch, answer.status) == ("a", -1, [])
    assert answer.heartbeat_interval_ms == 0


async def test_the_first_assignment_waits_for_more_members(group_: StreamsCoordinator) -> None:
    await group_.apply("streams.initial.rebalance.delay.ms", "600")

    answer = await group_.join("a")
    assert statuses(answer) == [
        (DELAYED, "Assignment delayed due to the configured initial rebalance delay.")
    ]
    assert (answer.member_epoch, answer.active_tasks) == (1, [])
    described = await group_.describe()
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == (
        "Assigning",
        2,
        1,
    )
    await group_.join("b")

    async with asyncio.timeout(20):
        while statuses(answer := await group_.beat("a", 1, **owning({}))):
            await asyncio.sleep(0.05)
    assert answer.member_epoch == 3
    assert [len(each) for each in (named(answer.active_tasks) or {}).values()] == [2]


async def test_assignments_are_some_time_apart(group_: StreamsCoordinator) -> None:
    await group_.apply("streams.assignment.interval.ms", "10000")
    await group_.join("a")

    answer = await group_.join("b")

    assert statuses(answer) == [
        (DELAYED, "Assignment delayed due to the configured assignment interval.")
    ]
    assert (answer.member_epoch, named(answer.active_tasks)) == (2, {})


async def test_all_are_asked_to_shut_down(group_: StreamsCoordinator) -> None:
    asked = (
        SHUTDOWN,
        (
            "Streams group member a encountered a fatal error and requested a shutdown for the "
            "entire application."
        ),
    )
    await group_.join("a")
    await group_.join("b")

    assert statuses(await group_.beat("a", 2, shutdown_application=True)) == [asked]
    assert statuses(await group_.beat("b", 3)) == [asked]
    await group_.beat("a", -1)
    assert statuses(await group_.join("c")) == [asked]
    await group_.beat("b", -1)
    await group_.beat("c", -1)
    assert statuses(await group_.join("d")) == []


INVALID: list[tuple[int, dict[str, Any], str]] = [
    (0, {"instance_id": "i"}, "Static membership is not yet supported."),
    (0, {"task_offsets": []}, "TaskOffsets are not supported yet."),
    (0, {"task_end_offsets": []}, "TaskEndOffsets are not supported yet."),
    (
        0,
        {"warmup_tasks": [TaskIds(subtopology_id="0", partitions=[0])]},
        "WarmupTasks are not supported yet.",
    ),
    (0, {"member_id": ""}, "MemberId can't be empty."),
    (0, {"rack_id": " "}, "RackId can't be empty."),
    (0, {"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
    (0, {"active_tasks": None}, "ActiveTasks must be empty when (re-)joining."),
    (0, owning({"0": [1]}), "ActiveTasks must be empty when (re-)joining."),
    (0, {"standby_tasks": None}, "StandbyTasks must be empty when (re-)joining."),
    (0, {"warmup_tasks": None}, "WarmupTasks must be empty when (re-)joining."),
    (0, {"topology": None}, "Topology must be non-null when (re-)joining."),
    (-2, {"topology": None}, "InstanceId can't be null."),
    (-3, {"topology": None}, "MemberEpoch is -3, but must be greater than or equal to -2."),
    (
        1,
        {"topology": None, "active_tasks": None},
        "If one task-type is non-null, all must be non-null.",
    ),
    (1, {}, "Topology can only be provided when (re-)joining."),
    (-1, {}, "Topology can only be provided when (re-)joining."),
]


async def test_requests_that_make_no_sense_are_refused(group_: StreamsCoordinator) -> None:
    for epoch, more, message in INVALID:
        answer = await group_.join("a", **{"member_epoch": epoch, **more})
        assert (answer.error_code, answer.error_message) == (E.INVALID_REQUEST, message)
        assert (answer.member_id, answer.status) == ("", [])


async def test_members_and_groups_that_do_not_exist(group_: StreamsCoordinator) -> None:
    async def refusal(member: str, epoch: int) -> tuple[int, str | None]:
        answer = await group_.beat(member, epoch)
        return answer.error_code, answer.error_message

    name = group_.group
    assert await refusal("a", 1) == (E.GROUP_ID_NOT_FOUND, f"Streams group {name} not found.")
    assert await refusal("a", -1) == (E.GROUP_ID_NOT_FOUND, f"Group {name} not found.")
    await group_.join("a")
    unknown = (E.UNKNOWN_MEMBER_ID, f"Member b is not a member of group {name}.")
    assert await refusal("b", 1) == unknown
    assert await refusal("b", -1) == unknown
    assert await refusal("a", 3) == (
        E.FENCED_MEMBER_EPOCH,
        (
            "The streams group member has a greater member epoch (3) than the one known by the "
            "group coordinator (2). The member must abandon all its partitions and rejoin."
        ),
    )


# -- topologies and topics -----------------------------------------------------------------------


async def test_a_topology_cannot_change(group_: StreamsCoordinator) -> None:
    await group_.join("a", topology=group_.topology(epoch=3))

    for topology in (group_.topology(epoch=4), group_.topology(epoch=3, store="other")):
        answer = await group_.join("b", topology=topology)
        assert (answer.error_code, answer.error_message) == (
            E.INVALID_REQUEST,
            "Topology updates are not supported yet.",
        )
    answer = await group_.join("b", topology=group_.topology(epoch=2, store="other"))
    assert statuses(answer) == [
        (STALE, "The member's topology epoch 2 is behind the group's topology epoch 3.")
    ]


async def test_tasks_wait_for_source_topics(kafka: Kafka, group_: StreamsCoordinator) -> None:
    sources = [f"{group_.topic}-{letter}" for letter in "dcba"]
    answer = await group_.join("a", topology=group_.topology(*sources))

    named_ones = ", ".join(sorted(sources)[:3])
    assert statuses(answer) == [
        (MISSING_SOURCES, f"Source topics {named_ones} and 1 additional topics are missing.")
    ]
    assert (answer.member_epoch, answer.active_tasks) == (2, [])
    described = await group_.describe()
    assert (described.group_state, described.assignment_epoch) == ("NotReady", 2)
    listed = await group_.client.ask(ListGroupsRequest(types_filter=["streams"]), 5)
    assert (group_.group, "NotReady") in {(one.group_id, one.group_state) for one in listed.groups}

    await asyncio.to_thread(create_topics, kafka, *(NewTopic(each, 4) for each in sources))
    async with asyncio.timeout(20):
        while statuses(answer := await group_.beat("a", 2, **owning({}))):
            await asyncio.sleep(0.05)
    assert named(answer.active_tasks) == ALL


def create_topics(kafka: Kafka, *topics: NewTopic) -> None:
    with Admin(kafka.bootstrap) as admin:
        admin.create_topics(topics)


async def test_internal_topics_are_created(kafka: Kafka, group_: StreamsCoordinator) -> None:
    store, words = f"{group_.group}-changelog", f"{group_.group}-repartition"
    topology = Topology(
        subtopologies=[
            Subtopology(
                subtopology_id="0",
                source_topics=[group_.topic],
                repartition_sink_topics=[words],
            ),
            Subtopology(
                subtopology_id="1",
                repartition_source_topics=[TopicInfo(name=words)],
                state_changelog_topics=[
                    TopicInfo(
                        name=store,
                        topic_configs=[KeyValue(key="cleanup.policy", value="compact")],
                    )
                ],
            ),
        ]
    )
    answer = await group_.join("a", topology=topology)
    ((code, detail),) = statuses(answer)
    assert code == MISSING_INTERNAL
    assert detail.startswith("Internal topics are missing: ")
    assert sorted(detail.split(": ")[1].split(", ")) == sorted([store, words])

    async with asyncio.timeout(20):
        while statuses(answer := await group_.beat("a", 2, **owning({}))):
            await asyncio.sleep(0.05)

    assert named(answer.active_tasks) == {"0": [0, 1, 2, 3], "1": [0, 1, 2, 3]}
    described = await group_.describe()
    assert described.topology is not None
    first, second = described.topology.subtopologies or ()
    assert (first.source_topics, first.repartition_sink_topics) == ([group_.topic], [words])
    (internal,) = second.repartition_source_topics
    assert (internal.name, internal.partitions, internal.replication_factor) == (words, 4, 0)
    (changelog,) = second.state_changelog_topics
    assert (changelog.name, changelog.partitions) == (store, 4)
    assert [(each.key, each.value) for each in changelog.topic_configs] == [
        ("cleanup.policy", "compact")
    ]
    assert await asyncio.to_thread(cleanup_policy, kafka, store) == "compact"


def cleanup_policy(kafka: Kafka, topic: str) -> str | None:
    from pyk.clients import ConfigResource

    with Admin(kafka.bootstrap) as admin:
        resource = ConfigResource.topic(topic)
        return admin.describe_configs([resource])[resource]["cleanup.policy"].value


async def test_a_member_is_told_why_an_internal_topic_cannot_be_created(
    group_: StreamsCoordinator,
) -> None:
    store = TopicInfo(
        name=f"{group_.group}-changelog",
        topic_configs=[KeyValue(key="cleanup.policy", value="never")],
    )
    topology = group_.topology(state_changelog_topics=[store])
    await group_.join("a", topology=topology)

    async with asyncio.timeout(20):
        while True:
            ((code, detail),) = statuses(await group_.beat("a", 2, **owning({})))
            assert code == MISSING_INTERNAL
            if "Creation failed" in detail:
                break
            await asyncio.sleep(0.05)

    assert detail.startswith(
        f"Internal topics are missing: {store.name}; Creation failed: {store.name} ("
    )
    assert detail.endswith(").")


async def test_topics_with_the_wrong_number_of_partitions(
    kafka: Kafka, group_: StreamsCoordinator
) -> None:
    other = await asyncio.to_thread(make_topic, kafka, "other", partitions=3)
    await group_.see(group_.topic, other)
    joined = group_.topology(
        group_.topic, other, copartition_groups=[CopartitionGroup(source_topics=[0, 1])]
    )

    answer = await group_.join("a", topology=joined)
    ((code, detail),) = statuses(answer)
    assert code == WRONG_PARTITIONS
    assert detail == (
        "Following topics do not have the same number of partitions: "
        f"[{{{other}=3, {group_.topic}=4}}]"
    )
    assert (await group_.describe()).group_state == "NotReady"


async def test_an_internal_topic_that_exists_with_other_partitions(
    kafka: Kafka, group_: StreamsCoordinator
) -> None:
    other = await asyncio.to_thread(make_topic, kafka, "other", partitions=3)
    await group_.see(group_.topic, other)

    answer = await group_.join("a", topology=group_.topology(store=other))

    assert statuses(answer) == [
        (
            WRONG_PARTITIONS,
            f"Existing topic {other} has different number of partitions: expected 4, found 3",
        )
    ]


NO_SENSE: list[tuple[dict[str, Any], str]] = [
    (
        {"source_topics": ["__consumer_offsets", "__transaction_state"]},
        (
            "Use of Kafka internal topics __consumer_offsets,__transaction_state in a Kafka "
            "Streams topology is prohibited."
        ),
    ),
    (
        {"source_topics": ["text"], "repartition_sink_topics": ["a b"]},
        "Topic names a b are not valid topic names.",
    ),
    (
        {"source_topics": ["text"], "state_changelog_topics": [TopicInfo(name="x", partitions=2)]},
        "Changelog topic x must have an undefined partition count, but it is set to 2.",
    ),
    ({}, "No source topics found for subtopology 0"),
    (
        {"repartition_source_topics": [TopicInfo(name="words")]},
        (
            "Failed to compute number of partitions for all repartition topics, because a "
            "repartition source topic is never used as a sink topic."
        ),
    ),
    (
        {
            "repartition_source_topics": [TopicInfo(name="words")],
            "repartition_sink_topics": ["words"],
        },
        (
            "Failed to compute number of partitions for all repartition topics. There may be loops "
            "in the topology that cannot be resolved."
        ),
    ),
]


async def test_topologies_that_make_no_sense_are_refused(group_: StreamsCoordinator) -> None:
    for subtopology, message in NO_SENSE:
        topology = Topology(subtopologies=[Subtopology(subtopology_id="0", **subtopology)])

        answer = await group_.join("a", topology=topology)

        assert (answer.error_code, answer.error_message) == (E.STREAMS_INVALID_TOPOLOGY, message)


async def test_patterns_of_source_topics_are_refused(group_: StreamsCoordinator) -> None:
    subtopology = Subtopology(subtopology_id="0", source_topic_regex=["text.*"])

    answer = await group_.join("a", topology=Topology(subtopologies=[subtopology]))

    assert (answer.error_code, answer.error_message) == (
        E.INVALID_REQUEST,
        "Regular expressions for source topics are not supported yet.",
    )


async def test_topologies_that_kafka_stumbles_over(group_: StreamsCoordinator) -> None:
    source = {"subtopology_id": "0", "source_topics": [group_.topic]}
    wrong_position = Subtopology(**source, copartition_groups=[CopartitionGroup(source_topics=[1])])
    for topology in (
        Topology(subtopologies=[wrong_position]),
        Topology(epoch=-1, subtopologies=[Subtopology(**source)]),
        Topology(subtopologies=[Subtopology(**source), Subtopology(**source)]),
    ):
        answer = await group_.join("a", topology=topology)

        assert (answer.error_code, answer.error_message) == (E.UNKNOWN_SERVER_ERROR, None)


async def test_tasks_that_the_topology_does_not_have_are_refused(
    group_: StreamsCoordinator,
) -> None:
    await group_.join("a")

    async def refusal(**active: list[int]) -> str | None:
        owned = {name.removeprefix("_"): numbers for name, numbers in active.items()}
        answer = await group_.beat("a", 2, **owning(owned))
        assert answer.error_code == E.INVALID_REQUEST
        return answer.error_message

    assert await refusal(_1=[0]) == "Subtopology 1 does not exist in the topology."
    assert await refusal(_0=[4]) == (
        "Task 4 for subtopology 0 is invalid. Number of tasks for this subtopology: 4"
    )


# -- endpoints -----------------------------------------------------------------------------------


async def test_members_hear_where_stores_can_be_queried(group_: StreamsCoordinator) -> None:
    here = Endpoint(host="here", port=1)
    answer = await group_.join("a", user_endpoint=here)
    assert answer.endpoint_information_epoch == 0
    (told,) = answer.partitions_by_user_endpoint or ()
    assert (told.user_endpoint, told.standby_partitions) == (here, [])
    assert [(one.topic, one.partitions) for one in told.active_partitions] == [
        (group_.topic, [0, 1, 2, 3])
    ]

    answer = await group_.beat("a", 2)
    assert (answer.endpoint_information_epoch, answer.partitions_by_user_endpoint) == (0, None)

    answer = await group_.join("a", user_endpoint=here)
    assert answer.endpoint_information_epoch == 1
    answer = await group_.beat("a", 2, endpoint_information_epoch=1)
    assert (answer.endpoint_information_epoch, answer.partitions_by_user_endpoint) == (1, None)
