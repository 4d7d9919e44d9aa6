"""The broker configurations of share groups (KIP-932), with names, defaults and ranges of Kafka."""

from __future__ import annotations

from pyk.reference_broker.config.definition import UpdateMode, integer, short, strings
from pyk.reference_broker.config.without_effect import BrokerConfigWithoutEffect
from pyk.runtime import slotted

MINUTE_MS = 60_000


@slotted.frozen(kw_only=True)
class ShareConfig(BrokerConfigWithoutEffect):
    """What a broker has configured for share groups and for the coordinator of their state."""

    # Members

    group_share_assignment_interval_ms: int = integer(
        1_000,
        minimum=0,
        update_mode=UpdateMode.CLUSTER_WIDE,
        doc="How far apart two assignments of a share group are at least.",
    )
    group_share_assignors: tuple[str, ...] = strings(
        "simple", choices=("simple",), doc="The assignor of share groups."
    )
    group_share_heartbeat_interval_ms: int = integer(
        5_000, minimum=1, doc="How often members of share groups send heartbeats."
    )
    group_share_initialize_retry_interval_ms: int = integer(
        30_000,
        minimum=1,
        is_internal=True,
        doc="After how long partitions whose state was not initialized are tried again.",
    )
    group_share_max_assignment_interval_ms: int = integer(
        15_000, minimum=0, doc="The longest assignment interval a share group may have."
    )
    group_share_max_heartbeat_interval_ms: int = integer(
        15_000, minimum=1, doc="The longest heartbeat interval a share group may have."
    )
    group_share_max_session_timeout_ms: int = integer(
        60_000, minimum=1, doc="The longest session timeout a share group may have."
    )
    group_share_max_size: int = integer(
        200, minimum=1, maximum=1_000, doc="How many members one share group may have."
    )
    group_share_min_assignment_interval_ms: int = integer(
        0, minimum=0, doc="The shortest assignment interval a share group may have."
    )
    group_share_min_heartbeat_interval_ms: int = integer(
        5_000, minimum=1, doc="The shortest heartbeat interval a share group may have."
    )
    group_share_min_session_timeout_ms: int = integer(
        45_000, minimum=1, doc="The shortest session timeout a share group may have."
    )
    group_share_session_timeout_ms: int = integer(
        45_000,
        minimum=1,
        doc="After how long without a heartbeat a member of a share group is removed.",
    )

    # Records

    group_share_delivery_count_limit: int = integer(
        5, minimum=2, maximum=10, doc="How often a record is delivered to a share group at most."
    )
    group_share_max_delivery_count_limit: int = integer(
        10, minimum=5, maximum=25, doc="The highest delivery count limit a share group may have."
    )
    group_share_max_partition_max_record_locks: int = integer(
        4_000,
        minimum=2_000,
        maximum=10_000,
        doc="The highest number of record locks per partition a share group may have.",
    )
    group_share_max_record_lock_duration_ms: int = integer(
        60_000,
        minimum=30_000,
        maximum=3_600_000,
        doc="The longest lock duration a share group may have.",
    )
    group_share_max_share_sessions: int = integer(
        2_000, minimum=1, doc="How many share sessions the broker keeps."
    )
    group_share_min_delivery_count_limit: int = integer(
        2, minimum=2, maximum=5, doc="The lowest delivery count limit a share group may have."
    )
    group_share_min_partition_max_record_locks: int = integer(
        100,
        minimum=100,
        maximum=2_000,
        doc="The lowest number of record locks per partition a share group may have.",
    )
    group_share_min_record_lock_duration_ms: int = integer(
        15_000,
        minimum=1_000,
        maximum=30_000,
        doc="The shortest lock duration a share group may have.",
    )
    group_share_partition_max_record_locks: int = integer(
        2_000,
        minimum=100,
        maximum=10_000,
        doc="How many records of a partition a share group may have in flight.",
    )
    group_share_record_lock_duration_ms: int = integer(
        30_000,
        minimum=1_000,
        maximum=3_600_000,
        doc="How long a record is locked for the member that it was delivered to.",
    )

    # The coordinator of their state

    share_coordinator_cold_partition_snapshot_interval_ms: int = integer(
        5 * MINUTE_MS,
        minimum=1,
        is_internal=True,
        doc="After how long without one a snapshot of a partition's state is written.",
    )
    share_coordinator_snapshot_update_records_per_snapshot: int = integer(
        500, minimum=0, maximum=500, doc="How many updates follow a snapshot before the next one."
    )
    share_coordinator_state_topic_compression_codec: int = integer(
        0,
        minimum=0,
        maximum=4,
        doc="The codec number of batches in the topic of share groups' state; 0 is none.",
    )
    share_coordinator_state_topic_min_isr: int = short(
        2, minimum=1, doc="The min.insync.replicas of the topic of share groups' state."
    )
    share_coordinator_state_topic_num_partitions: int = integer(
        50,
        minimum=1,
        doc="How many partitions the topic of share groups' state is created with.",
    )
    share_coordinator_state_topic_prune_interval_ms: int = integer(
        5 * MINUTE_MS,
        minimum=1,
        is_internal=True,
        doc="How often records that newer snapshots replace are removed.",
    )
    share_coordinator_state_topic_replication_factor: int = short(
        3, minimum=1, doc="How many replicas the topic of share groups' state is created with."
    )
    share_coordinator_state_topic_segment_bytes: int = integer(
        104_857_600, minimum=1, doc="The segment size of the topic of share groups' state."
    )
