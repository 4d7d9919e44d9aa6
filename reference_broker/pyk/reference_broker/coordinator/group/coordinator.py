"""Groups of a broker: which shard has which group, and when shards come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.coordinator.runtime import ShardLog, ShardRuntime
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment, TimerQueue

from .classic_group import ClassicGroup
from .offsets import OffsetConfig
from .rebalance import GroupConfig
from .shard import GroupShard

R = TypeVar("R")
GroupRuntime = ShardRuntime[GroupShard]


def partition_for(group_id: str, partition_count: int) -> int:
    """Return the partition of ``__consumer_offsets`` that a group belongs to, as Kafka does."""
    code = 0
    encoded = group_id.encode("utf-16-be", "surrogatepass")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF  # String.hashCode()
    return (code & 0x7FFFFFFF) % partition_count


class GroupCoordinator:
    """The shards of this broker, one for each partition of ``__consumer_offsets`` it leads."""

    def __init__(
        self,
        config: BrokerConfig,
        timers: TimerQueue,
        moment: Callable[[], Moment],
        new_uuid: Callable[[], UUID],
    ) -> None:
        self._group_config = GroupConfig(
            min_session_timeout_ms=config.group_min_session_timeout_ms,
            max_session_timeout_ms=config.group_max_session_timeout_ms,
            max_size=config.group_max_size,
            initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        )
        self._offset_config = OffsetConfig(
            retention_ms=config.offsets_retention_minutes * 60_000,
            metadata_max_bytes=config.offset_metadata_max_bytes,
        )
        self._timers = timers
        self._moment = moment
        self._new_uuid = new_uuid
        self._shards: dict[int, GroupRuntime] = {}
        self._loading: set[int] = set()

    @property
    def shards(self) -> list[GroupRuntime]:
        return list(self._shards.values())

    def add_shard(
        self, number: int, shard_log: ShardLog, topic_id_of: Callable[[str], UUID | None]
    ) -> Iterator[int]:
        """Coordinate the groups of a partition; yield now and then while its log is read.

        Offsets of topics that no longer exist are forgotten: the broker may have ended before it
        did so. Raises ``StorageError`` if the log cannot be read.
        """
        runtime = ShardRuntime(
            f"__consumer_offsets-{number}",
            shard_log,
            self._timers,
            self._moment,
            lambda timers: GroupShard(
                self._group_config, self._offset_config, timers, self._new_uuid
            ),
            write_error=group_write_error,
        )
        self._loading.add(number)
        try:
            yield from runtime.load()
        finally:
            self._loading.discard(number)
        self._shards[number] = runtime
        runtime.carry_out(runtime.shard.forget_deleted_topics(topic_id_of))

    def remove_shard(self, number: int) -> None:
        """Stop coordinating the groups of a partition, and send their members elsewhere."""
        runtime = self._shards.pop(number, None)
        if runtime is not None:
            runtime.close(ErrorCode.NOT_COORDINATOR)
            runtime.shard.membership.unload()

    def runtime_for(self, group_id: str, partition_count: int) -> GroupRuntime:
        """Return the shard of a group; raise :class:`ApiError` if this broker has none for it."""
        if not partition_count:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        number = partition_for(group_id, partition_count)
        if number in self._loading:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if number not in self._shards:
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        return self._shards[number]

    def groups(self) -> list[ClassicGroup]:
        """Return all groups of this broker."""
        return [group for each in self._shards.values() for group in each.shard.groups.values()]

    def high_watermark_moved(self, number: int) -> None:
        runtime = self._shards.get(number)
        if runtime is not None:
            runtime.high_watermark_moved()

    def forget_deleted_topics(self, topic_id_of: Callable[[str], UUID | None]) -> None:
        """Forget the offsets that groups have committed for topics that are gone.

        Raises :class:`ApiError` where that could not be written; it can be repeated.
        """
        results: list[ErrorCode] = []
        for runtime in self._shards.values():
            decision = runtime.shard.forget_deleted_topics(topic_id_of)
            runtime.carry_out(slotted.evolve(decision, when_written=results.append))
        for code in filter(None, results):
            raise ApiError(code)

    def expire_offsets(self) -> None:
        """Forget offsets past their retention, and empty groups that have none left."""
        for runtime in self._shards.values():
            runtime.carry_out(runtime.shard.expire_offsets(self._moment()))


def group_write_error(error: ErrorCode) -> ErrorCode:
    """Return what clients are answered when records of groups could not be written, as in Kafka."""
    if error in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
    ):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR):
        return ErrorCode.NOT_COORDINATOR
    if error in (
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_FETCH_SIZE,
    ):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return error
