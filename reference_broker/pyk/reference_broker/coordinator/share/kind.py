"""The state of share groups as a kind of shard: ``__share_group_state`` and what runs over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.controller.names import SHARE_GROUP_STATE_TOPIC
from pyk.reference_broker.coordinator.shard_kind import InternalTopic, ShardEnvironment, ShardKind
from pyk.reference_broker.coordinator.write_errors import coordinator_write_error

if TYPE_CHECKING:
    from .shard import ShareStateShard

SHARE_KEY_TYPE = 2


def share_state_topic(config: BrokerConfig) -> InternalTopic:
    """Return how ``__share_group_state`` is created.

    It is not compacted: updates of one share partition have the same key, and all of them count.
    """
    return InternalTopic(
        partitions=config.share_coordinator_state_topic_num_partitions,
        replication_factor=config.share_coordinator_state_topic_replication_factor,
        configs={
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": str(config.share_coordinator_state_topic_min_isr),
            "retention.ms": "-1",
            "segment.bytes": str(config.share_coordinator_state_topic_segment_bytes),
        },
        compression_codec=config.share_coordinator_state_topic_compression_codec,
    )


def new_share_state_shard(environment: ShardEnvironment) -> ShareStateShard:
    """Return the share partitions of one partition, as the broker is configured."""
    from .shard import ShareStateConfig, ShareStateShard

    config = environment.config
    return ShareStateShard(
        ShareStateConfig(
            updates_per_snapshot=config.share_coordinator_snapshot_update_records_per_snapshot,
            cold_interval_ms=config.share_coordinator_cold_partition_snapshot_interval_ms,
            prune_interval_ms=config.share_coordinator_state_topic_prune_interval_ms,
        ),
        environment.timers,
        environment.image.topics_by_id,
    )


def is_share_key(key: str) -> bool:
    """Return whether a key can be that of a share partition."""
    from .share_partition import SharePartitionKey

    try:
        SharePartitionKey.parse(key)
    except ValueError:
        return False
    return True


SHARE_STATES = ShardKind(
    topic=SHARE_GROUP_STATE_TOPIC,
    key_type=SHARE_KEY_TYPE,
    internal_topic=share_state_topic,
    new_shard=new_share_state_shard,
    write_error=coordinator_write_error,
    is_key=is_share_key,
)
