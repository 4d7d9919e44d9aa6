"""The controller of this node: its log, its shard, and how it starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.runtime.timers import Moment, TimerQueue

from .awaiting import value_of
from .broker_configs import BrokerConfigs
from .config import LogConfig
from .controller import requests
from .controller.delegation_tokens import TokenSettings
from .controller.names import CLUSTER_METADATA_TOPIC
from .controller.quorum import Quorum
from .controller.shard import ControllerShard
from .controller.topics import TopicDefaults
from .coordinator.runtime import ShardRuntime
from .deferred import Deferred
from .partition import Partition
from .partition_log import PartitionLog
from .storage import LogManager, StorageError

METADATA_PARTITION = TopicPartition(CLUSTER_METADATA_TOPIC, 0)
METADATA_TOPIC_ID = UUID(int=1)  # Kafka's own for this topic
METADATA_LOG_CONFIG = LogConfig(
    retention_ms=-1, retention_bytes=-1, flush_messages=1, max_message_bytes=64 << 20
)
"""Nothing is ever deleted: there are no snapshots. A change is committed when it is on the disk. It
is one batch, however large: all of it or nothing."""


async def open_controller(
    logs: LogManager,
    configs: BrokerConfigs,
    *,
    timers: TimerQueue,
    moment: Callable[[], Moment],
    new_uuid: Callable[[], UUID],
    publish: Callable[[Sequence[Any]], object],
) -> ShardRuntime[ControllerShard]:
    """Open the metadata log and load the controller from it; raise ``StorageError``."""
    partition = await _lead_metadata_partition(logs, configs.broker.node_id)
    defaults = TopicDefaults(
        partitions=configs.broker.num_partitions,
        replication_factor=configs.broker.default_replication_factor,
        min_insync_replicas=configs.broker.min_insync_replicas,
    )
    tokens = TokenSettings.of(configs.broker)
    controller = ShardRuntime(
        METADATA_PARTITION,
        PartitionLog(partition),
        timers,
        moment,
        lambda _: ControllerShard(
            new_uuid,
            defaults,
            configs.describe_topic_with,
            tokens,
            lambda: configs.broker,
            quorum=lambda: _quorum(partition, configs.broker.node_id),
        ),
        publish=publish,
        unloaded_error=ErrorCode.NOT_CONTROLLER,
    )
    partition.add_listener(lambda _: controller.high_watermark_moved())
    for _ in controller.load():
        await asyncio.sleep(0)
    return controller


def _quorum(partition: Partition, node_id: int) -> Quorum:
    return Quorum(
        node_id=node_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=partition.high_watermark,
        log_end_offset=partition.log_end_offset,
    )


async def _lead_metadata_partition(logs: LogManager, node_id: int) -> Partition:
    opened = logs.get_or_create(METADATA_PARTITION, METADATA_LOG_CONFIG, METADATA_TOPIC_ID)
    # What the last run left may not be on the disk yet: flush it before building on it.
    flushed: Deferred[None] = Deferred()
    opened.flusher.flush_all(lambda: flushed.complete(None))
    await value_of(flushed)
    opened.flusher.check()
    partition = Partition(METADATA_PARTITION, METADATA_TOPIC_ID, node_id, opened)
    node = (node_id,)
    partition.become_leader(opened.leader_epochs.latest_epoch + 1, node, node)
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
