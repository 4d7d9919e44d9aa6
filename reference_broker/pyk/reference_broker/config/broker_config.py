"""The broker configurations, with the names, defaults and ranges of Apache Kafka 4.3.

Those that have an effect here, and those that are the default of a topic configuration. The other
ones of Kafka are in :mod:`.kafka_broker_configs`.
"""

from __future__ import annotations

from pyk.reference_broker.config.connection_counts import are_counts_by_ip
from pyk.reference_broker.config.definition import (
    Fallback,
    Password,
    UpdateMode,
    boolean,
    integer,
    long,
    optional_strings,
    password,
    short,
    string,
    strings,
)
from pyk.reference_broker.config.log_config import (
    COMPRESSION_TYPES,
    DAY_MS,
    MAX_INT64,
    TIMESTAMP_TYPES,
    is_gzip_level,
    is_retention,
)
from pyk.reference_broker.config.log_dirs_config import LogDirsConfig
from pyk.runtime import slotted

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_DYNAMIC = UpdateMode.CLUSTER_WIDE


@slotted.frozen(kw_only=True)
class BrokerConfig(LogDirsConfig):
    """The effective configuration of one broker."""

    # The node

    node_id: int = integer(0, minimum=0, doc="The number of this node in the cluster.")
    broker_id: int = integer(-1, doc="The number of this node under its old name.")
    broker_rack: str | None = string(None, doc="Where the broker stands, shown in metadata.")
    listeners: tuple[str, ...] = strings(
        "PLAINTEXT://:9092",
        update_mode=UpdateMode.PER_BROKER,
        doc="The addresses the broker listens on.",
    )
    advertised_listeners: tuple[str, ...] | None = optional_strings(
        doc="The addresses that clients are told."
    )
    listener_security_protocol_map: str = string(
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        update_mode=UpdateMode.PER_BROKER,
        doc="The protocol of each listener, by its name.",
    )
    inter_broker_listener_name: str | None = string(
        None, doc="The listener over which brokers talk to each other."
    )
    security_inter_broker_protocol: str = string(
        "PLAINTEXT",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        doc="The protocol between brokers if inter.broker.listener.name is not set.",
    )

    # The network

    socket_request_max_bytes: int = integer(
        104_857_600, minimum=1, doc="The largest request that is accepted."
    )
    connections_max_idle_ms: int = long(
        600_000, doc="After how long without a request a connection is closed."
    )
    max_connections: int = integer(
        (1 << 31) - 1,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="How many connections the broker accepts at the same time.",
    )
    max_connections_per_ip: int = integer(
        (1 << 31) - 1,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="How many connections the broker accepts from one address at the same time.",
    )
    max_connections_per_ip_overrides: str = string(
        "",
        check=are_counts_by_ip,
        update_mode=_DYNAMIC,
        doc="What max.connections.per.ip is for some addresses: address:count,address:count.",
    )
    max_connection_creation_rate: int = integer(
        (1 << 31) - 1,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="How many connections the broker accepts a second; a listener may have its own limit.",
    )
    queued_max_request_bytes: int = long(
        -1,
        doc="The most bytes that requests may hold together; -1 stands for half a gigabyte here.",
    )

    # Access

    authorizer_class_name: str = string(
        "",
        choices=("", STANDARD_AUTHORIZER),
        doc="What decides by ACLs who may do what; if it is empty, everybody may do everything.",
    )
    # Kafka's authorizer reads these two by itself, so a broker does not describe them.
    super_users: str = string(
        "",
        is_internal=True,
        doc="The principals that may do everything, separated by semicolons.",
    )
    allow_everyone_if_no_acl_found: bool = boolean(
        False,
        is_internal=True,
        doc="Whether everybody may use a resource that no ACL concerns.",
    )

    # Quotas

    quota_window_num: int = integer(
        11, minimum=1, doc="How many windows rates are measured over, the current one included."
    )
    quota_window_size_seconds: int = integer(
        1, minimum=1, doc="How long a window of rates is, in seconds."
    )
    controller_quota_window_num: int = integer(
        11, minimum=1, doc="How many windows of permits to change partitions a client may save up."
    )
    controller_quota_window_size_seconds: int = integer(
        1, minimum=1, doc="How long a window of permits to change partitions is, in seconds."
    )

    delegation_token_secret_key: Password | None = password(
        update_mode=UpdateMode.READ_ONLY,
        doc="The key from which brokers compute the HMAC of delegation tokens, which they all "
        "share; without it there are none.",
    )
    delegation_token_max_lifetime_ms: int = long(
        7 * DAY_MS, minimum=1, doc="After how long a delegation token cannot be renewed any more."
    )
    delegation_token_expiry_time_ms: int = long(
        DAY_MS, minimum=1, doc="After how long a delegation token expires unless it is renewed."
    )
    delegation_token_expiry_check_interval_ms: int = long(
        HOUR_MS, minimum=1, doc="How often expired delegation tokens are removed."
    )

    # Produce and fetch

    fetch_max_bytes: int = integer(
        57_671_680, minimum=1024, doc="The most bytes of records that one fetch is answered with."
    )
    max_incremental_fetch_session_cache_slots: int = integer(
        1000, minimum=0, doc="How many incremental fetch sessions the broker keeps."
    )
    request_timeout_ms: int = integer(
        30_000,
        doc="How long transaction markers may take until all replicas in sync have them.",
    )
    message_max_bytes: int = integer(
        1_048_588,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="The default of max.message.bytes.",
    )
    min_insync_replicas: int = integer(
        1, minimum=1, update_mode=_DYNAMIC, doc="The default of min.insync.replicas."
    )

    # Topics

    auto_create_topics_enable: bool = boolean(
        True, doc="Whether a topic that clients ask for is created if there is none."
    )
    delete_topic_enable: bool = boolean(True, doc="Whether topics can be deleted.")
    num_partitions: int = integer(1, minimum=1, doc="How many partitions a topic gets by default.")
    default_replication_factor: int = integer(
        1, doc="How many replicas a partition gets by default."
    )
    max_request_partition_size_limit: int = integer(
        2000, minimum=1, doc="How many partitions one DescribeTopicPartitions answer holds."
    )
    unclean_leader_election_enable: bool = boolean(
        False,
        update_mode=_DYNAMIC,
        has_effect=False,
        doc="The default of unclean.leader.election.enable.",
    )

    # Logs: the defaults of topic configurations

    compression_gzip_level: int = integer(
        -1,
        minimum=-1,
        maximum=9,
        check=is_gzip_level,
        update_mode=_DYNAMIC,
        doc="The default of compression.gzip.level.",
    )
    compression_lz4_level: int = integer(
        9,
        minimum=1,
        maximum=17,
        update_mode=_DYNAMIC,
        doc="The default of compression.lz4.level.",
    )
    compression_type: str = string(
        "producer",
        choices=COMPRESSION_TYPES,
        update_mode=_DYNAMIC,
        doc="The default of compression.type.",
    )
    compression_zstd_level: int = integer(
        3,
        minimum=-131072,
        maximum=22,
        update_mode=_DYNAMIC,
        doc="The default of compression.zstd.level.",
    )
    log_cleanup_policy: tuple[str, ...] = strings(
        "delete",
        choices=("delete", "compact"),
        update_mode=_DYNAMIC,
        doc="The default of cleanup.policy.",
    )
    log_flush_interval_messages: int = long(
        MAX_INT64, minimum=1, update_mode=_DYNAMIC, doc="The default of flush.messages."
    )
    log_flush_interval_ms: int | None = long(
        None,
        update_mode=_DYNAMIC,
        fallbacks=(Fallback(name="log.flush.scheduler.interval.ms"),),
        doc="The default of flush.ms; if not set, log.flush.scheduler.interval.ms is.",
    )
    log_index_interval_bytes: int = integer(
        4096, minimum=0, update_mode=_DYNAMIC, doc="The default of index.interval.bytes."
    )
    log_index_size_max_bytes: int = integer(
        10 << 20, minimum=4, update_mode=_DYNAMIC, doc="The default of segment.index.bytes."
    )
    log_message_timestamp_after_max_ms: int = long(
        HOUR_MS,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="The default of message.timestamp.after.max.ms.",
    )
    log_message_timestamp_before_max_ms: int = long(
        MAX_INT64,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="The default of message.timestamp.before.max.ms.",
    )
    log_message_timestamp_type: str = string(
        "CreateTime",
        choices=TIMESTAMP_TYPES,
        update_mode=_DYNAMIC,
        doc="The default of message.timestamp.type.",
    )
    log_preallocate: bool = boolean(False, update_mode=_DYNAMIC, doc="The default of preallocate.")
    log_retention_bytes: int = long(-1, update_mode=_DYNAMIC, doc="The default of retention.bytes.")
    log_retention_ms: int | None = long(
        None,
        check=is_retention,
        update_mode=_DYNAMIC,
        fallbacks=(
            Fallback(name="log.retention.minutes", unit=MINUTE_MS),
            Fallback(name="log.retention.hours", unit=HOUR_MS),
        ),
        doc="The default of retention.ms; if not set, log.retention.minutes is.",
    )
    log_retention_minutes: int | None = integer(
        None, doc="The default of retention.ms in minutes; if not set, log.retention.hours is."
    )
    log_retention_hours: int = integer(
        168, doc="The default of retention.ms in hours; -1 is unlimited."
    )
    log_roll_jitter_ms: int | None = long(
        None,
        minimum=0,
        update_mode=_DYNAMIC,
        fallbacks=(Fallback(name="log.roll.jitter.hours", unit=HOUR_MS),),
        doc="The default of segment.jitter.ms; if not set, log.roll.jitter.hours is.",
    )
    log_roll_jitter_hours: int = integer(
        0, minimum=0, doc="The default of segment.jitter.ms in hours."
    )
    log_roll_ms: int | None = long(
        None,
        minimum=1,
        update_mode=_DYNAMIC,
        fallbacks=(Fallback(name="log.roll.hours", unit=HOUR_MS),),
        doc="The default of segment.ms; if not set, log.roll.hours is.",
    )
    log_roll_hours: int = integer(168, minimum=1, doc="The default of segment.ms in hours.")
    log_segment_bytes: int = integer(
        1 << 30, minimum=1 << 20, update_mode=_DYNAMIC, doc="The default of segment.bytes."
    )
    log_segment_delete_delay_ms: int = long(
        60_000, minimum=0, update_mode=_DYNAMIC, doc="The default of file.delete.delay.ms."
    )

    # Logs: what the broker does with all of them

    log_flush_offset_checkpoint_interval_ms: int = integer(
        60_000,
        minimum=0,
        doc="How often the recovery points of logs are written to their file.",
    )
    log_flush_scheduler_interval_ms: int = long(
        MAX_INT64, doc="How often logs are checked for what flush.ms wants on the disk."
    )
    log_flush_start_offset_checkpoint_interval_ms: int = integer(
        60_000, minimum=0, doc="How often log start offsets are written to their file."
    )
    log_initial_task_delay_ms: int = long(
        30_000,
        minimum=0,
        is_internal=True,
        doc="How long after its start the broker first looks for old segments.",
    )
    log_retention_check_interval_ms: int = long(
        300_000, minimum=1, doc="How often logs are checked for old segments."
    )
    producer_id_expiration_check_interval_ms: int = integer(
        600_000,
        minimum=1,
        is_internal=True,
        doc="How often logs are checked for producers that have expired.",
    )
    producer_id_expiration_ms: int = integer(
        DAY_MS,
        minimum=1,
        update_mode=_DYNAMIC,
        doc="After how long without a record an idempotent producer is forgotten.",
    )
    replica_high_watermark_checkpoint_interval_ms: int = long(
        5_000, doc="How often high watermarks are written to their file."
    )

    # Consumer groups

    group_consumer_assignment_interval_ms: int = integer(
        1_000,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="How far apart two assignments of a consumer group are at least.",
    )
    group_consumer_assignors: tuple[str, ...] = strings(
        "uniform",
        "range",
        choices=("uniform", "range"),
        doc="The assignors of consumer groups; the first is used unless members prefer another.",
    )
    group_consumer_heartbeat_interval_ms: int = integer(
        5_000, minimum=1, doc="How often members of consumer groups send heartbeats."
    )
    group_consumer_max_assignment_interval_ms: int = integer(
        15_000, minimum=0, doc="The longest assignment interval a consumer group may have."
    )
    group_consumer_max_heartbeat_interval_ms: int = integer(
        15_000, minimum=1, doc="The longest heartbeat interval a consumer group may have."
    )
    group_consumer_max_session_timeout_ms: int = integer(
        60_000, minimum=1, doc="The longest session timeout a consumer group may have."
    )
    group_consumer_max_size: int = integer(
        (1 << 31) - 1, minimum=1, doc="How many members one consumer group may have."
    )
    group_consumer_migration_policy: str = string(
        "bidirectional",
        choices=("bidirectional", "upgrade", "downgrade", "disabled"),
        doc="How a group with members may change between the classic and the consumer protocol.",
    )
    group_consumer_min_assignment_interval_ms: int = integer(
        0, minimum=0, doc="The shortest assignment interval a consumer group may have."
    )
    group_consumer_min_heartbeat_interval_ms: int = integer(
        5_000, minimum=1, doc="The shortest heartbeat interval a consumer group may have."
    )
    group_consumer_min_session_timeout_ms: int = integer(
        45_000, minimum=1, doc="The shortest session timeout a consumer group may have."
    )
    group_consumer_session_timeout_ms: int = integer(
        45_000,
        minimum=1,
        doc="After how long without a heartbeat a member of a consumer group is removed.",
    )
    group_initial_rebalance_delay_ms: int = integer(
        3_000, doc="How long the first rebalance of an empty group waits for more members."
    )
    group_max_session_timeout_ms: int = integer(
        1_800_000, doc="The longest session timeout a member may ask for."
    )
    group_max_size: int = integer(
        (1 << 31) - 1, minimum=1, doc="How many members one group may have."
    )
    group_min_session_timeout_ms: int = integer(
        6_000, doc="The shortest session timeout a member may ask for."
    )
    offset_metadata_max_bytes: int = integer(
        4096, doc="The longest metadata a member may commit with an offset."
    )
    offsets_retention_check_interval_ms: int = long(
        600_000, minimum=1, doc="How often groups are checked for offsets that have expired."
    )
    offsets_retention_minutes: int = integer(
        10_080, minimum=1, doc="How long the offsets of an empty group are kept."
    )
    offsets_topic_compression_codec: int = integer(
        0, minimum=0, maximum=4, doc="The codec number of batches in the offsets topic; 0 is none."
    )
    offsets_topic_num_partitions: int = integer(
        50, minimum=1, doc="How many partitions the offsets topic is created with."
    )
    offsets_topic_replication_factor: int = short(
        3, minimum=1, doc="How many replicas the offsets topic is created with."
    )
    offsets_topic_segment_bytes: int = integer(
        104_857_600, minimum=1, doc="The segment size of the offsets topic."
    )

    # Metrics of clients

    telemetry_max_bytes: int = integer(
        1_048_576, minimum=1, doc="How large what a client pushes of its metrics may be."
    )

    # Transactions

    add_partitions_to_txn_retry_backoff_max_ms: int = integer(
        100,
        minimum=0,
        doc="How long adding a partition to a transaction waits for the last one to complete.",
    )
    add_partitions_to_txn_retry_backoff_ms: int = integer(
        20, minimum=1, doc="The longest wait before adding a partition is tried again."
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = integer(
        10_000, minimum=1, doc="How often transactions are checked for those that have timed out."
    )
    transaction_max_timeout_ms: int = integer(
        900_000, minimum=1, doc="The longest transaction timeout a producer may ask for."
    )
    transaction_partition_verification_enable: bool = boolean(
        True,
        update_mode=_DYNAMIC,
        doc="Whether the coordinator must know of a partition before a transaction writes to it.",
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = integer(
        3_600_000, minimum=1, doc="How often transactional ids that have expired are forgotten."
    )
    transaction_state_log_min_isr: int = integer(
        2, minimum=1, doc="The min.insync.replicas of the topic of transactions."
    )
    transaction_state_log_num_partitions: int = integer(
        50, minimum=1, doc="How many partitions the topic of transactions is created with."
    )
    transaction_state_log_replication_factor: int = short(
        3, minimum=1, doc="How many replicas the topic of transactions is created with."
    )
    transaction_state_log_segment_bytes: int = integer(
        104_857_600, minimum=1, doc="The segment size of the topic of transactions."
    )
    transaction_two_phase_commit_enable: bool = boolean(
        False, doc="Whether producers may leave it to others when a transaction ends (KIP-939)."
    )
    transactional_id_expiration_ms: int = integer(
        604_800_000,
        minimum=1,
        doc="After how long without use a transactional id is forgotten.",
    )
