"""Transactions as a kind of shard: ``__transaction_state`` and what runs over its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.controller.features import TRANSACTION_VERSION
from pyk.reference_broker.controller.names import TRANSACTION_STATE_TOPIC
from pyk.reference_broker.coordinator.shard_kind import (
    Act,
    BrokerEnvironment,
    InternalTopic,
    ShardEnvironment,
    ShardKind,
)
from pyk.reference_broker.coordinator.write_errors import coordinator_write_error

if TYPE_CHECKING:
    from .shard import TransactionShard


def transactions_topic(config: BrokerConfig) -> InternalTopic:
    """Return how ``__transaction_state`` is created."""
    return InternalTopic(
        partitions=config.transaction_state_log_num_partitions,
        replication_factor=config.transaction_state_log_replication_factor,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(config.transaction_state_log_min_isr),
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        },
    )


def new_transaction_shard(environment: ShardEnvironment) -> TransactionShard:
    """Return the transactional ids of one partition, as the broker is configured."""
    from .shard import TransactionConfig, TransactionShard

    config = environment.config
    return TransactionShard(
        TransactionConfig(
            max_timeout_ms=config.transaction_max_timeout_ms,
            allows_two_phases=config.transaction_two_phase_commit_enable,
            timeout_check_interval_ms=(
                config.transaction_abort_timed_out_transaction_cleanup_interval_ms
            ),
            expiration_ms=config.transactional_id_expiration_ms,
            expiration_check_interval_ms=(
                config.transaction_remove_expired_transaction_cleanup_interval_ms
            ),
        ),
        environment.timers,
        environment.leader_epoch,
        lambda: environment.feature_level(TRANSACTION_VERSION),
    )


def new_marker_sender(environment: BrokerEnvironment) -> Act:
    """Return what writes the markers of transactions."""
    from pyk.reference_broker.marker_sender import MarkerSender

    return MarkerSender(environment).write


TRANSACTIONS = ShardKind(
    topic=TRANSACTION_STATE_TOPIC,
    key_type=1,
    internal_topic=transactions_topic,
    new_shard=new_transaction_shard,
    write_error=coordinator_write_error,
    new_act=new_marker_sender,
)
