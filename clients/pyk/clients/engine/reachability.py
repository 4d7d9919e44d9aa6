"""Remember which nodes cannot be reached, since when and why. Pure."""

from __future__ import annotations

from collections.abc import Collection

from pyk.clients.errors import KafkaError
from pyk.clients.wording import because
from pyk.runtime import slotted

# How often the same failure is reported while it lasts.
TOLD_EVERY_SECONDS = 60.0


@slotted.frozen
class UnreachableNode:
    """A node to which the last attempt to connect failed."""

    node_id: int
    since: float
    """Seconds of the client's clock at the first failure in a row."""
    error: KafkaError
    """The last failure: the address, and how far each attempt came."""

    def told(self, now: float) -> str:
        """Return the failure in words, and how long it lasts."""
        return f"{self.error} (for {now - self.since:.0f} s)"


@slotted.define
class Reachability:
    """Remembers the nodes that cannot be reached, on any lane."""

    _unreachable: dict[int, UnreachableNode] = slotted.field(factory=dict)
    _told_at: dict[int, float] = slotted.field(factory=dict)

    def failed(self, node_id: int, error: KafkaError, now: float) -> bool:
        """Record that connecting to a node failed; return whether to report it now."""
        known = self._unreachable.get(node_id)
        since = now if known is None else known.since
        self._unreachable[node_id] = UnreachableNode(node_id, since, error)
        is_due = now - self._told_at.get(node_id, -TOLD_EVERY_SECONDS) >= TOLD_EVERY_SECONDS
        if is_due:
            self._told_at[node_id] = now
        return is_due

    def reached(self, node_id: int) -> None:
        """Record that a node was reached."""
        self._unreachable.pop(node_id, None)

    def keep(self, node_ids: Collection[int]) -> None:
        """Forget the nodes that are not part of the cluster any more."""
        for node_id in self._unreachable.keys() - node_ids:
            del self._unreachable[node_id]

    def of(self, node_id: int) -> UnreachableNode | None:
        """Return why a node cannot be reached, None if it is not known to be unreachable."""
        return self._unreachable.get(node_id)

    def reason(self, node_id: int) -> str:
        """Return why a node cannot be reached, as the end of a sentence; "" if that is not so."""
        unreachable = self.of(node_id)
        return because(None if unreachable is None else unreachable.error)

    def all(self) -> tuple[UnreachableNode, ...]:
        """Return all nodes that cannot be reached, by node id."""
        return tuple(node for _, node in sorted(self._unreachable.items()))
