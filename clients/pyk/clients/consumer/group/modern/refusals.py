"""The meaning of what a coordinator answers instead of an epoch. Pure."""

from __future__ import annotations

from pyk.clients.errors import KafkaError, UnsupportedVersionError, error_for
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode

COORDINATOR_MOVED = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
FENCED = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})


def refusal(code: ErrorCode, message: str | None, group_id: str) -> KafkaError:
    """Return the error of a refused heartbeat, with the coordinator's own words."""
    if code is ErrorCode.UNSUPPORTED_VERSION:
        return UnsupportedVersionError(
            f"the coordinator of group {group_id!r} has group_protocol='consumer' switched off: "
            "set the feature group.version to 1 (Kafka 4), or add 'consumer' to "
            "group.coordinator.rebalance.protocols (Kafka 3.9). Until then, use "
            "group_protocol='classic'",
            group_id=group_id,
        )
    return error_for(code, message, group_id=group_id, api_key=ApiKey.CONSUMER_GROUP_HEARTBEAT)


def explained(error: KafkaError, group_id: str, pattern: str | None) -> KafkaError:
    """Return the error of a request that could not be sent, with what to do about it."""
    if not isinstance(error, UnsupportedVersionError):
        return error
    if pattern is None:
        lacks = "does not offer group_protocol='consumer'"
        instead = "until the cluster is upgraded, use group_protocol='classic'"
    else:
        lacks = f"cannot resolve the SubscriptionPattern {pattern!r}"
        instead = "subscribe with a str, which the consumer resolves itself"
    explanation = UnsupportedVersionError(
        f"the coordinator of group {group_id!r} {lacks} ({error}): that came with Kafka 4.0; "
        f"{instead}",
        node_id=error.node_id,
        group_id=group_id,
    )
    explanation.__cause__ = error
    return explanation
