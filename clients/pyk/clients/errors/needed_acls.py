"""The ACLs that the requests of clients need, so that an error can say which one is missing.

As Kafka's documentation lists them ("Authorization and ACLs", "Protocols"). READ, WRITE, DELETE and
ALTER allow DESCRIBE as well.
"""

from __future__ import annotations

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode

_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_TOKEN = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
_TRANSACTIONAL_ID = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

_NEEDED: dict[int, dict[int, str]] = {
    ApiKey.PRODUCE: {_TOPIC: "WRITE", _TRANSACTIONAL_ID: "WRITE"},
    ApiKey.FETCH: {_TOPIC: "READ"},
    ApiKey.METADATA: {
        _TOPIC: "DESCRIBE, which READ and WRITE include, and for CREATE if clients create it"
    },
    ApiKey.FIND_COORDINATOR: {_GROUP: "DESCRIBE or READ", _TRANSACTIONAL_ID: "DESCRIBE or WRITE"},
    ApiKey.JOIN_GROUP: {_GROUP: "READ"},
    ApiKey.CONSUMER_GROUP_HEARTBEAT: {_GROUP: "READ", _TOPIC: "DESCRIBE or READ"},
    ApiKey.SHARE_GROUP_HEARTBEAT: {_GROUP: "READ", _TOPIC: "DESCRIBE or READ"},
    ApiKey.SHARE_FETCH: {_GROUP: "READ", _TOPIC: "READ"},
    ApiKey.SHARE_ACKNOWLEDGE: {_GROUP: "READ", _TOPIC: "READ"},
    ApiKey.LIST_OFFSETS: {_TOPIC: "DESCRIBE, READ or WRITE"},
    ApiKey.OFFSET_FOR_LEADER_EPOCH: {_TOPIC: "DESCRIBE, READ or WRITE"},
    ApiKey.OFFSET_COMMIT: {_TOPIC: "READ", _GROUP: "READ"},
    ApiKey.OFFSET_FETCH: {_TOPIC: "DESCRIBE or READ", _GROUP: "DESCRIBE or READ"},
    ApiKey.DESCRIBE_GROUPS: {_GROUP: "DESCRIBE or READ"},
    ApiKey.DELETE_GROUPS: {_GROUP: "DELETE"},
    ApiKey.DESCRIBE_TRANSACTIONS: {_TRANSACTIONAL_ID: "DESCRIBE or WRITE"},
    ApiKey.OFFSET_DELETE: {_TOPIC: "READ", _GROUP: "DELETE"},
    ApiKey.INIT_PRODUCER_ID: {
        _CLUSTER: "IDEMPOTENT_WRITE, or WRITE on any topic",
        _TRANSACTIONAL_ID: "WRITE",
    },
    ApiKey.ADD_PARTITIONS_TO_TXN: {_TOPIC: "WRITE", _TRANSACTIONAL_ID: "WRITE"},
    ApiKey.ADD_OFFSETS_TO_TXN: {_GROUP: "READ", _TRANSACTIONAL_ID: "WRITE"},
    ApiKey.TXN_OFFSET_COMMIT: {_TOPIC: "READ", _GROUP: "READ", _TRANSACTIONAL_ID: "WRITE"},
    ApiKey.END_TXN: {_TRANSACTIONAL_ID: "WRITE"},
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: {_TOPIC: "DESCRIBE, READ or WRITE"},
    ApiKey.CONSUMER_GROUP_DESCRIBE: {_GROUP: "DESCRIBE or READ", _TOPIC: "DESCRIBE"},
    ApiKey.SHARE_GROUP_DESCRIBE: {_GROUP: "DESCRIBE or READ", _TOPIC: "DESCRIBE"},
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: {
        _GROUP: "DESCRIBE or READ",
        _TOPIC: "DESCRIBE, READ or WRITE",
    },
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: {_GROUP: "READ", _TOPIC: "READ"},
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: {_GROUP: "DELETE", _TOPIC: "READ"},
    ApiKey.STREAMS_GROUP_DESCRIBE: {_GROUP: "DESCRIBE or READ", _TOPIC: "DESCRIBE"},
    ApiKey.LEAVE_GROUP: {_GROUP: "READ"},
    ApiKey.CREATE_TOPICS: {_TOPIC: "CREATE on it or on the cluster"},
    ApiKey.DELETE_TOPICS: {_TOPIC: "DELETE"},
    ApiKey.DELETE_RECORDS: {_TOPIC: "DELETE"},
    ApiKey.DESCRIBE_PRODUCERS: {_TOPIC: "READ"},
    ApiKey.CREATE_DELEGATION_TOKEN: {_TOKEN: "CREATE_TOKENS on the user that is to own it"},
    ApiKey.CREATE_PARTITIONS: {_TOPIC: "ALTER"},
    ApiKey.DESCRIBE_CONFIGS: {
        **dict.fromkeys((_TOPIC, _GROUP), "DESCRIBE_CONFIGS"),
        _CLUSTER: "DESCRIBE_CONFIGS on the cluster",
    },
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {
        **dict.fromkeys((_TOPIC, _GROUP), "ALTER_CONFIGS"),
        _CLUSTER: "ALTER_CONFIGS on the cluster",
    },
    ApiKey.LIST_CONFIG_RESOURCES: {_CLUSTER: "DESCRIBE_CONFIGS on the cluster"},
    ApiKey.DESCRIBE_ACLS: {_CLUSTER: "DESCRIBE on the cluster"},
    ApiKey.CREATE_ACLS: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.DELETE_ACLS: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: {_CLUSTER: "DESCRIBE on the cluster"},
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.DESCRIBE_CLIENT_QUOTAS: {_CLUSTER: "DESCRIBE_CONFIGS on the cluster"},
    ApiKey.ALTER_CLIENT_QUOTAS: {_CLUSTER: "ALTER_CONFIGS on the cluster"},
    ApiKey.DESCRIBE_LOG_DIRS: {_CLUSTER: "DESCRIBE on the cluster"},
    ApiKey.ALTER_REPLICA_LOG_DIRS: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.ELECT_LEADERS: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.LIST_PARTITION_REASSIGNMENTS: {_CLUSTER: "DESCRIBE on the cluster"},
    ApiKey.DESCRIBE_QUORUM: {_CLUSTER: "DESCRIBE on the cluster"},
    ApiKey.UPDATE_FEATURES: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.UNREGISTER_BROKER: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.ADD_RAFT_VOTER: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.REMOVE_RAFT_VOTER: {_CLUSTER: "ALTER on the cluster"},
    ApiKey.WRITE_TXN_MARKERS: {_CLUSTER: "ALTER or CLUSTER_ACTION on the cluster"},
}


def needed_acl(api_key: int | None, code: int) -> str:
    """Return the half of a sentence that names the missing ACL, empty if it is not known."""
    needed = None if api_key is None else _NEEDED.get(api_key, {}).get(code)
    return "" if needed is None else f"it needs an ACL for {needed}"
