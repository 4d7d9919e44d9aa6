"""Keep a client that is refused from trying again more often than once a second. Pure.

The same credentials go to all brokers, so all connections of a client share a refusal of them: one
tries again, the others get its outcome. A certificate is that of one broker, and concerns the
connections to it.
"""

from __future__ import annotations

from pyk.clients.errors import AuthenticationError, SslAuthenticationError
from pyk.runtime import slotted

INTERVAL_SECONDS = 1.0


@slotted.define
class _Refusal:
    error: AuthenticationError
    not_before: float
    count: int = 1


@slotted.define
class Refusals:
    """The refusals that nothing has overcome yet."""

    _by_node: dict[int | None, _Refusal] = slotted.field(factory=dict)
    """By node id; None for all nodes."""

    def due_in(self, node_id: int, now: float) -> float:
        """Return the seconds until a connection to a node may be tried; 0.0 at once."""
        refusals = self._concerning(node_id)
        return max((one.not_before - now for one in refusals), default=0.0)

    def begin(self, node_id: int, now: float) -> None:
        """Record that a connection is being tried: the others wait for its outcome."""
        for one in self._concerning(node_id):
            one.not_before = now + INTERVAL_SECONDS

    def count(self, node_id: int) -> int:
        """Return a number that is larger after each refusal that concerns a node."""
        return sum(one.count for one in self._concerning(node_id))

    def refused(self, node_id: int, error: AuthenticationError, now: float) -> None:
        """Record that a broker refused the client, or the client a broker."""
        key = node_id if isinstance(error, SslAuthenticationError) else None
        before = self._by_node.get(key)
        count = 1 if before is None else before.count + 1
        self._by_node[key] = _Refusal(error, now + INTERVAL_SECONDS, count)

    def accepted(self, node_id: int) -> None:
        """Record that a connection was made."""
        self._by_node.pop(node_id, None)
        self._by_node.pop(None, None)

    def error(self, node_id: int) -> AuthenticationError | None:
        """Return the last refusal that concerns a node, None if there is none."""
        return next((one.error for one in self._concerning(node_id)), None)

    def _concerning(self, node_id: int) -> list[_Refusal]:
        found = (self._by_node.get(None), self._by_node.get(node_id))
        return [one for one in found if one is not None]
