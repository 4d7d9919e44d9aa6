"""The test files that send requests of each API: themselves, or through a client."""

from __future__ import annotations

from pyk.protocol.api_keys import ApiKey

TESTED: dict[ApiKey, tuple[str, ...]] = {
    ApiKey.PRODUCE: (
        "conformance/test_records.py",
        "conformance/test_transactions_in_logs.py",
        "integration/reference_broker/test_every_version.py",
    ),
    ApiKey.FETCH: (
        "conformance/test_error_codes.py",
        "conformance/test_fetch.py",
        "integration/reference_broker/test_produce_and_fetch.py",
    ),
    ApiKey.LIST_OFFSETS: (
        "conformance/test_error_codes.py",
        "conformance/test_transactions_in_logs.py",
    ),
    ApiKey.METADATA: (
        "conformance/test_error_codes.py",
        "conformance/test_racks.py",
        "conformance/test_share_groups.py",
    ),
    ApiKey.OFFSET_COMMIT: (
        "conformance/test_error_codes.py",
        "conformance/test_share_groups.py",
    ),
    ApiKey.OFFSET_FETCH: ("conformance/test_share_groups.py",),
    ApiKey.FIND_COORDINATOR: (
        "conformance/test_admin_groups.py",
        "conformance/test_share_partitions.py",
        "conformance/test_share_states.py",
    ),
    ApiKey.JOIN_GROUP: ("conformance/test_error_codes.py",),
    ApiKey.HEARTBEAT: (
        "conformance/test_consumer_groups.py",
        "conformance/test_error_codes.py",
        "conformance/test_share_groups.py",
    ),
    ApiKey.LEAVE_GROUP: (
        "conformance/test_consumer_groups.py",
        "conformance/test_error_codes.py",
    ),
    ApiKey.SYNC_GROUP: ("conformance/test_error_codes.py",),
    ApiKey.DESCRIBE_GROUPS: (
        "conformance/test_consumer_groups.py",
        "conformance/test_error_codes.py",
    ),
    ApiKey.LIST_GROUPS: (
        "conformance/test_consumer_groups.py",
        "conformance/test_share_groups.py",
    ),
    ApiKey.SASL_HANDSHAKE: (
        "conformance/test_security.py",
        "integration/reference_broker/test_logins.py",
    ),
    ApiKey.API_VERSIONS: (
        "conformance/test_api_versions.py",
        "conformance/test_client_metrics.py",
        "integration/reference_broker/test_every_version.py",
    ),
    ApiKey.CREATE_TOPICS: (
        "conformance/test_error_codes.py",
        "integration/reference_broker/test_slow_disk.py",
    ),
    ApiKey.DELETE_TOPICS: (
        "conformance/test_error_codes.py",
        "integration/reference_broker/test_every_version.py",
        "integration/reference_broker/test_offsets_topic.py",
    ),
    ApiKey.DELETE_RECORDS: ("conformance/test_error_codes.py",),
    ApiKey.INIT_PRODUCER_ID: (
        "conformance/test_transaction_epochs.py",
        "conformance/test_transactions_in_logs.py",
        "integration/reference_broker/test_restart.py",
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ("conformance/test_error_codes.py",),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        "conformance/test_transactions_in_logs.py",
        "integration/reference_broker/test_transactions.py",
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: (
        "conformance/test_transactional_offsets.py",
        "integration/reference_broker/test_transactions.py",
    ),
    ApiKey.END_TXN: (
        "conformance/test_transaction_epochs.py",
        "integration/reference_broker/test_transactions.py",
    ),
    ApiKey.WRITE_TXN_MARKERS: ("conformance/test_transactions_in_logs.py",),
    ApiKey.TXN_OFFSET_COMMIT: ("conformance/test_transactional_offsets.py",),
    ApiKey.DESCRIBE_ACLS: ("conformance/test_acl_requests.py",),
    ApiKey.CREATE_ACLS: ("conformance/test_acl_requests.py",),
    ApiKey.DELETE_ACLS: ("conformance/test_acl_requests.py",),
    ApiKey.DESCRIBE_CONFIGS: (
        "conformance/test_broker_loggers.py",
        "conformance/test_client_metrics.py",
        "conformance/test_configs.py",
        "conformance/test_dynamic_configs.py",
    ),
    ApiKey.ALTER_CONFIGS: ("conformance/test_client_metrics.py",),
    ApiKey.ALTER_REPLICA_LOG_DIRS: ("conformance/test_cluster_admin.py",),
    ApiKey.DESCRIBE_LOG_DIRS: (
        "conformance/test_cluster_admin.py",
        "interop/test_kafkas_own_cluster_tools.py",
    ),
    ApiKey.SASL_AUTHENTICATE: (
        "conformance/test_security.py",
        "integration/reference_broker/test_client_mistakes.py",
        "integration/reference_broker/test_logins.py",
    ),
    ApiKey.CREATE_PARTITIONS: ("conformance/test_error_codes.py",),
    ApiKey.CREATE_DELEGATION_TOKEN: (
        "conformance/test_users_and_tokens.py",
        "integration/reference_broker/test_delegation_tokens.py",
    ),
    ApiKey.RENEW_DELEGATION_TOKEN: (
        "conformance/test_users_and_tokens.py",
        "integration/reference_broker/test_delegation_tokens.py",
    ),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (
        "conformance/test_users_and_tokens.py",
        "integration/reference_broker/test_delegation_tokens.py",
    ),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (
        "conformance/test_users_and_tokens.py",
        "integration/reference_broker/test_delegation_tokens.py",
    ),
    ApiKey.DELETE_GROUPS: (
        "conformance/test_consumer_groups.py",
        "conformance/test_error_codes.py",
        "conformance/test_share_group_offsets.py",
    ),
    ApiKey.ELECT_LEADERS: ("conformance/test_cluster_admin.py",),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (
        "conformance/test_broker_loggers.py",
        "conformance/test_client_metrics.py",
        "conformance/test_configs.py",
        "conformance/test_dynamic_configs.py",
        "conformance/test_error_codes.py",
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: ("conformance/test_cluster_admin.py",),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: ("conformance/test_cluster_admin.py",),
    ApiKey.OFFSET_DELETE: (
        "conformance/test_consumer_groups.py",
        "conformance/test_error_codes.py",
        "conformance/test_share_groups.py",
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: ("conformance/test_quotas.py",),
    ApiKey.ALTER_CLIENT_QUOTAS: ("conformance/test_quotas.py",),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (
        "conformance/test_users_and_tokens.py",
        "integration/reference_broker/test_logins.py",
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (
        "conformance/test_users_and_tokens.py",
        "integration/reference_broker/test_logins.py",
    ),
    ApiKey.DESCRIBE_QUORUM: (
        "conformance/test_quorum.py",
        "conformance/test_cluster_admin.py",
        "interop/test_kafkas_own_cluster_tools.py",
    ),
    ApiKey.UPDATE_FEATURES: (
        "conformance/test_features.py",
        "conformance/test_cluster_admin.py",
        "interop/test_kafkas_own_cluster_tools.py",
    ),
    ApiKey.DESCRIBE_CLUSTER: (
        "conformance/test_admin.py",
        "integration/reference_broker/test_listeners.py",
        "integration/reference_broker/test_tls.py",
    ),
    ApiKey.DESCRIBE_PRODUCERS: ("conformance/test_transactions_in_logs.py",),
    ApiKey.UNREGISTER_BROKER: ("conformance/test_cluster_admin.py",),
    ApiKey.DESCRIBE_TRANSACTIONS: (
        "interop/test_kafkas_own_transactions.py",
        "integration/reference_broker/test_transactions.py",
    ),
    ApiKey.LIST_TRANSACTIONS: (
        "interop/test_kafkas_own_transactions.py",
        "integration/reference_broker/test_transactions.py",
    ),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ("conformance/test_share_groups.py",),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ("conformance/test_share_groups.py",),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: ("conformance/test_client_metrics.py",),
    ApiKey.PUSH_TELEMETRY: ("conformance/test_client_metrics.py",),
    ApiKey.LIST_CONFIG_RESOURCES: (
        "conformance/test_cluster_admin.py",
        "conformance/test_client_metrics.py",
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ("conformance/test_topic_pages.py",),
    ApiKey.SHARE_GROUP_HEARTBEAT: ("conformance/test_share_groups.py",),
    ApiKey.SHARE_GROUP_DESCRIBE: ("conformance/test_share_groups.py",),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (
        "conformance/test_streams_groups.py",
        "conformance/test_streams_application.py",
        "conformance/test_streams_group_traces.py",
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: (
        "conformance/test_administered_streams_groups.py",
        "conformance/test_streams_acls.py",
    ),
    ApiKey.SHARE_FETCH: (
        "conformance/test_share_partitions.py",
        "conformance/test_share_sessions.py",
    ),
    ApiKey.SHARE_ACKNOWLEDGE: (
        "conformance/test_share_partitions.py",
        "conformance/test_share_sessions.py",
    ),
    ApiKey.ADD_RAFT_VOTER: ("conformance/test_quorum.py",),
    ApiKey.REMOVE_RAFT_VOTER: ("conformance/test_quorum.py",),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (
        "conformance/test_share_partitions.py",
        "conformance/test_share_states.py",
    ),
    ApiKey.READ_SHARE_GROUP_STATE: ("conformance/test_share_states.py",),
    ApiKey.WRITE_SHARE_GROUP_STATE: ("conformance/test_share_states.py",),
    ApiKey.DELETE_SHARE_GROUP_STATE: ("conformance/test_share_states.py",),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: ("conformance/test_share_states.py",),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: ("conformance/test_share_group_offsets.py",),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: ("conformance/test_share_group_offsets.py",),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: ("conformance/test_share_group_offsets.py",),
}
"""Paths below ``tests``; scenarios that run against both brokers come first."""
