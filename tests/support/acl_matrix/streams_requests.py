"""Requests of the ACL matrix about streams groups (KIP-1071).

No group of the matrix is a streams group, so users do not get in each other's way: a heartbeat that
ACLs do not refuse is refused for its epoch.
"""

from __future__ import annotations

from pyk.protocol.api_keys import ApiKey
from support.acl_matrix.requests import NAMED, Form, Request


def _heartbeat(*subtopologies: Form) -> Form:
    return {
        "groupId": "readers",
        "memberId": "m",
        "memberEpoch": 5,
        "topology": {
            "epoch": 0,
            "subtopologies": [
                {"subtopologyId": str(number), **each} for number, each in enumerate(subtopologies)
            ],
        },
    }


OF_STREAMS_GROUPS: dict[str, Request] = {
    "streams group heartbeat": Request(
        ApiKey.STREAMS_GROUP_HEARTBEAT, 0, _heartbeat({"sourceTopics": list(NAMED)})
    ),
    "streams group heartbeat with internal topics": Request(
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        0,
        _heartbeat(
            {"sourceTopics": ["orders"], "repartitionSinkTopics": ["public"]},
            {
                "repartitionSourceTopics": [{"name": "public"}],
                "stateChangelogTopics": [{"name": "private"}],
            },
        ),
    ),
    "streams group heartbeat with a topic of Kafka": Request(
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        0,
        _heartbeat({"sourceTopics": ["__consumer_offsets", "secrets"]}),
    ),
    "describe streams groups": Request(
        ApiKey.STREAMS_GROUP_DESCRIBE,
        0,
        {"groupIds": ["readers", "missing"], "includeAuthorizedOperations": True},
    ),
}
