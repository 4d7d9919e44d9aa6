"""Requests of the ACL matrix about share groups (KIP-932), and about their state.

No group of the matrix is a share group, and no share partition has a state: so users do not get in
each other's way, and what is refused for another reason was not refused because of ACLs.
"""

from __future__ import annotations

from pyk.protocol.api_keys import ApiKey
from support.acl_matrix.requests import GROUPS, IDS, NAMED, Request

_MEMBER_ID = "AAAAAAAAAAAAAAAAAAAABw"


def _of_state(**partition: int) -> dict[str, object]:
    topic = {"topicId": "$unknown_id", "partitions": [{"partition": 0, **partition}]}
    return {"groupId": "readers", "topics": [topic]}


OF_SHARE_GROUPS: dict[str, Request] = {
    "share group heartbeat": Request(
        ApiKey.SHARE_GROUP_HEARTBEAT,
        1,
        {
            "groupId": "readers",
            "memberId": "m",
            "memberEpoch": 5,
            "subscribedTopicNames": list(NAMED),
        },
    ),
    "describe share groups": Request(
        ApiKey.SHARE_GROUP_DESCRIBE,
        1,
        {"groupIds": ["readers", "missing"], "includeAuthorizedOperations": True},
    ),
    "describe share group offsets": Request(
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        1,
        {
            "groups": [
                {
                    "groupId": group,
                    "topics": [{"topicName": name, "partitions": [0]} for name in NAMED],
                }
                for group in GROUPS
            ]
        },
    ),
    "describe all share group offsets": Request(
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        1,
        {"groups": [{"groupId": group, "topics": None} for group in GROUPS]},
    ),
    "alter share group offsets": Request(
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        0,
        {
            "groupId": "readers",
            "topics": [
                {"topicName": name, "partitions": [{"partitionIndex": 0, "startOffset": 0}]}
                for name in NAMED
            ],
        },
    ),
    "delete share group offsets": Request(
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        0,
        {"groupId": "readers", "topics": [{"topicName": name} for name in NAMED]},
    ),
    "share fetch": Request(
        ApiKey.SHARE_FETCH,
        2,
        {
            "groupId": "readers",
            "memberId": _MEMBER_ID,
            "shareSessionEpoch": 5,
            "maxWaitMs": 0,
            "minBytes": 0,
            "maxBytes": 1000,
            "topics": [
                {"topicId": topic_id, "partitions": [{"partitionIndex": 0}]} for topic_id in IDS
            ],
        },
    ),
    "share acknowledge": Request(
        ApiKey.SHARE_ACKNOWLEDGE,
        2,
        {
            "groupId": "readers",
            "memberId": _MEMBER_ID,
            "shareSessionEpoch": 5,
            "topics": [
                {"topicId": topic_id, "partitions": [{"partitionIndex": 0}]} for topic_id in IDS
            ],
        },
    ),
    "initialize share group state": Request(
        ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, _of_state(stateEpoch=1, startOffset=0)
    ),
    "read share group state": Request(ApiKey.READ_SHARE_GROUP_STATE, 0, _of_state(leaderEpoch=0)),
    "write share group state": Request(
        ApiKey.WRITE_SHARE_GROUP_STATE,
        1,
        _of_state(stateEpoch=1, leaderEpoch=0, startOffset=0, deliveryCompleteCount=0),
    ),
    "read share group state summary": Request(
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 1, _of_state(leaderEpoch=0)
    ),
    "delete share group state": Request(ApiKey.DELETE_SHARE_GROUP_STATE, 0, _of_state()),
}
