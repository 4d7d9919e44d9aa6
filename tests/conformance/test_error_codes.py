"""Invalid requests get the error codes that Apache Kafka answers with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import fetch as fetch_messages
from pyk.protocol.messages import incremental_alter_configs as configs
from pyk.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pyk.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pyk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pyk.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pyk.protocol.messages.sync_group import SyncGroupRequest
from pyk.protocol.schema import Message
from support.broker_requests import coordinator_of, produce
from support.brokers import Kafka, make_topic_of_node_0
from support.raw_client import RawClient, batch
from support.record_batches import raw_batch, record

E = ErrorCode
TOPIC, BROKER = 2, 4
Made = Callable[[str], Message]
"""Makes a request, given the name of a topic: two partitions, two records in the first."""


@pytest.fixture(scope="module")
def name(kafka: Kafka) -> str:
    asyncio.run(create_offsets_topic(kafka))
    return make_topic_of_node_0(kafka, "answers", partitions=2)


async def create_offsets_topic(kafka: Kafka) -> None:
    """Request a coordinator: the first such request creates ``__consumer_offsets``."""
    async with RawClient(kafka.bootstrap) as node_0:
        await coordinator_of(node_0, "answers")


async def answer(kafka: Kafka, request: Message, version: int) -> Any:
    """Return the response of node 0, or of the coordinator for a request about a group."""
    async with RawClient(kafka.bootstrap) as node_0:
        group = group_of(request)
        if group is None:
            return await node_0.ask(request, version)
        async with RawClient(await coordinator_of(node_0, group)) as coordinator:
            return await coordinator.ask(request, version)


def group_of(request: Any) -> str | None:
    """Return the group that a request is about, None if it is about none."""
    match request:
        case DescribeGroupsRequest(groups=[group]) | DeleteGroupsRequest(groups_names=[group]):
            return str(group)
        case _:
            return getattr(request, "group_id", "") or None


def codes(message: Any) -> list[ErrorCode]:
    """Return the error codes of a response, in the order of their fields."""
    found = []
    for field in message.fields:
        value = getattr(message, field.name)
        if field.name == "error_code":
            found.append(ErrorCode(value))
        for each in value if isinstance(value, list) else [value]:
            if hasattr(each, "unknown_tagged_fields"):
                found += codes(each)
    return found


def create(
    name: str | None = None,
    partitions: int = 1,
    replication_factor: int = 1,
    assignment: list[list[int]] | None = None,
    **config: str | None,
) -> Made:
    def made(existing: str) -> Message:
        topic = CreatableTopic(
            name=existing if name is None else name,
            num_partitions=partitions if assignment is None else -1,
            replication_factor=replication_factor if assignment is None else -1,
            assignments=[
                CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
                for number, brokers in enumerate(assignment or ())
            ],
            configs=[CreatableTopicConfig(name=k, value=v) for k, v in config.items()],
        )
        return CreateTopicsRequest(topics=[topic], validate_only=True)

    return made


def alter(kind: int, operation: int, config: str, value: str | None, resource: str = "") -> Made:
    def made(topic: str) -> Message:
        change = configs.AlterableConfig(name=config, config_operation=operation, value=value)
        owner = configs.AlterConfigsResource(
            resource_type=kind, resource_name=resource or topic, configs=[change]
        )
        return configs.IncrementalAlterConfigsRequest(resources=[owner], validate_only=True)

    return made


def partitions(count: int, name: str | None = None) -> Made:
    return lambda topic: CreatePartitionsRequest(
        timeout_ms=5000,
        topics=[CreatePartitionsTopic(name=name or topic, count=count, assignments=None)],
    )


def delete(name: str | None = None, topic_id: int = 0) -> Made:
    state = DeleteTopicState(name=name, topic_id=UUID(int=topic_id))
    return lambda _: DeleteTopicsRequest(timeout_ms=5000, topics=[state])


def metadata(name: str | None, topic_id: int = 0) -> Made:
    topic = MetadataRequestTopic(name=name, topic_id=UUID(int=topic_id))
    return lambda _: MetadataRequest(topics=[topic], allow_auto_topic_creation=False)


def fetch(offset: int, *, partition: int = 0, name: str | None = None, **more: Any) -> Made:
    def made(topic: str) -> Message:
        asked = fetch_messages.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=1000, **more
        )
        found = fetch_messages.FetchTopic(topic=name or topic, partitions=[asked])
        return fetch_messages.FetchRequest(min_bytes=1, topics=[found])

    return made


def list_offset(timestamp: int, *, partition: int = 0, epoch: int = -1) -> Made:
    asked = ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch
    )
    return lambda topic: ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])]
    )


def epoch_end(epoch: int, *, partition: int = 0, current: int = -1) -> Made:
    asked = OffsetForLeaderPartition(
        partition=partition, leader_epoch=epoch, current_leader_epoch=current
    )
    return lambda topic: OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=[asked])]
    )


def producers_of(name: str) -> Made:
    return always(DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=[0])]))


def delete_records(*offsets: int, partition: int = 0) -> Made:
    asked = [DeleteRecordsPartition(partition_index=partition, offset=each) for each in offsets]
    return lambda topic: DeleteRecordsRequest(
        timeout_ms=5000, topics=[DeleteRecordsTopic(name=topic, partitions=asked)]
    )


def append(records: bytes, *, partition: int = 0, acks: int = -1, name: str | None = None) -> Made:
    return lambda topic: produce(records, topic=name or topic, partition=partition, acks=acks)


def commit(
    *,
    partition: int = 0,
    group: str = "answers",
    member: str = "",
    generation: int = -1,
    note: str = "",
) -> Made:
    def made(topic: str) -> Message:
        asked = OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=5, committed_metadata=note
        )
        return OffsetCommitRequest(
            group_id=group,
            member_id=member,
            generation_id_or_member_epoch=generation,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=[asked])],
        )

    return made


def join(group: str = "joiners", member: str = "", session_ms: int = 10_000, *names: str) -> Made:
    return lambda _: JoinGroupRequest(
        group_id=group,
        member_id=member,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name=each, metadata=b"") for each in names],
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=10_000,
    )


def always(request: Message) -> Made:
    return lambda _: request


def changed(at: int, data: bytes) -> bytes:
    good = batch(b"one", b"two")
    return good[:at] + data + good[at + len(data) :]


def odd(*deltas: int) -> bytes:
    return raw_batch(b"".join(map(record, deltas)), len(deltas))


CASES: dict[str, tuple[Made, int, list[ErrorCode]]] = {
    # topics
    "create: exists": (create(), 7, [E.TOPIC_ALREADY_EXISTS]),
    "create: dot": (create("."), 7, [E.INVALID_TOPIC_EXCEPTION]),
    "create: empty": (create(""), 7, [E.INVALID_TOPIC_EXCEPTION]),
    "create: slash": (create("a/b"), 7, [E.INVALID_TOPIC_EXCEPTION]),
    "create: too long": (create("x" * 250), 7, [E.INVALID_TOPIC_EXCEPTION]),
    "create: metadata": (create("__cluster_metadata"), 7, [E.INVALID_REQUEST]),
    "create: no partitions": (create("n", 0), 7, [E.INVALID_PARTITIONS]),
    "create: no replicas": (create("n", 1, 0), 7, [E.INVALID_REPLICATION_FACTOR]),
    "create: replicas": (create("n", 1, 32767), 7, [E.INVALID_REPLICATION_FACTOR]),
    "create: huge": (create("n", 2**31 - 1), 7, [E.POLICY_VIOLATION]),
    "create: 10000": (create("n", 10_000), 7, [E.POLICY_VIOLATION]),
    "create: 9999": (create("n", 9_999), 7, [E.NONE]),
    "create: 9999 and a config": (
        create("n", 9_999, **{"retention.ms": "1"}), 7, [E.POLICY_VIOLATION]
    ),
    "create: 5000 twice": (
        lambda _: CreateTopicsRequest(
            topics=[
                CreatableTopic(name=name, num_partitions=5000, replication_factor=1)
                for name in ("n", "m")
            ],
            validate_only=True,
        ),
        7,
        [E.POLICY_VIOLATION, E.POLICY_VIOLATION],
    ),
    "create: unknown config": (create("n", foo="1"), 7, [E.INVALID_CONFIG]),
    "create: bad config": (create("n", **{"retention.ms": "x"}), 7, [E.INVALID_CONFIG]),
    "create: null config": (create("n", **{"retention.ms": None}), 7, [E.INVALID_CONFIG]),
    "create: unknown broker": (create("n", assignment=[[77]]), 7, [E.INVALID_REPLICA_ASSIGNMENT]),
    "create: without replicas": (create("n", assignment=[[]]), 7, [E.INVALID_REPLICA_ASSIGNMENT]),
    "create: twice to one": (create("n", assignment=[[0, 0]]), 7, [E.INVALID_REPLICA_ASSIGNMENT]),
    "create: good": (create("n", assignment=[[0]]), 7, [E.NONE]),
    "partitions: as many": (partitions(2), 3, [E.INVALID_PARTITIONS]),
    "partitions: less": (partitions(1), 3, [E.INVALID_PARTITIONS]),
    "partitions: unknown": (partitions(3, "nope"), 3, [E.UNKNOWN_TOPIC_OR_PARTITION]),
    "delete: unknown": (delete("nope"), 6, [E.UNKNOWN_TOPIC_OR_PARTITION]),
    "delete: unknown id": (delete(topic_id=5), 6, [E.UNKNOWN_TOPIC_ID]),
    "delete: nothing": (delete(), 6, [E.INVALID_REQUEST]),
    "delete: both": (delete("nope", 5), 6, [E.INVALID_REQUEST]),
    "metadata: unknown": (metadata("nope"), 12, [E.UNKNOWN_TOPIC_OR_PARTITION, E.NONE]),
    "metadata: bad": (metadata("b/d"), 12, [E.INVALID_TOPIC_EXCEPTION, E.NONE]),
    "metadata: unknown id": (metadata(None, 5), 12, [E.UNKNOWN_TOPIC_ID, E.NONE]),
    # configurations
    "alter: unknown": (alter(TOPIC, 0, "foo", "1"), 1, [E.INVALID_CONFIG]),
    "alter: bad": (alter(TOPIC, 0, "retention.ms", "x"), 1, [E.INVALID_CONFIG]),
    "alter: null": (alter(TOPIC, 0, "retention.ms", None), 1, [E.INVALID_REQUEST]),
    "alter: append": (alter(TOPIC, 2, "retention.ms", "1"), 1, [E.INVALID_CONFIG]),
    "alter: append to list": (alter(TOPIC, 2, "cleanup.policy", "compact"), 1, [E.NONE]),
    "alter: no topic": (
        alter(TOPIC, 0, "retention.ms", "1", "nope"), 1, [E.UNKNOWN_TOPIC_OR_PARTITION]
    ),
    "alter: unknown of a broker": (alter(BROKER, 0, "foo.bar", "1", "0"), 1, [E.NONE]),
    "alter: topic's name at a broker": (alter(BROKER, 0, "retention.ms", "1", "0"), 1, [E.NONE]),
    "alter: append to unknown": (alter(BROKER, 2, "foo.bar", "1", "0"), 1, [E.INVALID_CONFIG]),
    "alter: delete unknown": (alter(BROKER, 1, "foo.bar", None, "0"), 1, [E.NONE]),
    "alter: delete read-only": (alter(BROKER, 1, "num.partitions", None, "0"), 1, [E.NONE]),
    "alter: threads": (alter(BROKER, 0, "log.cleaner.threads", "2", "0"), 1, [E.NONE]),
    "alter: bad of a broker": (
        alter(BROKER, 0, "max.connections", "-1", "0"), 1, [E.INVALID_REQUEST]
    ),
    "alter: in sync at a broker": (
        alter(BROKER, 0, "min.insync.replicas", "2", "0"), 1, [E.INVALID_CONFIG]
    ),
    "alter: advertised": (
        alter(BROKER, 0, "advertised.listeners", "PLAINTEXT://x:1", "0"), 1, [E.INVALID_REQUEST]
    ),
    "alter: read-only": (alter(BROKER, 0, "num.partitions", "2", "0"), 1, [E.INVALID_REQUEST]),
    "alter: other broker": (alter(BROKER, 0, "log.retention.ms", "2", "9"), 1, [E.INVALID_REQUEST]),
    "alter: no broker": (alter(BROKER, 0, "log.retention.ms", "2", "x"), 1, [E.INVALID_REQUEST]),
    # records
    "produce: topic": (append(batch(b"x"), name="nope"), 12, [E.UNKNOWN_TOPIC_OR_PARTITION]),
    "produce: partition": (append(batch(b"x"), partition=9), 12, [E.UNKNOWN_TOPIC_OR_PARTITION]),
    "produce: acks": (append(batch(b"x"), acks=2), 12, [E.INVALID_REQUIRED_ACKS]),
    "produce: crc": (append(changed(17, bytes(4))), 12, [E.CORRUPT_MESSAGE]),
    "produce: magic 0": (append(changed(16, b"\0")), 12, [E.INVALID_RECORD]),
    "produce: magic 1": (append(changed(16, b"\1")), 12, [E.INVALID_RECORD]),
    "produce: nothing": (append(b""), 12, [E.INVALID_RECORD]),
    "produce: two": (append(batch(b"x") * 2), 12, [E.INVALID_RECORD]),
    "produce: length": (append(changed(8, b"\xff" * 4)), 12, [E.CORRUPT_MESSAGE]),
    "produce: half": (append(batch(b"x")[:30]), 12, [E.INVALID_RECORD]),
    "produce: large": (append(batch(bytes(2_000_000))), 12, [E.MESSAGE_TOO_LARGE]),
    "produce: keeps its deltas": (append(odd(0, 0, 0)), 12, [E.NONE]),
    "produce: transaction without its id": (
        append(batch(b"x", is_transactional=True)), 12, [E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    ),
    "produce: transaction of another": (
        append(
            batch(b"x", is_transactional=True, producer_id=7, producer_epoch=0, base_sequence=0)
        ),
        12,
        [E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED],
    ),
    "produce: internal": (
        append(batch(b"x"), name="__consumer_offsets"), 12, [E.INVALID_TOPIC_EXCEPTION]
    ),
    "fetch: beyond": (fetch(99), 12, [E.NONE, E.OFFSET_OUT_OF_RANGE]),
    "fetch: negative": (fetch(-1), 12, [E.NONE, E.OFFSET_OUT_OF_RANGE]),
    "fetch: topic": (fetch(0, name="nope"), 12, [E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION]),
    "fetch: partition": (fetch(0, partition=9), 12, [E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION]),
    "fetch: epoch": (fetch(0, current_leader_epoch=99), 12, [E.NONE, E.UNKNOWN_LEADER_EPOCH]),
    "fetch: fetched epoch": (fetch(0, last_fetched_epoch=99), 12, [E.NONE, E.OFFSET_OUT_OF_RANGE]),
    "fetch: session": (
        always(fetch_messages.FetchRequest(session_id=12345, session_epoch=4)),
        12,
        [E.FETCH_SESSION_ID_NOT_FOUND],
    ),
    "offsets: partition": (list_offset(-1, partition=9), 9, [E.UNKNOWN_TOPIC_OR_PARTITION]),
    "offsets: epoch": (list_offset(-1, epoch=99), 9, [E.UNKNOWN_LEADER_EPOCH]),
    "offsets: largest before 7": (list_offset(-3), 6, [E.UNSUPPORTED_VERSION]),
    "offsets: local before 8": (list_offset(-4), 7, [E.UNSUPPORTED_VERSION]),
    "offsets: no such time": (list_offset(-7), 9, [E.UNSUPPORTED_VERSION]),
    "epoch: partition": (epoch_end(0, partition=9), 4, [E.UNKNOWN_TOPIC_OR_PARTITION]),
    "epoch: current": (epoch_end(0, current=99), 4, [E.UNKNOWN_LEADER_EPOCH]),
    "delete records: beyond": (delete_records(99), 2, [E.OFFSET_OUT_OF_RANGE]),
    "delete records: negative": (delete_records(-2), 2, [E.OFFSET_OUT_OF_RANGE]),
    "delete records: the last counts": (delete_records(1, 99), 2, [E.OFFSET_OUT_OF_RANGE]),
    "delete records: none": (delete_records(), 2, []),
    "delete records: partition": (
        delete_records(0, partition=9), 2, [E.UNKNOWN_TOPIC_OR_PARTITION]
    ),
    "producers: partition": (producers_of("nope"), 0, [E.UNKNOWN_TOPIC_OR_PARTITION]),
    "producers: name": (producers_of("two words"), 0, [E.INVALID_TOPIC_EXCEPTION]),
    # groups
    "commit: good": (commit(), 9, [E.NONE]),
    "commit: partition": (commit(partition=9), 9, [E.UNKNOWN_TOPIC_OR_PARTITION]),
    "commit: note": (commit(note="x" * 5000), 9, [E.OFFSET_METADATA_TOO_LARGE]),
    "commit: no group, 8": (
        commit(group="none", member="m", generation=3), 8, [E.ILLEGAL_GENERATION]
    ),
    "commit: no group, 9": (
        commit(group="none", member="m", generation=3), 9, [E.GROUP_ID_NOT_FOUND]
    ),
    "join: no group": (join(""), 9, [E.INVALID_GROUP_ID]),
    "join: session": (join("joiners", "", 1, "range"), 9, [E.INVALID_SESSION_TIMEOUT]),
    "join: no protocol": (join(), 9, [E.INCONSISTENT_GROUP_PROTOCOL]),
    "join: unknown": (join("fresh", "m", 10_000, "range"), 9, [E.UNKNOWN_MEMBER_ID]),
    "join: new": (join("joiners", "", 10_000, "range"), 9, [E.MEMBER_ID_REQUIRED]),
    "sync: no protocol": (
        always(SyncGroupRequest(group_id="none", member_id="m", generation_id=1)),
        5,
        [E.INCONSISTENT_GROUP_PROTOCOL],
    ),
    "sync: no group": (
        always(SyncGroupRequest(group_id="none", member_id="m", generation_id=1)),
        4,
        [E.UNKNOWN_MEMBER_ID],
    ),
    "heartbeat: no group": (
        always(HeartbeatRequest(group_id="none", member_id="m")), 4, [E.UNKNOWN_MEMBER_ID]
    ),
    "leave: no group": (
        always(LeaveGroupRequest(group_id="none", members=[MemberIdentity(member_id="m")])),
        5,
        [E.NONE, E.UNKNOWN_MEMBER_ID],
    ),
    "describe: no group": (
        always(DescribeGroupsRequest(groups=["none"])), 6, [E.GROUP_ID_NOT_FOUND]
    ),
    "describe: no group, 5": (always(DescribeGroupsRequest(groups=["none"])), 5, [E.NONE]),
    "delete: no group": (
        always(DeleteGroupsRequest(groups_names=["none"])), 2, [E.GROUP_ID_NOT_FOUND]
    ),
    "delete offsets: no group": (
        lambda topic: OffsetDeleteRequest(
            group_id="none",
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
                )
            ],
        ),
        0,
        [E.GROUP_ID_NOT_FOUND],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
async def test_invalid_requests_get_the_error_codes_of_apache_kafka(
    kafka: Kafka, name: str, case: str
) -> None:
    made, version, expected = CASES[case]

    assert codes(await answer(kafka, made(name), version)) == expected
