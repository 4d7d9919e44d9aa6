"""Groups as a kind of shard: ``__consumer_offsets`` and what runs over its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC
from pyk.reference_broker.coordinator.shard_kind import (
    Act,
    BrokerEnvironment,
    InternalTopic,
    ShardEnvironment,
    ShardKind,
)
from pyk.reference_broker.coordinator.write_errors import coordinator_write_error

if TYPE_CHECKING:
    from pyk.reference_broker.deferred import Deferred

    from .consumer.group_config import ConsumerGroupConfig
    from .shard import GroupShard
    from .share.group_config import ShareGroupConfig
    from .share.initialization import InitializedStates, InitializeStates
    from .streams.group_config import StreamsGroupConfig


def offsets_topic(config: BrokerConfig) -> InternalTopic:
    """Return how ``__consumer_offsets`` is created."""
    return InternalTopic(
        partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
        compression_codec=config.offsets_topic_compression_codec,
    )


def new_group_shard(environment: ShardEnvironment) -> GroupShard:
    """Return the groups of one partition, as the broker is configured."""
    from .offsets import OffsetConfig
    from .rebalance import GroupConfig
    from .shard import GroupShard

    config = environment.config
    return GroupShard(
        GroupConfig(
            min_session_timeout_ms=config.group_min_session_timeout_ms,
            max_session_timeout_ms=config.group_max_session_timeout_ms,
            max_size=config.group_max_size,
            initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        ),
        OffsetConfig(
            retention_ms=config.offsets_retention_minutes * 60_000,
            check_interval_ms=config.offsets_retention_check_interval_ms,
            metadata_max_bytes=config.offset_metadata_max_bytes,
        ),
        environment.timers,
        environment.new_uuid,
        consumer_config=lambda: _consumer_group_config(environment.current_config()),
        share_config=lambda: _share_group_config(environment.current_config()),
        streams_config=lambda: _streams_group_config(environment.current_config()),
        image=environment.image,
    )


def _consumer_group_config(config: BrokerConfig) -> ConsumerGroupConfig:
    from .consumer.group_config import ConsumerGroupConfig
    from .consumer.migration import MigrationPolicy

    return ConsumerGroupConfig(
        session_timeout_ms=config.group_consumer_session_timeout_ms,
        heartbeat_interval_ms=config.group_consumer_heartbeat_interval_ms,
        assignment_interval_ms=config.group_consumer_assignment_interval_ms,
        max_size=config.group_consumer_max_size,
        assignors=config.group_consumer_assignors,
        migration_policy=MigrationPolicy(config.group_consumer_migration_policy),
    )


def _share_group_config(config: BrokerConfig) -> ShareGroupConfig:
    from .share.group_config import ShareGroupConfig

    return ShareGroupConfig(
        session_timeout_ms=config.group_share_session_timeout_ms,
        heartbeat_interval_ms=config.group_share_heartbeat_interval_ms,
        assignment_interval_ms=config.group_share_assignment_interval_ms,
        initialize_retry_interval_ms=config.group_share_initialize_retry_interval_ms,
        max_size=config.group_share_max_size,
        assignor=config.group_share_assignors[0],
    )


def _streams_group_config(config: BrokerConfig) -> StreamsGroupConfig:
    from .streams.group_config import StreamsGroupConfig

    return StreamsGroupConfig(
        session_timeout_ms=config.group_streams_session_timeout_ms,
        heartbeat_interval_ms=config.group_streams_heartbeat_interval_ms,
        assignment_interval_ms=config.group_streams_assignment_interval_ms,
        initial_rebalance_delay_ms=config.group_streams_initial_rebalance_delay_ms,
        num_standby_replicas=config.group_streams_num_standby_replicas,
        max_size=config.group_streams_max_size,
    )


def new_state_initializer(environment: BrokerEnvironment) -> Act:
    """Return what initializes the state of share groups."""

    def initialize(request: InitializeStates) -> Deferred[InitializedStates]:
        from pyk.reference_broker.share_state_initializer import initialize_states

        return initialize_states(environment.share_persister(), request)

    return initialize


GROUPS = ShardKind(
    topic=GROUP_METADATA_TOPIC,
    key_type=0,
    internal_topic=offsets_topic,
    new_shard=new_group_shard,
    write_error=coordinator_write_error,
    new_act=new_state_initializer,
)
