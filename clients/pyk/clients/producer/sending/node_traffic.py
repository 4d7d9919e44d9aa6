"""The requests to one node. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyk.clients.producer.sending.produce_call import ProduceCall


class NodeTraffic:
    """The produce requests of one node: those in flight, and the one that is being planned."""

    __slots__ = ("call", "in_flight", "node_id", "room")

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.in_flight = 0
        self.call: ProduceCall | None = None
        """The request that is being planned, which counts as in flight."""
        self.room = 0
        """How many bytes of batches it may still take."""
