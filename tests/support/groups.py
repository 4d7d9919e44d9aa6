"""Groups of one shard over a log in memory, in virtual time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from pyk.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from pyk.protocol.persisted import encode_versioned
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.decision import TransactionalProducer
from pyk.reference_broker.coordinator.group.consumer.group_config import ConsumerGroupConfig
from pyk.reference_broker.coordinator.group.membership import Join
from pyk.reference_broker.coordinator.group.offsets import OffsetConfig, OffsetToCommit
from pyk.reference_broker.coordinator.group.rebalance import GroupConfig
from pyk.reference_broker.coordinator.group.records import CommittedOffset, offset_record
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.coordinator.shard_log import (
    NO_PRODUCER_ID,
    KeyValue,
    LogEntry,
    LoggedMarker,
    LoggedRecords,
)
from pyk.reference_broker.coordinator.write_errors import coordinator_write_error
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.partition_log import PartitionLog
from pyk.runtime.filesystem import OsFileSystem
from pyk.runtime.timers import TimerQueue
from support.logs import ORDERS, open_log
from support.shard_time import START_MS, ShardTime

GROUP = "readers"


class MemoryShardLog:
    """A log of records and markers; a marker counts as one record.

    ``fails_with`` refuses appends, ``is_held`` keeps them unsafe, ``failure`` says that they stay
    so, ``has_bug`` makes appends fail as they never should.
    """

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.fails_with: ErrorCode | None = None
        self.failure: ErrorCode | None = None
        self.is_held = False
        self.has_bug = False
        self.max_batch_bytes = 1 << 20
        self.dropped_before = 0
        self._held_at = 0
        self._fails_after: tuple[int, ErrorCode] | None = None

    def __len__(self) -> int:
        return sum(len(getattr(entry, "records", "1")) for entry in self.entries)

    @property
    def batches(self) -> list[list[KeyValue]]:
        """The records of each batch, without the markers."""
        return [list(entry.records) for entry in self.entries if isinstance(entry, LoggedRecords)]

    @property
    def high_watermark(self) -> int:
        return self._held_at if self.is_held else len(self)

    @property
    def end_offset(self) -> int:
        return len(self)

    @property
    def leader_epoch(self) -> int:
        return 0

    def hold(self) -> None:
        self.is_held, self._held_at = True, len(self)

    def fails_after(self, batches: int, error: ErrorCode) -> None:
        """Refuse appends once there are so many batches."""
        self._fails_after = (batches, error)

    def append(
        self,
        records: Iterable[KeyValue],
        time_ms: int,
        producer: TransactionalProducer | None = None,
    ) -> int:
        if self._fails_after is not None and len(self.batches) >= self._fails_after[0]:
            raise ApiError(self._fails_after[1])
        if self.fails_with is not None:
            raise ApiError(self.fails_with)
        if self.has_bug:
            raise RuntimeError("a bug")
        producer_id = NO_PRODUCER_ID if producer is None else producer.producer_id
        self.entries.append(LoggedRecords(list(records), producer_id, len(self)))
        return len(self)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Append a marker, as the partition under a shard does."""
        self.entries.append(LoggedMarker(producer_id, is_commit))

    def drop_before(self, offset: int) -> None:
        self.dropped_before = offset

    def read_all(self) -> Iterator[list[LogEntry]]:
        yield from ([entry] for entry in self.entries)


class Waiting:
    """A deferred response that may not be there yet: ``response`` is None until it is."""

    def __init__(self, deferred: Deferred[Any]) -> None:
        self.response: Any = None
        deferred.when_done(self._take)

    def _take(self, response: Any) -> None:
        self.response = response

    @property
    def is_answered(self) -> bool:
        return self.response is not None

    @property
    def error(self) -> ErrorCode:
        return ErrorCode(self.response.error_code)


class Groups(ShardTime):
    """What members of groups do to a coordinator over a log; ``advance`` lets time pass."""

    def __init__(self, log: Any = None, **config: int) -> None:
        super().__init__()
        self.log = log or MemoryShardLog()
        self._config = config
        self._last_uuid = 0
        self.consumer_config = ConsumerGroupConfig()
        self.image = MetadataImage()
        self.runtime = self._new_runtime()

    @property
    def shard(self) -> GroupShard:
        return self.runtime._shard

    @property
    def state(self) -> str:
        return self.shard.groups[GROUP].state.value

    @property
    def deadlines(self) -> int:
        """How many deadlines of members there are: without the one of the expiry of offsets."""
        return len(self.timers) - 1

    def restart(self) -> None:
        """Forget everything but the log, and load that."""
        self.timers = TimerQueue(lambda _: None)
        self.runtime = self._new_runtime()

    def _new_runtime(self) -> ShardRuntime[GroupShard]:
        offsets = {k: v for k, v in self._config.items() if k in OffsetConfig.__annotations__}
        groups = {k: v for k, v in self._config.items() if k not in offsets}
        runtime = ShardRuntime(
            "groups",
            self.log,
            self.timers,
            self.moment,
            lambda timers: GroupShard(
                GroupConfig(**{"initial_rebalance_delay_ms": 3000, **groups}),
                OffsetConfig(**offsets),
                timers,
                self._new_uuid,
                consumer_config=lambda: self.consumer_config,
                image=self.image,
            ),
            write_error=coordinator_write_error,
        )
        for _ in runtime.load():
            pass
        return runtime

    def _new_uuid(self) -> UUID:
        self._last_uuid += 1
        return UUID(int=self._last_uuid)

    # -- what members do ---------------------------------------------------------------------------

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: Iterable[str] = ("range",),
        topics: Iterable[str] = ("orders",),
        version: int = 9,
        session_s: float = 10,
        rebalance_s: float = 60,
        client_id: str = "app",
        metadata: bytes | None = None,
        protocol_type: str = "consumer",
    ) -> Waiting:
        deferred: Deferred[JoinGroupResponse] = Deferred()
        waiting = Waiting(deferred)
        request = JoinGroupRequest(
            group_id=GROUP,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=metadata or subscription(topics))
                for name in protocols
            ],
            session_timeout_ms=int(session_s * 1000),
            rebalance_timeout_ms=int(rebalance_s * 1000),
        )
        self.runtime.tell(
            lambda shard, moment: shard.classic_protocol.join(
                Join(
                    request=request,
                    deferred=deferred,
                    moment=moment,
                    client_id=client_id,
                    client_host="/127.0.0.1",
                    requires_known_member_id=version >= 4,
                    can_skip_assignment=version >= 9,
                )
            )
        )
        return waiting

    def join_owning(self, member_id: str, partitions: list[int]) -> Waiting:
        """Join as a cooperative member that has partitions of the topic ``orders``."""
        owned = [TopicPartition(topic="orders", partitions=partitions)] if partitions else []
        metadata = ConsumerProtocolSubscription(topics=["orders"], owned_partitions=owned)
        return self.join(member_id, metadata=encode_versioned(metadata, 3))

    def join_dynamic(self, **more: Any) -> tuple[str, Waiting]:
        """Join as a new member does: ask for an id, come back with it."""
        member_id = self.join(**more).response.member_id
        return member_id, self.join(member_id, **more)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignment: dict[str, bytes] | None = None,
        **more: Any,
    ) -> Waiting:
        deferred: Deferred[SyncGroupResponse] = Deferred()
        waiting = Waiting(deferred)
        request = SyncGroupRequest(
            group_id=GROUP,
            member_id=member_id,
            generation_id=generation,
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=given)
                for each, given in (assignment or {}).items()
            ],
            **more,
        )
        self.runtime.tell(
            lambda shard, moment: shard.classic_protocol.sync(request, deferred, moment)
        )
        return waiting

    def heartbeat(
        self, member_id: str, generation: int, *, instance: str | None = None
    ) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP,
            member_id=member_id,
            group_instance_id=instance,
            generation_id=generation,
        )
        beat = self.runtime.ask(
            lambda shard, moment: shard.classic_protocol.heartbeat(request, moment),
            lambda code: code,
        )
        code: ErrorCode = Waiting(beat).response
        return code

    def leave(self, *leavers: tuple[str, str | None]) -> list[ErrorCode]:
        waiting = Waiting(
            self.runtime.ask(
                lambda shard, moment: shard.classic_protocol.leave(GROUP, list(leavers), moment),
                lambda code: [code],
            )
        )
        left: list[ErrorCode] = waiting.response
        return left

    def commit(
        self,
        *offsets: OffsetToCommit,
        member: tuple[str, str | None, int] = ("", None, -1),
        version: int = 8,
        retention_ms: int = -1,
        group: str = GROUP,
    ) -> Any:
        """Commit, and return the result by partition, or the error of all."""
        return Waiting(
            self.runtime.ask(
                lambda shard, moment: shard.offset_requests.commit(
                    group,
                    member,
                    offsets,
                    version=version,
                    retention_ms=retention_ms,
                    moment=moment,
                ),
                lambda code: code,
            )
        ).response

    def commit_in_transaction(
        self,
        producer_id: int,
        *offsets: OffsetToCommit,
        member: tuple[str, str | None, int] = ("", None, -1),
        group: str = GROUP,
    ) -> Any:
        """Commit for a producer, and return the result by partition, or the error of all."""
        return Waiting(
            self.runtime.ask(
                lambda shard, moment: shard.offset_requests.commit_in_transaction(
                    group, member, offsets, TransactionalProducer(producer_id, 0), moment
                ),
                lambda code: code,
            )
        ).response

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Append a marker, and tell the coordinator, as a partition does."""
        self.log.end_transaction(producer_id, is_commit=is_commit)
        self.runtime.transaction_ended(producer_id, is_commit=is_commit)
        self.runtime.high_watermark_moved()

    def unstable(self, group: str = GROUP) -> set[tuple[str, int]]:
        return set(self.shard.offsets.pending.of_group(group))

    def committed(
        self, topic: str = "orders", partition: int = 0, group: str = GROUP
    ) -> int | None:
        found = self.shard.offsets.of_group(group).get(topic, {}).get(partition)
        return None if found is None else found.offset

    # -- whole groups ------------------------------------------------------------------------------

    def stable(self, count: int = 1, **more: Any) -> list[str]:
        """Bring so many dynamic members together; return their ids, the leader's first."""
        joined = [self.join_dynamic(**more) for _ in range(count)]
        self.advance(3 * (count + 1))
        return self.settle(joined)

    def settle(self, joined: list[tuple[str, Waiting]]) -> list[str]:
        """Let all that have joined sync; return their ids, the leader's first."""
        generation = joined[0][1].response.generation_id
        leader = joined[0][1].response.leader
        members = sorted((member_id for member_id, _ in joined), key=lambda each: each != leader)
        assignment = {each: f"for {each}".encode() for each in members}
        for member_id in members[1:]:
            self.sync(member_id, generation)
        self.sync(leader, generation, assignment)
        assert self.state == "Stable"
        return members


def subscription(topics: Iterable[str]) -> bytes:
    return encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 1)


def offset(value: int, topic: str = "orders", partition: int = 0, **more: Any) -> OffsetToCommit:
    return OffsetToCommit(topic=topic, partition=partition, offset=value, **more)


def write_transactional_offsets(directory: Path) -> Path:
    """Write a segment of ``__consumer_offsets`` as a broker does, and return it.

    It has an offset that was committed, and one that a transaction has committed, with its marker.
    """
    log = open_log(OsFileSystem(), directory=str(directory))
    partition = Partition(ORDERS, UUID(int=1), 0, log)
    partition.become_leader(0, (0,), (0,))
    shard_log = PartitionLog(partition)
    for producer in (None, TransactionalProducer(7, 3)):
        committed = CommittedOffset(offset=5, commit_timestamp_ms=START_MS)
        record = offset_record(GROUP, "orders", 0, committed)
        shard_log.append([record.encode()], START_MS, producer)
    partition.end_transaction(7, 3, 2, True)
    log.close()
    (segment,) = directory.glob("*.log")
    return segment
