"""The APIs of this broker: which versions, and where their handlers are.

What ApiVersions tells is derived from here, so nothing is advertised that is not served. Handlers
are imported when they are first needed: that keeps the start of a broker short.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.versions import VersionRange
from pyk.runtime import slotted

Handler = Callable[..., Any]
"""Called with the services of the broker, the request and its context."""


@slotted.frozen
class Api:
    """One API: the versions that are served, and its handler as ``module.function``."""

    versions: VersionRange
    handler: str


def _api(versions: str, handler: str) -> Api:
    return Api(VersionRange.parse(versions), handler)


# The versions are those of Apache Kafka 4.3.
APIS: dict[ApiKey, Api] = {
    ApiKey.PRODUCE: _api("3-13", "produce.produce"),
    ApiKey.FETCH: _api("4-18", "fetch.fetch"),
    ApiKey.LIST_OFFSETS: _api("1-11", "offsets.list_offsets"),
    ApiKey.METADATA: _api("0-13", "metadata.metadata"),
    ApiKey.OFFSET_COMMIT: _api("2-10", "group_offsets.offset_commit"),
    ApiKey.OFFSET_FETCH: _api("1-10", "group_offsets.offset_fetch"),
    ApiKey.FIND_COORDINATOR: _api("0-6", "coordinators.find_coordinator"),
    ApiKey.JOIN_GROUP: _api("0-9", "group_members.join_group"),
    ApiKey.HEARTBEAT: _api("0-4", "group_members.heartbeat"),
    ApiKey.LEAVE_GROUP: _api("0-5", "group_members.leave_group"),
    ApiKey.SYNC_GROUP: _api("0-5", "group_members.sync_group"),
    ApiKey.SASL_HANDSHAKE: _api("1", "sasl.sasl_handshake"),
    ApiKey.SASL_AUTHENTICATE: _api("0-2", "sasl.sasl_authenticate"),
    ApiKey.DESCRIBE_GROUPS: _api("0-6", "groups.describe_groups"),
    ApiKey.LIST_GROUPS: _api("0-5", "groups.list_groups"),
    ApiKey.API_VERSIONS: _api("0-4", "api_versions.api_versions"),
    ApiKey.CREATE_TOPICS: _api("2-7", "forwarding.forward"),
    ApiKey.DELETE_TOPICS: _api("1-6", "topics.delete_topics"),
    ApiKey.DELETE_RECORDS: _api("0-2", "offsets.delete_records"),
    ApiKey.INIT_PRODUCER_ID: _api("0-6", "transactions.init_producer_id"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _api("2-4", "offsets.offset_for_leader_epoch"),
    ApiKey.ADD_PARTITIONS_TO_TXN: _api("0-5", "transactions.add_partitions_to_txn"),
    ApiKey.ADD_OFFSETS_TO_TXN: _api("0-4", "transactions.add_offsets_to_txn"),
    ApiKey.END_TXN: _api("0-5", "transactions.end_txn"),
    ApiKey.WRITE_TXN_MARKERS: _api("1-2", "transaction_markers.write_txn_markers"),
    ApiKey.TXN_OFFSET_COMMIT: _api("0-5", "transactional_offsets.txn_offset_commit"),
    ApiKey.DESCRIBE_ACLS: _api("1-3", "acls.describe_acls"),
    ApiKey.CREATE_ACLS: _api("1-3", "acls.alter_acls"),
    ApiKey.DELETE_ACLS: _api("1-3", "acls.alter_acls"),
    ApiKey.DESCRIBE_CONFIGS: _api("1-4", "configs.describe_configs"),
    ApiKey.ALTER_CONFIGS: _api("0-2", "forwarding.forward"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: _api("1-2", "log_dirs.alter_replica_log_dirs"),
    ApiKey.DESCRIBE_LOG_DIRS: _api("1-5", "log_dirs.describe_log_dirs"),
    ApiKey.CREATE_PARTITIONS: _api("0-3", "forwarding.forward"),
    ApiKey.CREATE_DELEGATION_TOKEN: _api("1-3", "delegation_tokens.create_delegation_token"),
    ApiKey.RENEW_DELEGATION_TOKEN: _api("1-2", "delegation_tokens.renew_delegation_token"),
    ApiKey.EXPIRE_DELEGATION_TOKEN: _api("1-2", "delegation_tokens.expire_delegation_token"),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _api("1-3", "delegation_tokens.describe_delegation_token"),
    ApiKey.DELETE_GROUPS: _api("0-2", "groups.delete_groups"),
    ApiKey.ELECT_LEADERS: _api("0-2", "forwarding.forward"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _api("0-1", "broker_loggers.incremental_alter_configs"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _api("0-1", "forwarding.forward"),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _api("0", "forwarding.forward"),
    ApiKey.OFFSET_DELETE: _api("0", "group_offsets.offset_delete"),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _api("0-1", "client_quotas.describe_client_quotas"),
    ApiKey.ALTER_CLIENT_QUOTAS: _api("0-1", "forwarding.forward"),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _api("0", "scram.describe_user_scram_credentials"),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _api("0", "forwarding.forward"),
    ApiKey.DESCRIBE_QUORUM: _api("0-2", "quorum.describe_quorum"),
    ApiKey.UPDATE_FEATURES: _api("0-2", "forwarding.forward"),
    ApiKey.DESCRIBE_CLUSTER: _api("0-2", "metadata.describe_cluster"),
    ApiKey.UNREGISTER_BROKER: _api("0", "forwarding.forward"),
    ApiKey.DESCRIBE_PRODUCERS: _api("0", "producers.describe_producers"),
    ApiKey.DESCRIBE_TRANSACTIONS: _api("0", "transaction_listing.describe_transactions"),
    ApiKey.LIST_TRANSACTIONS: _api("0-2", "transaction_listing.list_transactions"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _api("0-1", "consumer_groups.consumer_group_heartbeat"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _api("0-1", "consumer_groups.consumer_group_describe"),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: _api("0", "telemetry.get_telemetry_subscriptions"),
    ApiKey.PUSH_TELEMETRY: _api("0", "telemetry.push_telemetry"),
    ApiKey.SHARE_FETCH: _api("1-2", "share_fetch.share_fetch"),
    ApiKey.SHARE_ACKNOWLEDGE: _api("1-2", "share_acknowledge.share_acknowledge"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _api("0", "metadata.describe_topic_partitions"),
    ApiKey.SHARE_GROUP_HEARTBEAT: _api("1", "share_groups.share_group_heartbeat"),
    ApiKey.SHARE_GROUP_DESCRIBE: _api("1", "share_groups.share_group_describe"),
    ApiKey.STREAMS_GROUP_HEARTBEAT: _api("0", "streams_groups.streams_group_heartbeat"),
    ApiKey.STREAMS_GROUP_DESCRIBE: _api("0", "streams_groups.streams_group_describe"),
    ApiKey.LIST_CONFIG_RESOURCES: _api("0-1", "config_resources.list_config_resources"),
    ApiKey.ADD_RAFT_VOTER: _api("0-1", "quorum.change_voters"),
    ApiKey.REMOVE_RAFT_VOTER: _api("0", "quorum.change_voters"),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _api("0", "share_states.initialize_share_group_state"),
    ApiKey.READ_SHARE_GROUP_STATE: _api("0", "share_states.read_share_group_state"),
    ApiKey.WRITE_SHARE_GROUP_STATE: _api("0-1", "share_states.write_share_group_state"),
    ApiKey.DELETE_SHARE_GROUP_STATE: _api("0", "share_states.delete_share_group_state"),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _api(
        "0-1", "share_states.read_share_group_state_summary"
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _api(
        "0-1", "share_group_offsets.describe_share_group_offsets"
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _api("0", "share_group_offsets.alter_share_group_offsets"),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _api("0", "share_group_offsets.delete_share_group_offsets"),
}

SERVED = {key: api.versions for key, api in APIS.items()}


@cache
def handler(api_key: ApiKey) -> Handler:
    """Return the handler of an API that is served."""
    module, _, function = APIS[api_key].handler.partition(".")
    found: Handler = getattr(import_module(f"{__package__}.{module}"), function)
    return found
