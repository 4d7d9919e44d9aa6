"""How an application acknowledges a record of a share group. Pure."""

from __future__ import annotations

from enum import IntEnum


class AcknowledgeType(IntEnum):
    """What becomes of a record that was delivered; Kafka's numbers."""

    ACCEPT = 1
    """It was processed: it is not delivered again."""
    RELEASE = 2
    """It was not processed: it is delivered again, to any member, unless that was tried as often
    as the group allows."""
    REJECT = 3
    """It cannot be processed: it is not delivered again."""
    RENEW = 4
    """It is still being processed: its lock begins again (KIP-1222, Kafka 4.2)."""


def checked_type(kind: object) -> AcknowledgeType:
    """Return how to acknowledge; raise ``TypeError`` for anything else than an
    :class:`AcknowledgeType`."""
    if not isinstance(kind, AcknowledgeType):
        raise TypeError(f"kind must be an AcknowledgeType, not {kind!r}")
    return kind
