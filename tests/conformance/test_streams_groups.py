"""Streams groups (KIP-1071): the same requests get the same answers as from Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from pyk.clients import Admin, NewTopic
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pyk.protocol.messages.list_groups import ListGroupsRequest
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.protocol.messages.streams_group_describe import Member
from pyk.protocol.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from support.broker_requests import join
from support.brokers import Kafka, make_topic
from support.raw_streams_groups import (
    StreamsCoordinator,
    connected_to_coordinator,
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


# -- offsets -------------------------------------------------------------------------------------


async def test_members_commit_with_their_epoch(group_: StreamsCoordinator) -> None:
    await group_.join("a")

    assert await group_.commit("a", 2) is E.NONE
    assert await group_.commit("a", 2, version=8) is E.UNSUPPORTED_VERSION
    assert await group_.commit("a", 3) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("a", 1) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("b", 2) is E.UNKNOWN_MEMBER_ID
    assert await group_.commit("", -1) is E.UNKNOWN_MEMBER_ID
    assert await group_.fetch("a", 2) is E.NONE
    assert await group_.fetch(None, -1) is E.NONE
    assert await group_.fetch("a", 1) is E.STALE_MEMBER_EPOCH
    assert await group_.fetch("b", 2) is E.UNKNOWN_MEMBER_ID


async def test_an_older_epoch_is_good_for_tasks_that_were_had_since(
    group_: StreamsCoordinator,
) -> None:
    await group_.join("a")
    await group_.join("b")
    await group_.beat("a", 2, **owning(ALL))
    assert await group_.commit("a", 2, partition=2) is E.NONE
    answer = await group_.beat("a", 2, **owning({"0": [0, 1]}))
    assert answer.member_epoch == 3

    assert await group_.commit("a", 2, partition=0) is E.NONE
    assert await group_.commit("a", 1, partition=0) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("a", 2, partition=2) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("a", 2, topic=group_.store) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("a", 3, partition=2, topic=group_.store) is E.NONE


async def test_anybody_may_commit_to_an_empty_group(group_: StreamsCoordinator) -> None:
    await group_.join("a")
    await group_.beat("a", -1)

    assert await group_.commit("", -1, version=8) is E.NONE
    assert await group_.commit("a", 4) is E.UNKNOWN_MEMBER_ID


async def test_offsets_of_topics_that_tasks_read_are_not_deleted(
    group_: StreamsCoordinator,
) -> None:
    await group_.join("a")
    await group_.commit("a", 2)

    async def delete(topic: str) -> E:
        request = OffsetDeleteRequest(
            group_id=group_.group,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
                )
            ],
        )
        answer = await group_.client.ask(request, 0)
        assert not answer.error_code
        return E(answer.topics[0].partitions[0].error_code)

    assert await delete(group_.topic) is E.GROUP_SUBSCRIBED_TO_TOPIC
    assert await delete(group_.store) is E.NONE
    await group_.beat("a", -1)
    assert await delete(group_.topic) is E.NONE


# -- groups of other types -----------------------------------------------------------------------


async def test_a_streams_group_is_no_other(group_: StreamsCoordinator) -> None:
    await group_.join("a")
    ask, name = group_.client.ask, group_.group

    (described,) = (await ask(ConsumerGroupDescribeRequest(group_ids=[name]), 1)).groups
    assert (described.error_code, described.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {name} is not a consumer group.",
    )
    (described,) = (await ask(DescribeGroupsRequest(groups=[name]), 6)).groups
    assert (described.error_code, described.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {name} is not a classic group.",
    )
    consumer = ConsumerGroupHeartbeatRequest(
        group_id=name,
        member_id="x",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[group_.topic],
        topic_partitions=[],
    )
    answer = await ask(consumer, 1)
    assert (answer.error_code, answer.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {name} is not a consumer group.",
    )
    share = ShareGroupHeartbeatRequest(
        group_id=name, member_id="x", member_epoch=0, subscribed_topic_names=[group_.topic]
    )
    assert (await ask(share, 1)).error_code == E.GROUP_ID_NOT_FOUND
    assert (await ask(join(group=name), 5)).error_code == E.INCONSISTENT_GROUP_PROTOCOL
    beat = HeartbeatRequest(group_id=name, member_id="a", generation_id=2)
    assert (await ask(beat, 4)).error_code == E.UNKNOWN_MEMBER_ID
    leave = LeaveGroupRequest(group_id=name, members=[MemberIdentity(member_id="a")])
    left = await ask(leave, 5)
    assert (left.error_code, [each.error_code for each in left.members]) in (
        (E.UNKNOWN_MEMBER_ID, []),
        (E.NONE, [E.UNKNOWN_MEMBER_ID]),
    )


async def test_a_group_of_another_type_is_no_streams_group(group_: StreamsCoordinator) -> None:
    consumer = ConsumerGroupHeartbeatRequest(
        group_id=group_.group,
        member_id="x",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[group_.topic],
        topic_partitions=[],
    )
    await group_.client.ask(consumer, 1)

    answer = await group_.join("a")
    refused = (E.GROUP_ID_NOT_FOUND, f"Group {group_.group} is not a streams group.")
    assert (answer.error_code, answer.error_message) == refused
    described = await group_.describe()
    assert (described.error_code, described.error_message) == refused


async def test_an_empty_classic_group_becomes_a_streams_group(
    group_: StreamsCoordinator,
) -> None:
    assert await group_.commit("", -1, version=8) is E.NONE

    answer = await group_.join("a")

    assert (answer.error_code, named(answer.active_tasks)) == (E.NONE, ALL)
    assert await group_.fetch("a", 2) is E.NONE


async def test_an_empty_streams_group_becomes_a_classic_group(group_: StreamsCoordinator) -> None:
    await group_.join("a")
    await group_.beat("a", -1)

    answer = await group_.client.ask(join(group=group_.group), 5)
    assert answer.error_code == E.MEMBER_ID_REQUIRED
    joined = await group_.client.ask(join(answer.member_id, group=group_.group), 5)

    assert (joined.error_code, joined.leader) == (E.NONE, answer.member_id)
    assert (await group_.join("a")).error_code == E.GROUP_ID_NOT_FOUND


# -- administration ------------------------------------------------------------------------------


async def test_a_group_is_listed_described_and_deleted(group_: StreamsCoordinator) -> None:
    await group_.join(
        "a",
        rack_id="r",
        user_endpoint=Endpoint(host="here", port=9),
        client_tags=[KeyValue(key="zone", value="z")],
    )

    assert await listed(group_) == [("Stable", "streams", "streams")]
    assert await listed(group_, states=["stable"], types=["Streams"]) == [
        ("Stable", "streams", "streams")
    ]
    assert await listed(group_, types=["consumer"]) == []
    described = await group_.describe(include_authorized_operations=True)
    (member,) = described.members
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == (
        "Stable",
        2,
        2,
    )
    assert described.authorized_operations == 0b1101_0100_1000
    assert (member.member_id, member.member_epoch, member.topology_epoch) == ("a", 2, 0)
    assert (member.rack_id, member.instance_id, member.is_classic) == ("r", None, False)
    assert (member.client_id, member.process_id) == ("raw", "process-of-a")
    assert member.client_host == "/127.0.0.1"
    assert member.user_endpoint is not None
    assert (member.user_endpoint.host, member.user_endpoint.port) == ("here", 9)
    assert [(each.key, each.value) for each in member.client_tags] == [("zone", "z")]
    assert named(member.assignment.active_tasks) == ALL
    assert named(member.target_assignment.active_tasks) == ALL
    assert (member.task_offsets, member.task_end_offsets) == ([], [])

    assert await group_.delete() is E.NON_EMPTY_GROUP
    await group_.beat("a", -1)
    assert await listed(group_) == [("Empty", "streams", "streams")]
    assert await group_.delete() is E.NONE
    assert await group_.delete() is E.GROUP_ID_NOT_FOUND
    described = await group_.describe()
    assert (described.error_code, described.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {group_.group} not found.",
    )
    assert (await group_.describe("")).error_code == E.INVALID_GROUP_ID


async def test_a_state_of_two_words_is_filtered_by_another_name(
    group_: StreamsCoordinator,
) -> None:
    await group_.join("a", topology=group_.topology("missing-source"))

    assert await listed(group_, states=["NotReady"]) == []
    assert await listed(group_, states=["not_ready"]) == [("NotReady", "streams", "streams")]


async def listed(
    group: StreamsCoordinator, states: list[str] | None = None, types: list[str] | None = None
) -> list[tuple[str, str, str]]:
    request = ListGroupsRequest(states_filter=states or [], types_filter=types or [])
    answer = await group.client.ask(request, 5)
    return [
        (each.group_state, each.group_type, each.protocol_type)
        for each in answer.groups
        if each.group_id == group.group
    ]


async def test_a_group_may_have_settings_of_its_own(group_: StreamsCoordinator) -> None:
    await group_.apply("streams.num.standby.replicas", "1")
    assert (await group_.join("a")).heartbeat_interval_ms == 5_001

    for name, value, message in (
        ("streams.heartbeat.interval.ms", "1", "group.streams.min.heartbeat.interval.ms"),
        ("streams.heartbeat.interval.ms", "16000", "group.streams.max.heartbeat.interval.ms"),
        ("streams.session.timeout.ms", "44000", "group.streams.min.session.timeout.ms"),
        ("streams.session.timeout.ms", "61000", "group.streams.max.session.timeout.ms"),
        ("streams.num.standby.replicas", "3", "group.streams.max.standby.replicas"),
        ("streams.assignment.interval.ms", "15001", "group.streams.max.assignment.interval.ms"),
    ):
        relation = "less" if ".max." in message else "greater"
        assert await group_.configure(name, value) == (
            E.INVALID_CONFIG,
            f"{name} must be {relation} than or equal to {message}",
        )
    code, _ = await group_.configure("streams.initial.rebalance.delay.ms", "-1")
    assert code is E.INVALID_CONFIG


async def test_a_group_is_the_same_after_its_coordinator_restarts(kafka: Kafka, group: str) -> None:
    async with streams_coordinator(kafka, group) as before:
        topic, store = before.topic, before.store
        await before.join("a", user_endpoint=Endpoint(host="here", port=9))
        await before.join("b")
        await before.beat("a", 2, **owning(ALL))
        described = await before.describe()

    for node in range(kafka.nodes):
        await asyncio.to_thread(kafka.kill_and_restart, node)

    async with connected_to_coordinator(kafka, group) as client:
        after = StreamsCoordinator(client, group, topic, store)
        async with asyncio.timeout(30):
            while (again := await after.describe()).error_code:
                await asyncio.sleep(0.05)
        assert by_id(again.members) == by_id(described.members)
        assert (again.group_state, again.group_epoch) == (
            described.group_state,
            described.group_epoch,
        )
        answer = await after.beat("a", 2, **owning({"0": [0, 1]}))
        assert (answer.error_code, answer.member_epoch) == (E.NONE, 3)
        assert named((await after.beat("b", 3)).active_tasks) == {"0": [2, 3]}


def by_id(members: list[Member]) -> dict[str, Member]:
    return {each.member_id: each for each in members}
