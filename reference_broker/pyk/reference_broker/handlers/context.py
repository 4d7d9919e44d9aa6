"""The context of a request: what a handler knows besides its body."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from pyk.reference_broker.address import WILDCARDS
from pyk.reference_broker.controller.image import BrokerImage
from pyk.reference_broker.listeners import PLAINTEXT
from pyk.reference_broker.security.principal import ANONYMOUS, Principal
from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.reference_broker.quotas.request_usage import RequestUsage
    from pyk.reference_broker.security.authentication import SaslAuthentication

    from .authorization.access import Access

NO_OPERATIONS = -2147483648
"""The value for "not asked for" in fields of authorized operations."""


class ClientConnection(Protocol):
    """What a handler may know of the connection of a request."""

    @property
    def connection_id(self) -> int: ...
    @property
    def port(self) -> str: ...

    software: tuple[str, str]

    def when_lost(self, listener: Callable[[], object]) -> None: ...


@slotted.frozen(kw_only=True)
class RequestContext:
    """The client of a request, and the version of the request."""

    version: int
    client_id: str
    client_host: str
    """As Kafka shows it for group members: a slash and the address."""
    local_host: str = ""
    """The address at which the client has reached this broker."""
    listener: str = PLAINTEXT
    """The name of the listener through which the request came."""
    principal: Principal = ANONYMOUS
    """Who the client is."""
    sasl: SaslAuthentication | None = None
    """The authentication of the connection, None on a listener without SASL."""
    access: Access | None = None
    """What the client may do; None if there is no authorizer, and it may do everything."""
    usage: RequestUsage | None = None
    """What the request uses of the quotas of its client; None while no quota is set."""
    connection: ClientConnection | None = None
    """The connection, for what ends with it; None in tests of handlers."""

    def address_of(self, broker: BrokerImage) -> tuple[str, int] | None:
        """Return host and port to tell this client of a broker: those of the listener it uses.

        A broker that listens on all addresses is where the client has reached it. None if the
        broker does not advertise that listener.
        """
        endpoint = broker.endpoints.get(self.listener)
        if endpoint is None:
            return None
        host = endpoint.host
        return self.local_host if host in WILDCARDS and self.local_host else host, endpoint.port
