"""What each API needs: "Operations and Resources on Protocols" of Kafka's documentation.

There are conditions for the request as a whole, checked in order; the first that fails refuses it.
What is left over decides on the items of the request, each by itself, or hides what the client may
not see of the answer.
"""

from __future__ import annotations

from collections.abc import Callable

from pyk.protocol.acls import AclOperation
from pyk.protocol.api_keys import ApiKey
from pyk.reference_broker.deferred import HandlerResult
from pyk.runtime import slotted

from . import (
    conditions,
    configs,
    groups,
    metadata,
    share_groups,
    streams_groups,
    topics,
    transactions,
)
from .call import Call, by_item
from .conditions import Condition, group_refusal, on_cluster, on_group, on_transactional_id
from .topics import partitions

ALTER, ALTER_CONFIGS = AclOperation.ALTER, AclOperation.ALTER_CONFIGS
CLUSTER_ACTION, DELETE = AclOperation.CLUSTER_ACTION, AclOperation.DELETE
DESCRIBE, DESCRIBE_CONFIGS = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS
READ, WRITE = AclOperation.READ, AclOperation.WRITE


@slotted.frozen
class Requirement:
    """What an API needs."""

    conditions: tuple[Condition, ...]
    handle: Callable[[Call], HandlerResult]


def _needs(*needed: Condition, then: Callable[[Call], HandlerResult] = Call.proceed) -> Requirement:
    return Requirement(needed, then)


_OPEN = _needs()

REQUIREMENTS: dict[ApiKey, Requirement] = {
    # Without a login nothing else is served, and nobody needs to be allowed to log in.
    ApiKey.API_VERSIONS: _OPEN,
    ApiKey.SASL_HANDSHAKE: _OPEN,
    ApiKey.SASL_AUTHENTICATE: _OPEN,
    # Records
    ApiKey.PRODUCE: _needs(conditions.produce_transaction, then=partitions(WRITE)),
    ApiKey.FETCH: _OPEN,  # the handler asks for each partition of the session
    ApiKey.LIST_OFFSETS: _needs(then=partitions(DESCRIBE)),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _needs(then=topics.leader_epochs),
    ApiKey.DELETE_RECORDS: _needs(then=partitions(DELETE)),
    # The cluster and its topics
    ApiKey.METADATA: _needs(then=metadata.metadata),
    ApiKey.DESCRIBE_CLUSTER: _needs(then=metadata.describe_cluster),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _needs(then=metadata.describe_topic_partitions),
    ApiKey.CREATE_TOPICS: _needs(then=topics.create_topics),
    ApiKey.CREATE_PARTITIONS: _needs(then=topics.create_partitions),
    ApiKey.DELETE_TOPICS: _needs(then=topics.delete_topics),
    ApiKey.UPDATE_FEATURES: _needs(on_cluster(ALTER)),
    ApiKey.UNREGISTER_BROKER: _needs(on_cluster(ALTER)),
    # Replicas, where they are and which lead
    ApiKey.DESCRIBE_LOG_DIRS: _needs(on_cluster(DESCRIBE)),
    ApiKey.ALTER_REPLICA_LOG_DIRS: _needs(on_cluster(ALTER)),
    ApiKey.ELECT_LEADERS: _needs(on_cluster(ALTER)),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _needs(on_cluster(ALTER)),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _needs(on_cluster(DESCRIBE)),
    ApiKey.DESCRIBE_QUORUM: _needs(on_cluster(DESCRIBE)),
    ApiKey.ADD_RAFT_VOTER: _needs(on_cluster(ALTER)),
    ApiKey.REMOVE_RAFT_VOTER: _needs(on_cluster(ALTER)),
    # Metrics of clients: whoever connects may push its own
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: _OPEN,
    ApiKey.PUSH_TELEMETRY: _OPEN,
    # Configurations and quotas
    ApiKey.DESCRIBE_CONFIGS: _needs(then=configs.describe_configs),
    ApiKey.ALTER_CONFIGS: _needs(then=configs.alter_configs),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _needs(then=configs.alter_configs),
    ApiKey.LIST_CONFIG_RESOURCES: _needs(on_cluster(DESCRIBE_CONFIGS)),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _needs(on_cluster(DESCRIBE_CONFIGS)),
    ApiKey.ALTER_CLIENT_QUOTAS: _needs(on_cluster(ALTER_CONFIGS)),
    # Groups
    ApiKey.FIND_COORDINATOR: _needs(conditions.find_coordinator, then=groups.find_coordinator),
    ApiKey.JOIN_GROUP: _needs(on_group(READ)),
    ApiKey.SYNC_GROUP: _needs(on_group(READ)),
    ApiKey.HEARTBEAT: _needs(on_group(READ)),
    ApiKey.LEAVE_GROUP: _needs(on_group(READ)),
    ApiKey.OFFSET_COMMIT: _needs(on_group(READ), then=partitions(READ)),
    ApiKey.OFFSET_FETCH: _needs(then=groups.offset_fetch),
    ApiKey.OFFSET_DELETE: _needs(on_group(DELETE), then=partitions(READ, also_without_items=True)),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _needs(on_group(READ), then=groups.subscribe),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _needs(then=groups.describe_members),
    ApiKey.DESCRIBE_GROUPS: _needs(then=groups.describe_groups),
    ApiKey.LIST_GROUPS: _needs(then=groups.list_groups),
    ApiKey.DELETE_GROUPS: _needs(
        then=by_item(
            "groups_names", "results", lambda call, group: group_refusal(call, DELETE, group)
        )
    ),
    # Groups of Kafka Streams
    ApiKey.STREAMS_GROUP_HEARTBEAT: _needs(on_group(READ), then=streams_groups.heartbeat),
    ApiKey.STREAMS_GROUP_DESCRIBE: _needs(then=streams_groups.describe),
    # Share groups and their state
    ApiKey.SHARE_GROUP_HEARTBEAT: _needs(on_group(READ), then=groups.subscribe),
    ApiKey.SHARE_GROUP_DESCRIBE: _needs(then=groups.describe_members),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _needs(then=share_groups.describe_offsets),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _needs(on_group(READ), then=share_groups.alter_offsets),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _needs(on_group(DELETE), then=share_groups.delete_offsets),
    # The handlers of these ask for each topic
    ApiKey.SHARE_FETCH: _needs(conditions.share_group),
    ApiKey.SHARE_ACKNOWLEDGE: _needs(conditions.share_group),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _needs(on_cluster(CLUSTER_ACTION)),
    ApiKey.READ_SHARE_GROUP_STATE: _needs(on_cluster(CLUSTER_ACTION)),
    ApiKey.WRITE_SHARE_GROUP_STATE: _needs(on_cluster(CLUSTER_ACTION)),
    ApiKey.DELETE_SHARE_GROUP_STATE: _needs(on_cluster(CLUSTER_ACTION)),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _needs(on_cluster(CLUSTER_ACTION)),
    # Producers and transactions
    ApiKey.INIT_PRODUCER_ID: _needs(conditions.init_producer),
    ApiKey.ADD_PARTITIONS_TO_TXN: _needs(
        conditions.add_partitions, then=transactions.add_partitions
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: _needs(on_transactional_id(WRITE), on_group(READ)),
    ApiKey.TXN_OFFSET_COMMIT: _needs(
        on_transactional_id(WRITE), on_group(READ), then=partitions(READ)
    ),
    ApiKey.END_TXN: _needs(on_transactional_id(WRITE)),
    ApiKey.WRITE_TXN_MARKERS: _needs(on_cluster(ALTER, CLUSTER_ACTION)),
    ApiKey.DESCRIBE_PRODUCERS: _needs(then=topics.describe_producers),
    ApiKey.DESCRIBE_TRANSACTIONS: _needs(then=transactions.describe_transactions),
    ApiKey.LIST_TRANSACTIONS: _needs(then=transactions.list_transactions),
    # Delegation tokens: the handler knows whose they are, and asks for those of others
    ApiKey.CREATE_DELEGATION_TOKEN: _OPEN,
    ApiKey.RENEW_DELEGATION_TOKEN: _OPEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _OPEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _OPEN,
    # Users and ACLs
    ApiKey.DESCRIBE_ACLS: _needs(on_cluster(DESCRIBE)),
    ApiKey.CREATE_ACLS: _needs(on_cluster(ALTER)),
    ApiKey.DELETE_ACLS: _needs(on_cluster(ALTER)),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _needs(on_cluster(DESCRIBE)),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _needs(on_cluster(ALTER)),
}
