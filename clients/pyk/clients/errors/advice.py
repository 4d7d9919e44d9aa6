"""What to do about failures, in words that ``pyk doctor`` shares with errors of clients. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode

NAMED_BY_BROKER = "the broker itself names this address"
CORRECT_LISTENERS = "if clients cannot reach it, correct the broker's advertised.listeners"
START_REPLICAS = "start the brokers that have its replicas"
LEADERLESS = f"has no known leader; if that lasts, {START_REPLICAS}"
RESTORE_REPLICAS = (
    "start the brokers that have the other replicas, or lower min.insync.replicas of the topic"
)

WRONG_BROKER = (
    "if that lasts, an advertised address leads to the wrong broker (advertised.listeners)"
)
OTHER_GROUP_ID = (
    "groups of consumers, share groups and streams groups each need a group_id of their own"
)

ADVICE: Mapping[int, str] = {
    ErrorCode.LEADER_NOT_AVAILABLE: f"if that lasts, {START_REPLICAS}",
    ErrorCode.NOT_COORDINATOR: WRONG_BROKER,
    ErrorCode.NOT_ENOUGH_REPLICAS: RESTORE_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: RESTORE_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: WRONG_BROKER,
    ErrorCode.UNRELEASED_INSTANCE_ID: (
        "close that member first, or give each its own group_instance_id"
    ),
}
"""By the code of a broker's error; ACLs are in :mod:`pyk.clients.errors.needed_acls`."""
ADVICE_FOR_REQUESTS: Mapping[tuple[int, int], str] = {
    (ApiKey.JOIN_GROUP, ErrorCode.INCONSISTENT_GROUP_PROTOCOL): (
        "all members of a group must have a partition_assignment_strategy in common; "
        f"{OTHER_GROUP_ID}"
    ),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.GROUP_ID_NOT_FOUND): (
        f"{OTHER_GROUP_ID}; the members of a classic group can be replaced where "
        "group.consumer.migration.policy allows upgrades"
    ),
    (ApiKey.SHARE_GROUP_HEARTBEAT, ErrorCode.GROUP_ID_NOT_FOUND): (
        f"{OTHER_GROUP_ID}; a group of consumers is one as long as it has committed offsets"
    ),
}
"""What an error means only as the answer to a request, by the request's API and the code."""


def advice_for(api_key: int | None, code: int) -> str:
    """Return what to do about a broker's error, empty if there is nothing to say."""
    by_request = "" if api_key is None else ADVICE_FOR_REQUESTS.get((api_key, code), "")
    return by_request or ADVICE.get(code, "")
