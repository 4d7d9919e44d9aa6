"""The administrative requests of the ACL matrix, as data; see :mod:`.requests`."""

from __future__ import annotations

from typing import Any

from pyk.protocol.api_keys import ApiKey
from support.acl_matrix.requests import (
    BROKER,
    GROUP,
    IDS,
    NAMED,
    TOPIC,
    WITH_PUBLIC,
    Form,
    Request,
)


def _resources(**fields: Any) -> list[Form]:
    named = [(TOPIC, name) for name in NAMED]
    kinds = [*named, (BROKER, "0"), (BROKER, ""), (GROUP, "readers"), (GROUP, "strangers")]
    return [{"resourceType": kind, "resourceName": name, **fields} for kind, name in kinds]


def _changes(**fields: Any) -> list[Form]:
    of_kinds = {
        TOPIC: "retention.ms",
        BROKER: "log.retention.ms",
        GROUP: "consumer.session.timeout.ms",
    }
    return [
        {
            **resource,
            "configs": [{"name": of_kinds[resource["resourceType"]], "value": "50000", **fields}],
        }
        for resource in _resources()
    ]


def _new_topics() -> list[Form]:
    return [
        {"name": name, "numPartitions": 1, "replicationFactor": 1}
        for name in ("fresh-$user", "orders", "new-secrets")
    ]


def _acl_filter(principal: str) -> Form:
    return {
        "resourceTypeFilter": 1,
        "resourceNameFilter": None,
        "patternTypeFilter": 1,
        "principalFilter": principal,
        "hostFilter": None,
        "operation": 1,
        "permissionType": 1,
    }


OF_TOPICS: dict[str, Request] = {
    "metadata of all": Request(
        ApiKey.METADATA, 13, {"topics": None, "includeTopicAuthorizedOperations": True}
    ),
    "metadata": Request(
        ApiKey.METADATA,
        13,
        {
            "topics": [{"name": name} for name in WITH_PUBLIC],
            "allowAutoTopicCreation": False,
            "includeTopicAuthorizedOperations": True,
        },
    ),
    "metadata by topic id": Request(
        ApiKey.METADATA,
        13,
        {
            "topics": [{"topicId": one, "name": None} for one in IDS],
            "allowAutoTopicCreation": False,
        },
    ),
    "metadata of the cluster": Request(
        ApiKey.METADATA, 10, {"topics": [], "includeClusterAuthorizedOperations": True}
    ),
    "describe cluster": Request(
        ApiKey.DESCRIBE_CLUSTER, 1, {"includeClusterAuthorizedOperations": True}
    ),
    "describe topic partitions": Request(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": [{"name": name} for name in WITH_PUBLIC]}
    ),
    "describe all topic partitions": Request(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": []}),
    "create topics": Request(
        ApiKey.CREATE_TOPICS,
        7,
        {"timeoutMs": 5000, "validateOnly": True, "topics": _new_topics()},
    ),
    "create partitions": Request(
        ApiKey.CREATE_PARTITIONS,
        3,
        {
            "timeoutMs": 5000,
            "validateOnly": True,
            "topics": [{"name": name, "count": 5, "assignments": None} for name in NAMED],
        },
    ),
    "delete missing topics": Request(
        ApiKey.DELETE_TOPICS, 5, {"timeoutMs": 5000, "topicNames": ["missing", "unknown"]}
    ),
    "delete topics by id": Request(
        ApiKey.DELETE_TOPICS,
        6,
        {
            "timeoutMs": 5000,
            "topics": [{"name": None, "topicId": one} for one in ("$doomed_id", "$unknown_id")],
        },
    ),
    "delete topics": Request(
        ApiKey.DELETE_TOPICS, 6, {"timeoutMs": 5000, "topics": [{"name": "doomed-$user"}]}
    ),
}

OF_CONFIGS: dict[str, Request] = {
    "describe configs": Request(
        ApiKey.DESCRIBE_CONFIGS, 4, {"resources": _resources(configurationKeys=["retention.ms"])}
    ),
    "alter configs": Request(
        ApiKey.ALTER_CONFIGS,
        2,
        {
            "validateOnly": True,
            # To drop all other configurations of the cluster is refused for other reasons.
            "resources": [one for one in _changes() if one["resourceName"]],
        },
    ),
    "incremental alter configs": Request(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        {"validateOnly": True, "resources": _changes(configOperation=0)},
    ),
    "describe client quotas": Request(
        ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [], "strict": False}
    ),
    "alter client quotas": Request(
        ApiKey.ALTER_CLIENT_QUOTAS,
        1,
        {
            "validateOnly": True,
            "entries": [
                {
                    "entity": [{"entityType": "user", "entityName": "somebody"}],
                    "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}],
                }
            ],
        },
    ),
    "update features": Request(
        ApiKey.UPDATE_FEATURES,
        1,
        {
            "timeoutMs": 5000,
            "validateOnly": True,
            "featureUpdates": [
                {"feature": "unknown.feature", "maxVersionLevel": 1, "upgradeType": 1}
            ],
        },
    ),
}

_PARTITIONS = [{"topic": name, "partitions": [0]} for name in NAMED]
_ID = "00000000-0000-0000-0000-000000000005"
_VOTER = {"clusterId": "another-cluster", "voterId": 99, "voterDirectoryId": _ID}

OF_REPLICAS: dict[str, Request] = {
    "describe log dirs": Request(ApiKey.DESCRIBE_LOG_DIRS, 5, {"topics": []}),
    "alter replica log dirs": Request(
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        2,
        {
            "dirs": [
                {
                    "path": "/no-such-directory",
                    "topics": [{"name": name, "partitions": [0]} for name in NAMED],
                }
            ]
        },
    ),
    "elect leaders": Request(
        ApiKey.ELECT_LEADERS,
        2,
        {"electionType": 0, "topicPartitions": _PARTITIONS, "timeoutMs": 5000},
    ),
    "reassign partitions": Request(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        1,
        {
            "timeoutMs": 5000,
            "topics": [
                {"name": name, "partitions": [{"partitionIndex": 0, "replicas": None}]}
                for name in NAMED
            ],
        },
    ),
    "list reassignments": Request(
        ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, {"timeoutMs": 5000, "topics": None}
    ),
    "describe quorum": Request(
        ApiKey.DESCRIBE_QUORUM,
        2,
        {"topics": [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 7}]}]},
    ),
    "unregister a broker": Request(ApiKey.UNREGISTER_BROKER, 0, {"brokerId": 99}),
    "list config resources": Request(ApiKey.LIST_CONFIG_RESOURCES, 1, {"resourceTypes": [1]}),
    "add a voter": Request(
        ApiKey.ADD_RAFT_VOTER, 1, {**_VOTER, "timeoutMs": 5000, "listeners": []}
    ),
    "remove a voter": Request(ApiKey.REMOVE_RAFT_VOTER, 0, _VOTER),
}

OF_SECURITY: dict[str, Request] = {
    "describe acls": Request(ApiKey.DESCRIBE_ACLS, 3, _acl_filter("User:nobody-else")),
    "create acls": Request(
        ApiKey.CREATE_ACLS,
        3,
        {
            "creations": [
                {
                    "resourceType": 2,
                    "resourceName": "nothing",
                    "resourcePatternType": 3,
                    "principal": "User:nobody-else",
                    "host": "*",
                    "operation": 3,
                    "permissionType": 3,
                }
            ]
        },
    ),
    "delete acls": Request(ApiKey.DELETE_ACLS, 3, {"filters": [_acl_filter("User:nobody-at-all")]}),
    "describe scram credentials": Request(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": [{"name": "nobody-else"}]}
    ),
    "alter scram credentials": Request(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        0,
        {"deletions": [{"name": "nobody-else", "mechanism": 1}]},
    ),
    "describe delegation tokens": Request(
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        3,
        {"owners": [{"principalType": "User", "principalName": "owner"}]},
    ),
    "create a delegation token": Request(
        ApiKey.CREATE_DELEGATION_TOKEN, 3, {"renewers": [], "maxLifetimeMs": 1000}
    ),
    "create a delegation token of another owner": Request(
        ApiKey.CREATE_DELEGATION_TOKEN,
        3,
        {
            "ownerPrincipalType": "User",
            "ownerPrincipalName": "owner",
            "renewers": [],
            "maxLifetimeMs": 1000,
        },
    ),
    "renew a delegation token": Request(
        ApiKey.RENEW_DELEGATION_TOKEN, 2, {"hmac": "00", "renewPeriodMs": 1000}
    ),
    "expire a delegation token": Request(
        ApiKey.EXPIRE_DELEGATION_TOKEN, 2, {"hmac": "00", "expiryTimePeriodMs": 1000}
    ),
}

OF_NEW_TOPICS: dict[str, Request] = {
    "create a topic automatically": Request(
        ApiKey.METADATA, 13, {"topics": [{"name": "auto-$user"}], "allowAutoTopicCreation": True}
    ),
}
"""For the end: they change what others show."""
