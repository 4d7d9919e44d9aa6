"""The context of a request: what a handler knows besides its body."""

from __future__ import annotations

from pyk.reference_broker.address import WILDCARDS
from pyk.runtime import slotted

NO_OPERATIONS = -2147483648
"""What stands for "not asked for" in fields of authorized operations."""


@slotted.frozen(kw_only=True)
class RequestContext:
    """The client of a request, and the version of the request."""

    version: int
    client_id: str
    client_host: str
    """As Kafka shows it for group members: a slash and the address."""
    local_host: str = ""
    """The address at which the client has reached this broker."""

    def address_of(self, host: str) -> str:
        """Return the address to tell this client of a broker that registered with ``host``.

        A broker that listens on all addresses is where the client has reached it.
        """
        return self.local_host if host in WILDCARDS and self.local_host else host
