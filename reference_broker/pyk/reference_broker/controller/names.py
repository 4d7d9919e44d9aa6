"""What a topic may be called."""

from __future__ import annotations

import re

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError

GROUP_METADATA_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
CLUSTER_METADATA_TOPIC = "__cluster_metadata"
INTERNAL_TOPICS = frozenset((GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC))

MAX_NAME_LENGTH = 249  # with the partition number behind it still a legal file name
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raise unless ``name`` can name a topic, and so a directory."""
    if not name:
        raise _invalid("the empty string is not allowed")
    if name in (".", ".."):
        raise _invalid(f"'{name}' is not allowed")
    if len(name) > MAX_NAME_LENGTH:
        raise _invalid(
            f"the length of '{name[:MAX_NAME_LENGTH]}' is longer than the max allowed length "
            f"{MAX_NAME_LENGTH}"
        )
    if not _LEGAL.fullmatch(name):
        raise _invalid(
            f"{name!r} contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )


def unified_name(name: str) -> str:
    """Return the same text for all names that differ only in ``.`` and ``_``.

    The names of metrics hold no dots, so that two such topics would share theirs.
    """
    return name.replace(".", "_")


def _invalid(reason: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
