"""Validate topic names."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import topic_name_error
from pyk.reference_broker.errors import ApiError

GROUP_METADATA_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
SHARE_GROUP_STATE_TOPIC = "__share_group_state"
CLUSTER_METADATA_TOPIC = "__cluster_metadata"
INTERNAL_TOPICS = frozenset(
    (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_GROUP_STATE_TOPIC)
)


def check_topic_name(name: str) -> None:
    """Raise unless ``name`` can name a topic, and so a directory."""
    reason = topic_name_error(name)
    if reason is not None:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def unified_name(name: str) -> str:
    """Return the same text for all names that differ only in ``.`` and ``_``.

    The names of metrics hold no dots, so that two such topics would share theirs.
    """
    return name.replace(".", "_")
