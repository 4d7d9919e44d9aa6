"""What the connections of one listener have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyk.reference_broker.listeners import PLAINTEXT
from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.reference_broker.security.authentication import SaslAuthentication
    from pyk.reference_broker.security.principal import Principal
    from pyk.runtime.network import ServerTls

WhenAuthenticated = Callable[["Principal"], object]


@slotted.frozen(kw_only=True)
class ListenerSettings:
    """The name of a listener, and how it authenticates; sizes in bytes, times in seconds."""

    name: str = PLAINTEXT
    tls: ServerTls | None = None
    """Returns the context for the next connection; None for a listener without TLS."""
    principal_of: Callable[[dict[str, Any] | None], Principal] | None = None
    """Returns who has shown a certificate; None where that does not count."""
    new_sasl: Callable[[WhenAuthenticated], SaslAuthentication] | None = None
    """Makes the authentication of a connection; None for a listener without SASL."""
    max_login_bytes: int = 524_288
    """The largest request before a login."""
    failed_login_delay: float = 0.1
    """Seconds until a failed login is answered: guessing passwords must be slow."""

    @property
    def security_protocol(self) -> str:
        """Return what a client gives as its ``security_protocol``."""
        transport = "PLAINTEXT" if self.tls is None else "SSL"
        return transport if self.new_sasl is None else f"SASL_{transport}"
