"""DescribeLogDirs and AlterReplicaLogDirs: this broker has one directory for its logs."""

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
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.replicas import Replicas

from .context import RequestContext


class LogDirServices(Protocol):
    """The services that requests about log directories use."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def replicas(self) -> Replicas: ...


def describe_log_dirs(
    services: LogDirServices, request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse:
    """Return the directory with the sizes of the partitions in it that are asked about."""
    directory = DescribeLogDirsResult(log_dir=services.replicas.log_dir)
    try:
        volume = services.replicas.volume_bytes()
    except OSError:
        directory.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return DescribeLogDirsResponse(results=[directory])
    if volume is not None:
        directory.total_bytes, directory.usable_bytes = volume
    directory.topics = _topics(services, request)
    return DescribeLogDirsResponse(results=[directory])


def _topics(
    services: LogDirServices, request: DescribeLogDirsRequest
) -> list[DescribeLogDirsTopic]:
    topics = []
    for name, numbers in _asked(services, request):
        partitions = [
            DescribeLogDirsPartition(partition_index=number, partition_size=size)
            for number in numbers
            if (size := _size(services.replicas, name, number)) is not None
        ]
        if partitions:
            topics.append(DescribeLogDirsTopic(name=name, partitions=partitions))
    return topics


def _asked(
    services: LogDirServices, request: DescribeLogDirsRequest
) -> Iterator[tuple[str, Iterable[int]]]:
    if request.topics is None:
        for topic in services.image.topics.values():
            yield topic.name, topic.partitions
        return
    for asked in request.topics:
        yield asked.topic, dict.fromkeys(asked.partitions)


def _size(replicas: Replicas, topic: str, number: int) -> int | None:
    """Return the bytes of a partition's segments, None if it is not here."""
    try:
        return replicas.get(topic, number).log.segments.size
    except ApiError:
        return None


def alter_replica_log_dirs(
    services: LogDirServices, request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponse:
    """Leave partitions in the only directory there is; another one cannot be found."""
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.dirs:
        is_known = directory.path == services.replicas.log_dir
        for topic in directory.topics:
            result = results.setdefault(
                topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name)
            )
            result.partitions += [
                AlterReplicaLogDirPartitionResult(
                    partition_index=number,
                    error_code=_move_error(services.replicas, topic.name, number)
                    if is_known
                    else ErrorCode.LOG_DIR_NOT_FOUND,
                )
                for number in topic.partitions
            ]
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _move_error(replicas: Replicas, topic: str, number: int) -> ErrorCode:
    try:
        replicas.get(topic, number)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE
