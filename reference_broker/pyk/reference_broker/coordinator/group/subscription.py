"""Read the topics out of a consumer's metadata: all that a broker looks at in it."""

from __future__ import annotations

import struct

from pyk.protocol.errors import MalformedMessageError
from pyk.protocol.messages.consumer_protocol import ConsumerProtocolSubscription

CONSUMER_PROTOCOL_TYPE = "consumer"
_VERSION = struct.Struct(">h")


def subscribed_topics(metadata: bytes) -> frozenset[str]:
    """Return the topics in a subscription; raise :class:`MalformedMessageError` for others."""
    if len(metadata) < _VERSION.size:
        raise MalformedMessageError("a consumer's subscription begins with its version")
    (version,) = _VERSION.unpack_from(metadata)
    if version < 0:
        raise MalformedMessageError(f"subscription version {version}")
    # A version newer than ours is read as ours: later versions only add fields at the end.
    version = min(version, ConsumerProtocolSubscription.versions.highest)
    subscription, _ = ConsumerProtocolSubscription.decode_prefix(metadata, version, _VERSION.size)
    return frozenset(subscription.topics)
