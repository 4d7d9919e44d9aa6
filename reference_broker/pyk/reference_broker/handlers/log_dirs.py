"""DescribeLogDirs and AlterReplicaLogDirs: the directories that logs are in (KIP-113)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from pyk.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.replicas import Replicas

from .context import RequestContext

Sizes = dict[str, list[DescribeLogDirsPartition]]
"""The partitions of each topic."""


class LogDirServices(Protocol):
    """The services that requests about log directories use."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def replicas(self) -> Replicas: ...


def describe_log_dirs(
    services: LogDirServices, request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse:
    """Return each directory with the sizes of the partitions in it that are asked about."""
    found: dict[str, Sizes] = {}
    for name, numbers in _asked(services, request):
        for number in numbers:
            _add_partition(services.replicas, TopicPartition(name, number), found)
    logs = services.replicas.logs
    return DescribeLogDirsResponse(
        results=[_directory(services.replicas, path, found.get(path, {})) for path in logs.log_dirs]
    )


def _directory(replicas: Replicas, path: str, sizes: Sizes) -> DescribeLogDirsResult:
    described = DescribeLogDirsResult(log_dir=path)
    directory = replicas.logs.homes.at(path)
    try:
        volume = None if directory is None else directory.volume_bytes()
    except OSError:
        directory = None
    if directory is None:
        described.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return described
    if volume is not None:
        described.total_bytes, described.usable_bytes = volume
    described.is_cordoned = path in replicas.logs.homes.cordoned
    described.topics = [
        DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in sizes.items()
    ]
    return described


def _asked(
    services: LogDirServices, request: DescribeLogDirsRequest
) -> Iterator[tuple[str, Iterable[int]]]:
    if request.topics is None:
        for topic in services.image.topics.values():
            yield topic.name, topic.partitions
        return
    for asked in request.topics:
        yield asked.topic, dict.fromkeys(asked.partitions)


def _add_partition(replicas: Replicas, name: TopicPartition, found: dict[str, Sizes]) -> None:
    """Add a partition to the directory that it is in, and to the one that it is on its way to."""
    try:
        log = replicas.get(name.topic, name.partition).log
    except ApiError:
        return
    home, move = replicas.logs.homes.of(name), replicas.logs.moves.get(name)
    if home is not None:
        found.setdefault(home.path, {}).setdefault(name.topic, []).append(
            DescribeLogDirsPartition(
                partition_index=name.partition,
                partition_size=log.segments.size,
                offset_lag=max(log.high_watermark - log.log_end_offset, 0),
            )
        )
    if move is not None:
        found.setdefault(move.target.path, {}).setdefault(name.topic, []).append(
            DescribeLogDirsPartition(
                partition_index=name.partition,
                partition_size=0 if move.copy is None else move.copy.segments.size,
                offset_lag=move.offset_lag,
                is_future_key=True,
            )
        )


def alter_replica_log_dirs(
    services: LogDirServices, request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponse:
    """Begin to move partitions to other directories; DescribeLogDirs shows how far they are."""
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            result = results.setdefault(
                topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name)
            )
            result.partitions += [
                AlterReplicaLogDirPartitionResult(
                    partition_index=number,
                    error_code=_move(
                        services.replicas, TopicPartition(topic.name, number), directory.path
                    ),
                )
                for number in topic.partitions
            ]
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _move(replicas: Replicas, name: TopicPartition, path: str) -> ErrorCode:
    try:
        replicas.move(name, path)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE
