"""The controller of this node: its log, its shard, and how it starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.runtime.timers import Moment, TimerQueue

from .awaiting import value_of
from .bootstrap_file import read_or_write_bootstrap
from .broker_configs import BrokerConfigs
from .config import BrokerConfig, LogConfig
from .controller import requests
from .controller.bootstrap import unsupported_features
from .controller.delegation_tokens import TokenSettings
from .controller.features import METADATA_VERSION
from .controller.image import MetadataImage
from .controller.names import CLUSTER_METADATA_TOPIC
from .controller.quorum import Quorum
from .controller.shard import ControllerShard
from .controller.snapshot_format import Snapshot
from .controller.snapshot_schedule import SnapshotSchedule
from .controller.topics import TopicDefaults
from .coordinator.runtime import ShardRuntime
from .deferred import Deferred
from .metadata_snapshots import (
    MetadataLog,
    MetadataSnapshots,
    SnapshotFiles,
    begin_at_snapshot,
)
from .partition import Partition
from .storage import Log, LogManager, StorageError
from .storage.disk import Disk

METADATA_PARTITION = TopicPartition(CLUSTER_METADATA_TOPIC, 0)
METADATA_TOPIC_ID = UUID(int=1)  # Kafka's own for this topic
MAX_CHANGE_BYTES = 64 << 20


def metadata_log_config(config: BrokerConfig) -> LogConfig:
    """Return the configuration of the metadata log.

    Only snapshots let records go. A change is committed when it is on the disk. It is one batch,
    however large: all of it or nothing.
    """
    segment_bytes = config.metadata_log_segment_bytes
    return LogConfig(
        retention_ms=-1,
        retention_bytes=-1,
        flush_messages=1,
        segment_bytes=segment_bytes,
        segment_ms=config.metadata_log_segment_ms,
        max_message_bytes=min(MAX_CHANGE_BYTES, segment_bytes),
    )


async def open_controller(
    logs: LogManager,
    configs: BrokerConfigs,
    *,
    image: MetadataImage,
    disk: Disk,
    timers: TimerQueue,
    moment: Callable[[], Moment],
    new_uuid: Callable[[], UUID],
    publish: Callable[[Sequence[Any]], object],
) -> ShardRuntime[ControllerShard]:
    """Open the metadata log and load the controller from it; raise ``StorageError``.

    ``image`` is the one that ``publish`` changes.
    """
    opened = await _open_metadata_log(logs, configs.broker)
    files = SnapshotFiles(logs.data_directory.filesystem, opened.directory)
    snapshot = _load_snapshot(files, opened)
    schedule = _schedule(configs.broker, snapshot, moment().now)
    snapshots = MetadataSnapshots(
        files,
        opened,
        image,
        schedule,
        disk=disk,
        timers=timers,
        moment=moment,
        config=lambda: configs.broker,
    )

    def publish_committed(records: Sequence[Any]) -> None:
        publish(records)
        snapshots.committed()

    partition = _lead_metadata_partition(opened, configs.broker.node_id, snapshot)
    shard = _new_shard(partition, configs, new_uuid, logs.data_directory.id)
    controller = ShardRuntime(
        METADATA_PARTITION,
        MetadataLog(partition, snapshot, schedule),
        timers,
        moment,
        lambda _: shard,
        publish=publish_committed,
        unloaded_error=ErrorCode.NOT_CONTROLLER,
    )
    partition.add_listener(lambda _: controller.high_watermark_moved())
    for _ in controller.load():
        await asyncio.sleep(0)
    # There were fewer records than offsets if a snapshot was loaded.
    image.record_count = shard.image.record_count = opened.log_end_offset
    _begin_to_lead(controller, logs, opened, image, moment().time_ms)
    snapshots.begin()
    return controller


def _begin_to_lead(
    controller: ShardRuntime[ControllerShard],
    logs: LogManager,
    opened: Log,
    image: MetadataImage,
    time_ms: int,
) -> None:
    """Begin a new epoch of the log; raise ``StorageError`` if the cluster needs what is missing."""
    unsupported = unsupported_features(image.features)
    if unsupported:
        raise StorageError(
            f"{opened.directory} is of a cluster with {', '.join(unsupported)}, which this broker "
            "cannot run"
        )
    bootstrap: list[Message] = []
    if METADATA_VERSION not in image.features:
        directory = logs.data_directory
        bootstrap = read_or_write_bootstrap(directory.filesystem, directory.path, time_ms)
    controller.tell(lambda shard, _: requests.begin_to_lead(shard, bootstrap))


def _new_shard(
    partition: Partition,
    configs: BrokerConfigs,
    new_uuid: Callable[[], UUID],
    directory_id: UUID,
) -> ControllerShard:
    defaults = TopicDefaults(
        partitions=configs.broker.num_partitions,
        replication_factor=configs.broker.default_replication_factor,
        min_insync_replicas=configs.broker.min_insync_replicas,
    )
    return ControllerShard(
        new_uuid,
        defaults,
        configs.describe_topic_with,
        TokenSettings.of(configs.broker),
        lambda: configs.broker,
        quorum=lambda: _quorum(partition, configs.broker.node_id, directory_id),
    )


def _schedule(config: BrokerConfig, snapshot: Snapshot | None, now: float) -> SnapshotSchedule:
    return SnapshotSchedule(
        max_bytes=config.metadata_log_max_record_bytes_between_snapshots,
        max_interval=config.metadata_log_max_snapshot_interval_ms / 1000,
        began_at=now,
        offset=0 if snapshot is None else snapshot.id.offset,
    )


def _quorum(partition: Partition, node_id: int, directory_id: UUID) -> Quorum:
    return Quorum(
        node_id=node_id,
        directory_id=directory_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=partition.high_watermark,
        log_end_offset=partition.log_end_offset,
    )


async def _open_metadata_log(logs: LogManager, config: BrokerConfig) -> Log:
    opened = logs.open_metadata_log(
        METADATA_PARTITION, metadata_log_config(config), METADATA_TOPIC_ID
    )
    # What the last run left may not be on the disk yet: flush it before building on it.
    flushed: Deferred[None] = Deferred()
    opened.flusher.flush_all(lambda: flushed.complete(None))
    await value_of(flushed)
    opened.flusher.check()
    return opened


def _load_snapshot(files: SnapshotFiles, opened: Log) -> Snapshot | None:
    try:
        snapshot = files.load_newest()
        begin_at_snapshot(opened, None if snapshot is None else snapshot.id)
    except OSError as error:
        raise StorageError(
            f"cannot load the metadata snapshots in {opened.directory}: {error}"
        ) from error
    return snapshot


def _lead_metadata_partition(opened: Log, node_id: int, snapshot: Snapshot | None) -> Partition:
    partition = Partition(METADATA_PARTITION, METADATA_TOPIC_ID, node_id, opened)
    node = (node_id,)
    # A snapshot may be all that is left of the last epoch.
    snapshot_epoch = -1 if snapshot is None else snapshot.id.epoch
    # Kafka's first leader has the epoch 1.
    latest_epoch = max(opened.leader_epochs.latest_epoch, snapshot_epoch, 0)
    partition.become_leader(latest_epoch + 1, node, node)
    return partition


async def begin_leader_epochs(controller: ShardRuntime[ControllerShard], node_id: int) -> None:
    """Let a node lead its partitions in new epochs, after anything but a clean shutdown."""
    error: ErrorCode | None = await value_of(
        controller.ask(
            lambda shard, _: requests.begin_leader_epochs(shard, node_id), lambda code: code
        )
    )
    if error is not None:
        raise StorageError(
            f"cannot begin leader epochs: {METADATA_PARTITION} cannot be written: {error.name}"
        )
