"""Log directories, and reassignments of partitions, as the admin client describes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyk.clients.admin.fields import check_field
from pyk.clients.errors import KafkaError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from pyk.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from pyk.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from pyk.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from pyk.runtime import slotted


@slotted.frozen(order=True)
class TopicPartitionReplica:
    """A replica of a partition: the one on this broker."""

    topic: str
    partition: int
    broker_id: int

    def __attrs_post_init__(self) -> None:
        check_field(self, "topic", str)
        check_field(self, "partition", int)
        check_field(self, "broker_id", int)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on broker {self.broker_id}"


@slotted.frozen
class ReplicaInfo:
    """A replica in a log directory."""

    size: int
    """The bytes of its segments."""
    offset_lag: int
    """The records that it is behind: the high watermark, a future replica the current one."""
    is_future: bool
    """Whether it is on its way to this directory."""


@slotted.frozen
class LogDirDescription:
    """A log directory of a broker."""

    error: KafkaError | None
    """Why the directory is offline, None if it is not."""
    replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None = None
    """The size of its volume, None if the broker does not tell."""
    usable_bytes: int | None = None
    is_cordoned: bool = False
    """Whether it gets no new partitions (KIP-1066)."""


@slotted.frozen
class ReplicaLogDir:
    """Where a replica is, and where it is on its way to."""

    path: str | None
    offset_lag: int | None
    future_path: str | None = None
    future_offset_lag: int | None = None


@slotted.frozen
class PartitionReassignment:
    """A partition whose replicas are moving."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the numbers of the partitions of each topic."""
    numbers: dict[str, list[int]] = {}
    for one in partitions:
        numbers.setdefault(one.topic, []).append(one.partition)
    return numbers


def log_dirs_request(partitions: Iterable[TopicPartition] | None = None) -> DescribeLogDirsRequest:
    if partitions is None:
        return DescribeLogDirsRequest(topics=None)
    return DescribeLogDirsRequest(
        topics=[
            DescribableLogDirTopic(topic=topic, partitions=numbers)
            for topic, numbers in by_topic(partitions).items()
        ]
    )


def described_log_dirs(
    response: DescribeLogDirsResponse, node_id: int
) -> dict[str, LogDirDescription]:
    """Return the directories of a broker by path; raise the error of the whole response."""
    if response.error_code != ErrorCode.NONE:
        raise error_for(response.error_code, node_id=node_id, api_key=response.api_key)
    described: dict[str, LogDirDescription] = {}
    for one in response.results:
        described[one.log_dir] = LogDirDescription(
            error=error_for(one.error_code, node_id=node_id) if one.error_code else None,
            replicas={
                TopicPartition(topic.name, each.partition_index): ReplicaInfo(
                    each.partition_size, each.offset_lag, each.is_future_key
                )
                for topic in one.topics
                for each in topic.partitions
            },
            total_bytes=_told(one.total_bytes),
            usable_bytes=_told(one.usable_bytes),
            is_cordoned=one.is_cordoned,
        )
    return described


def _told(value: int) -> int | None:
    return None if value < 0 else value


def log_dir_of(
    directories: Mapping[str, LogDirDescription], partition: TopicPartition
) -> ReplicaLogDir:
    """Return where a replica is among the directories of its broker."""
    found = ReplicaLogDir(None, None)
    for path, directory in directories.items():
        info = directory.replicas.get(partition)
        if info is None:
            continue
        if info.is_future:
            found = slotted.evolve(found, future_path=path, future_offset_lag=info.offset_lag)
        else:
            found = slotted.evolve(found, path=path, offset_lag=info.offset_lag)
    return found


def move_log_dirs_request(
    paths: Mapping[TopicPartitionReplica, str],
) -> AlterReplicaLogDirsRequest:
    by_path: dict[str, list[TopicPartition]] = {}
    for replica, path in paths.items():
        place = TopicPartition(replica.topic, replica.partition)
        by_path.setdefault(path, []).append(place)
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=topic, partitions=numbers)
                    for topic, numbers in by_topic(some).items()
                ],
            )
            for path, some in by_path.items()
        ]
    )


def moved_log_dirs(
    response: AlterReplicaLogDirsResponse, node_id: int
) -> dict[TopicPartitionReplica, KafkaError | None]:
    """Return the outcome of each replica."""
    return {
        TopicPartitionReplica(topic.topic_name, one.partition_index, node_id): error_for(
            one.error_code,
            topic=topic.topic_name,
            partition=one.partition_index,
            node_id=node_id,
            api_key=response.api_key,
        )
        if one.error_code
        else None
        for topic in response.results
        for one in topic.partitions
    }


def reassignments_request(
    replicas: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool,
    timeout_ms: int,
) -> AlterPartitionReassignmentsRequest:
    topics: dict[str, list[ReassignablePartition]] = {}
    for one, nodes in replicas.items():
        partition = ReassignablePartition(
            partition_index=one.partition, replicas=None if nodes is None else list(nodes)
        )
        topics.setdefault(one.topic, []).append(partition)
    return AlterPartitionReassignmentsRequest(
        timeout_ms=timeout_ms,
        allow_replication_factor_change=allow_replication_factor_change,
        topics=[ReassignableTopic(name=name, partitions=some) for name, some in topics.items()],
    )


def reassigned(
    response: AlterPartitionReassignmentsResponse,
) -> dict[TopicPartition, KafkaError | None]:
    """Return the outcome of each partition; raise the error of the whole response."""
    if response.error_code != ErrorCode.NONE:
        raise error_for(response.error_code, response.error_message, api_key=response.api_key)
    return {
        TopicPartition(topic.name, one.partition_index): error_for(
            one.error_code, one.error_message, topic=topic.name, partition=one.partition_index
        )
        if one.error_code
        else None
        for topic in response.responses
        for one in topic.partitions
    }


def list_reassignments_request(
    partitions: Iterable[TopicPartition] | None, timeout_ms: int
) -> ListPartitionReassignmentsRequest:
    topics = None
    if partitions is not None:
        topics = [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
            for name, numbers in by_topic(partitions).items()
        ]
    return ListPartitionReassignmentsRequest(topics=topics, timeout_ms=timeout_ms)


def listed_reassignments(
    response: ListPartitionReassignmentsResponse,
) -> dict[TopicPartition, PartitionReassignment]:
    """Return the partitions that are moving; raise the error of the whole response."""
    if response.error_code != ErrorCode.NONE:
        raise error_for(response.error_code, response.error_message, api_key=response.api_key)
    return {
        TopicPartition(topic.name, one.partition_index): PartitionReassignment(
            tuple(one.replicas), tuple(one.adding_replicas), tuple(one.removing_replicas)
        )
        for topic in response.topics
        for one in topic.partitions
    }
