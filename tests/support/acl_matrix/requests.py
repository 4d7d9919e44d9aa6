"""The requests of the ACL matrix, as data: every API, with every resource that it checks.

The form of a request is that of :meth:`Message.from_json`. ``$user`` is the name of the user,
``$NAME_id`` the id of a topic. The topics ``orders``, ``secrets``, ``public`` and ``private`` exist
with two partitions, ``doomed-USER`` with one; the groups ``readers`` and ``strangers`` have
committed offsets in ``orders`` and ``secrets``; the transactional ids ``payer``, ``payer-open`` and
``stranger`` exist, the second with an open transaction in ``orders`` and ``secrets``. What is
called ``missing`` does not exist. No request changes what another one shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.records import RecordBatchBuilder

Form = Mapping[str, Any]

EXEMPT = {
    ApiKey.API_VERSIONS: "answered before a login",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "needs a plug-in in Apache Kafka; open to all clients",
    ApiKey.PUSH_TELEMETRY: "needs a plug-in in Apache Kafka; open to all clients",
    ApiKey.SASL_HANDSHAKE: "part of the login",
    ApiKey.SASL_AUTHENTICATE: "part of the login",
}
"""The APIs that are not in the matrix, and why."""

BOGUS_PRODUCER = {"producerId": 999_999_999, "producerEpoch": 0}
TOPIC, BROKER, GROUP = 2, 4, 32
"""Kinds of resources that have configurations."""


@attrs.frozen
class Request:
    """A request in one version."""

    api_key: ApiKey
    version: int
    form: Form


def _batch(**seal: Any) -> str:
    builder = RecordBatchBuilder(max_bytes=1000)
    builder.append(1_700_000_000_000, None, b"value")
    return bytes(builder.seal(**seal)).hex()


PLAIN_BATCH = _batch()
TRANSACTIONAL_BATCH = _batch(
    producer_id=999_999_999, producer_epoch=0, base_sequence=0, is_transactional=True
)


def _each(names: Iterable[str], key: str, **fields: Any) -> list[Form]:
    """Return an item for each name, with the same other fields."""
    return [{key: name, **fields} for name in names]


NAMED = ("orders", "secrets", "missing")
WITH_PUBLIC = (*NAMED, "public", "private")
GROUPS = ("readers", "strangers")
IDS = ("$orders_id", "$secrets_id", "$unknown_id")


def _produced(names: Iterable[str], key: str, records: str) -> list[Form]:
    return _each(names, key, partitionData=[{"index": 0, "records": records}])


def _committed(names: Iterable[str], key: str) -> list[Form]:
    offsets = [{"partitionIndex": 0, "committedOffset": 1}]
    return _each(names, key, partitions=offsets)


def _indexed(names: Iterable[str], key: str) -> list[Form]:
    return _each(names, key, partitionIndexes=[0])


def _fetched(names: Iterable[str], key: str) -> list[Form]:
    partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000}
    return _each(names, key, partitions=[partition])


_FETCH = {"maxWaitMs": 0, "minBytes": 0, "maxBytes": 10_000}
EPOCHS = _each(NAMED, "topic", partitions=[{"partition": 0, "leaderEpoch": 0}])
_MEMBER = {"memberId": "nobody"}
_TRANSACTION = {"transactionalId": "payer", **BOGUS_PRODUCER}

OF_RECORDS: dict[str, Request] = {
    "produce": Request(
        ApiKey.PRODUCE,
        12,
        {"acks": -1, "timeoutMs": 5000, "topicData": _produced(NAMED, "name", PLAIN_BATCH)},
    ),
    "produce by topic id": Request(
        ApiKey.PRODUCE,
        13,
        {"acks": -1, "timeoutMs": 5000, "topicData": _produced(IDS, "topicId", PLAIN_BATCH)},
    ),
    "produce in a transaction": Request(
        ApiKey.PRODUCE,
        11,
        {
            "transactionalId": "payer",
            "acks": -1,
            "timeoutMs": 5000,
            "topicData": _produced(NAMED, "name", TRANSACTIONAL_BATCH),
        },
    ),
    "fetch": Request(ApiKey.FETCH, 12, {**_FETCH, "topics": _fetched(WITH_PUBLIC, "topic")}),
    "fetch by topic id": Request(ApiKey.FETCH, 17, {**_FETCH, "topics": _fetched(IDS, "topicId")}),
    "fetch as a follower": Request(
        ApiKey.FETCH,
        17,
        {
            **_FETCH,
            "replicaState": {"replicaId": 9, "replicaEpoch": -1},
            "topics": _fetched(IDS[:2], "topicId"),
        },
    ),
    "list offsets": Request(
        ApiKey.LIST_OFFSETS,
        9,
        {
            "replicaId": -1,
            "topics": _each(WITH_PUBLIC, "name", partitions=[{"partitionIndex": 0}]),
        },
    ),
    "delete records": Request(
        ApiKey.DELETE_RECORDS,
        2,
        {
            "timeoutMs": 5000,
            "topics": _each(NAMED, "name", partitions=[{"partitionIndex": 0, "offset": 0}]),
        },
    ),
    "offset for leader epoch": Request(
        ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, {"replicaId": -1, "topics": EPOCHS}
    ),
    "offset for leader epoch as a follower": Request(
        ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, {"replicaId": 9, "topics": EPOCHS}
    ),
    "describe producers": Request(
        ApiKey.DESCRIBE_PRODUCERS, 0, {"topics": _each(NAMED, "name", partitionIndexes=[0])}
    ),
}

OF_GROUPS: dict[str, Request] = {
    "offset commit": Request(
        ApiKey.OFFSET_COMMIT, 9, {"groupId": "readers", "topics": _committed(NAMED, "name")}
    ),
    "offset commit by topic id": Request(
        ApiKey.OFFSET_COMMIT, 10, {"groupId": "readers", "topics": _committed(IDS, "topicId")}
    ),
    "offset fetch": Request(
        ApiKey.OFFSET_FETCH,
        9,
        {
            "groups": _each(
                ("readers", "strangers"),
                "groupId",
                topics=_each(NAMED, "name", partitionIndexes=[0]),
            )
        },
    ),
    "offset fetch of all": Request(
        ApiKey.OFFSET_FETCH, 9, {"groups": _each(GROUPS, "groupId", topics=None)}
    ),
    "offset fetch by topic id": Request(
        ApiKey.OFFSET_FETCH,
        10,
        {
            "groups": _each(
                ["readers"], "groupId", topics=_each(IDS, "topicId", partitionIndexes=[0])
            )
        },
    ),
    "offset fetch of one group": Request(
        ApiKey.OFFSET_FETCH,
        7,
        {"groupId": "readers", "topics": _indexed(NAMED, "name")},
    ),
    "offset delete": Request(
        ApiKey.OFFSET_DELETE,
        0,
        {
            "groupId": "readers",
            "topics": _each(NAMED, "name", partitions=[{"partitionIndex": 1}]),
        },
    ),
    "find group coordinator": Request(
        ApiKey.FIND_COORDINATOR, 4, {"keyType": 0, "coordinatorKeys": ["readers", "strangers"]}
    ),
    "find the coordinator of one group": Request(
        ApiKey.FIND_COORDINATOR, 3, {"keyType": 0, "key": "readers"}
    ),
    "find transaction coordinator": Request(
        ApiKey.FIND_COORDINATOR, 6, {"keyType": 1, "coordinatorKeys": ["payer", "stranger"]}
    ),
    "join group": Request(
        ApiKey.JOIN_GROUP,
        9,
        {
            "groupId": "joiners",
            "sessionTimeoutMs": 30_000,
            "rebalanceTimeoutMs": 30_000,
            "memberId": "",
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": ""}],
        },
    ),
    "heartbeat": Request(ApiKey.HEARTBEAT, 4, {"groupId": "readers", "generationId": 1, **_MEMBER}),
    "leave group": Request(ApiKey.LEAVE_GROUP, 5, {"groupId": "readers", "members": [_MEMBER]}),
    "sync group": Request(
        ApiKey.SYNC_GROUP,
        5,
        {
            "groupId": "readers",
            "generationId": 1,
            "protocolType": "consumer",
            "protocolName": "range",
            **_MEMBER,
        },
    ),
    "describe groups": Request(
        ApiKey.DESCRIBE_GROUPS,
        6,
        {"groups": ["readers", "strangers", "missing"], "includeAuthorizedOperations": True},
    ),
    "consumer group heartbeat": Request(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        {
            "groupId": "readers",
            "memberId": "m",
            "memberEpoch": 5,
            "subscribedTopicNames": list(NAMED),
        },
    ),
    "describe consumer groups": Request(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        1,
        {"groupIds": ["readers", "missing"], "includeAuthorizedOperations": True},
    ),
    "list groups": Request(ApiKey.LIST_GROUPS, 5, {}),
    "delete groups": Request(ApiKey.DELETE_GROUPS, 2, {"groupsNames": ["missing", "unknown"]}),
}

OF_TRANSACTIONS: dict[str, Request] = {
    "init producer id": Request(
        ApiKey.INIT_PRODUCER_ID, 5, {"transactionalId": None, "transactionTimeoutMs": 60_000}
    ),
    "init producer id of a transactional id": Request(
        ApiKey.INIT_PRODUCER_ID, 5, {"transactionalId": "payer", "transactionTimeoutMs": 60_000}
    ),
    "init producer id for two-phase commits": Request(
        ApiKey.INIT_PRODUCER_ID,
        6,
        {"transactionalId": "payer", "transactionTimeoutMs": 60_000, "enable2Pc": True},
    ),
    "add partitions": Request(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        3,
        {
            "v3AndBelowTransactionalId": "payer",
            "v3AndBelowProducerId": 999_999_999,
            "v3AndBelowProducerEpoch": 0,
            "v3AndBelowTopics": _each(NAMED, "name", partitions=[0]),
        },
    ),
    "add existing partitions": Request(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        3,
        {
            "v3AndBelowTransactionalId": "payer",
            "v3AndBelowProducerId": 999_999_999,
            "v3AndBelowProducerEpoch": 0,
            "v3AndBelowTopics": _each(["orders"], "name", partitions=[0]),
        },
    ),
    "add partitions as a broker": Request(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        5,
        {
            "transactions": [
                {
                    **_TRANSACTION,
                    "verifyOnly": True,
                    "topics": _each(["orders", "secrets"], "name", partitions=[0]),
                }
            ]
        },
    ),
    "add offsets": Request(ApiKey.ADD_OFFSETS_TO_TXN, 4, {**_TRANSACTION, "groupId": "readers"}),
    "end transaction": Request(ApiKey.END_TXN, 4, {**_TRANSACTION, "committed": True}),
    "txn offset commit": Request(
        ApiKey.TXN_OFFSET_COMMIT,
        4,
        {**_TRANSACTION, "groupId": "readers", "topics": _committed(NAMED, "name")},
    ),
    "write transaction markers": Request(
        ApiKey.WRITE_TXN_MARKERS,
        1,
        {
            "markers": [
                {
                    **BOGUS_PRODUCER,
                    "transactionResult": False,
                    "coordinatorEpoch": 0,
                    "topics": _each(["missing"], "name", partitionIndexes=[0]),
                }
            ]
        },
    ),
    "describe transactions": Request(
        ApiKey.DESCRIBE_TRANSACTIONS,
        0,
        {"transactionalIds": ["payer", "payer-open", "stranger", "missing"]},
    ),
    "list transactions": Request(ApiKey.LIST_TRANSACTIONS, 1, {}),
}
