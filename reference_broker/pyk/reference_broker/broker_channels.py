"""The way from one broker to another: requests by node, over the wire.

A broker reaches itself in the same way, through its own port. So a cluster in one process and a
cluster of processes run the same code, and rules about faults concern these requests too.
"""

from __future__ import annotations

from typing import Any, Protocol

from pyk.protocol.schema import Message

from .deferred import Deferred


class BrokerChannels(Protocol):
    """Connections to the brokers of the cluster, opened when they are used."""

    def send(self, node_id: int, request: Message) -> Deferred[Any]:
        """Send a request in the highest version that is served; return its response.

        Never fails: an ``ErrorCode`` comes instead of a response where the broker is unknown
        (BROKER_NOT_AVAILABLE), cannot be reached, or does not answer in time (NETWORK_EXCEPTION).
        """
