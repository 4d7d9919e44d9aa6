"""Who a client is. Pure."""

from __future__ import annotations

from pyk.runtime import slotted

USER = "User"
"""The only type of principals that log in."""


@slotted.frozen
class Principal:
    """The user of a connection, as ACLs and quotas name it."""

    name: str
    kind: str = USER

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


@slotted.frozen
class Login:
    """A client that has shown who it is, and until when that holds, in ms of the epoch."""

    principal: Principal
    expires_at_ms: int | None = None
    is_by_token: bool = False
    """Whether it was shown by a delegation token."""


ANONYMOUS = Principal("ANONYMOUS")
"""The user of a listener without authentication."""
INTER_BROKER_USER = "broker"
"""The name of brokers for each other, in clusters that make their users or certificates."""
