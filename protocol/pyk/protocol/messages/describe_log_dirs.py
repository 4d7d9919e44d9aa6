"""DescribeLogDirs: what lies on the disks of a broker (KIP-113)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)


@struct
class DescribableLogDirTopic(Struct):
    """Partitions of one topic to look for."""

    topic: str = string()
    partitions: list[int] = array(int32)


@request(ApiKey.DESCRIBE_LOG_DIRS, versions="0-5", flexible="2+")
class DescribeLogDirsRequest(Message):
    """Ask a broker for its log directories and the replicas in them."""

    topics: list[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, nullable="0+")
    """None for all topics."""


@struct
class DescribeLogDirsPartition(Struct):
    """A replica, or the copy that is to replace it."""

    partition_index: int = int32()
    partition_size: int = int64()
    """In bytes."""
    offset_lag: int = int64()
    """How many offsets it is behind: a replica behind the high watermark, a copy behind the
    replica."""
    is_future_key: bool = boolean()
    """It is the copy that AlterReplicaLogDirs has asked for."""


@struct
class DescribeLogDirsTopic(Struct):
    """Replicas of one topic."""

    name: str = string()
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


@struct
class DescribeLogDirsResult(Struct):
    """A log directory."""

    error_code: int = int16()
    """KAFKA_STORAGE_ERROR if the directory has failed."""
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = int64(versions="4+", default=-1, ignorable=True)
    """Of the file system, as the next field (KIP-827); -1 unknown."""
    usable_bytes: int = int64(versions="4+", default=-1, ignorable=True)
    is_cordoned: bool = boolean(versions="5+", ignorable=True)
    """It takes no new partitions (KIP-1066)."""


@response(ApiKey.DESCRIBE_LOG_DIRS, versions="0-5", flexible="2+")
class DescribeLogDirsResponse(Message):
    """Describe log directories."""

    throttle_time_ms: int = int32()
    error_code: int = int16(versions="3+", ignorable=True)
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult)
