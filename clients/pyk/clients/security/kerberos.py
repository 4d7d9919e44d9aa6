"""Log in with a ticket of Kerberos (SASL GSSAPI, RFC 4752), by the package ``gssapi``. Pure.

::

    client                                             broker
      a ticket for kafka@host                        →
                              proof that it is kafka ←
      nothing more to say                            →
                     the security layers that it has ←    wrapped
      none of them, and the name to log in with      →    wrapped

Kafka has no use for security layers: TLS is what encrypts. Each step of the library may ask the key
distribution centre, so it is done in a thread. Tickets are those of the machine's cache: whoever
renews them, ``kinit`` or a keytab, does so without this client.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from pyk.clients.errors import ConfigurationError
from pyk.clients.security.exchange import CredentialsError, Exchange, Work
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.runtime import slotted

T = TypeVar("T")

NO_LAYER = 1
LAYERS_BYTES = 4
MOST_STEPS = 10
"""Kerberos needs two; a broker could otherwise go on for ever."""
TICKET_EXPIRED = 0x96C7_3A20
"""KRB5KRB_AP_ERR_TKT_EXPIRED of MIT Kerberos, of a ticket that was still in the cache."""
INSTALL = (
    "Kerberos needs the package 'gssapi': install pyk-kafka[kerberos], and the Kerberos libraries "
    "of the system"
)


@slotted.frozen(kw_only=True)
class Kerberos:
    """Log in with a ticket of Kerberos, as ``kinit`` gets it (GSSAPI).

    ``service_name`` is the first part of the brokers' principal, ``kafka`` of
    ``kafka/host@REALM`` (``sasl.kerberos.service.name``). ``principal`` chooses one of several
    tickets. With a ``keytab``, tickets are got for its keys, and ``kinit`` is not needed.
    """

    service_name: str = "kafka"
    principal: str = ""
    keytab: str | None = None

    def __attrs_post_init__(self) -> None:
        name = self.service_name
        if not name or not name.isprintable() or any(one in name for one in "/@ "):
            raise ConfigurationError(
                "service_name must be the first part of the brokers' principal, such as 'kafka' of "
                f"kafka/host@REALM, not {name!r}"
            )

    @property
    def mechanism(self) -> str:
        return "GSSAPI"

    @property
    def advice(self) -> str:
        return (
            "check the ticket (klist; kinit gets one), that the brokers' principal is "
            f"{self.service_name}/HOST@REALM with the HOST that clients connect to, and the clock"
        )

    def exchange(self, nonce: str, host: str) -> Exchange:
        """Return a new exchange."""
        context = yield self._work(lambda gssapi: self._context(gssapi, host))
        response = None
        for _ in range(MOST_STEPS):
            said = None if response is None else response.auth_bytes
            token = yield self._work(lambda _, said=said: context.step(said))  # type: ignore[misc]
            response = yield SaslAuthenticateRequest(auth_bytes=token or b"")
            if context.complete:
                break
        else:
            raise CredentialsError(f"the broker goes on after {MOST_STEPS} steps of Kerberos")
        offered = yield self._work(lambda _: context.unwrap(response.auth_bytes).message)
        answer = _without_layer(offered, str(context.initiator_name))
        wrapped = yield self._work(lambda _: context.wrap(answer, False).message)
        yield SaslAuthenticateRequest(auth_bytes=wrapped)

    def _context(self, gssapi: Any, host: str) -> Any:
        """Return the context of a login to a broker; nothing has been asked yet."""
        target = gssapi.Name(
            f"{self.service_name}@{host}", name_type=gssapi.NameType.hostbased_service
        )
        flags = gssapi.RequirementFlag
        return gssapi.SecurityContext(
            name=target,
            creds=self._tickets(gssapi),
            mech=gssapi.MechType.kerberos,
            flags=flags.mutual_authentication | flags.integrity,
            usage="initiate",
        )

    def _tickets(self, gssapi: Any) -> Any:
        """Return the tickets to use; None for those of the cache."""
        if not self.principal and self.keytab is None:
            return None
        name = None
        if self.principal:
            name = gssapi.Name(self.principal, name_type=gssapi.NameType.kerberos_principal)
        store = None
        if self.keytab is not None:
            # A cache of its own: that of the user may hold tickets of somebody else.
            store = {"client_keytab": self.keytab, "ccache": self._cache_name(self.keytab)}
        return gssapi.Credentials(name=name, usage="initiate", store=store)

    def _cache_name(self, keytab: str) -> str:
        """Return the cache in memory that keeps the tickets of a keytab from login to login."""
        named = f"{self.principal}\0{keytab}".encode()
        return f"MEMORY:pyk-{hashlib.sha256(named).hexdigest()[:16]}"

    def _work(self, step: Callable[[Any], T]) -> Work:
        """Return a call of the library, whose errors say what to do."""

        def done() -> T:
            try:
                gssapi = import_module("gssapi")
                errors = import_module("gssapi.exceptions")
            except ImportError:
                raise CredentialsError(INSTALL) from None
            try:
                return step(gssapi)
            except errors.GSSError as error:
                raise self._explained(errors, error) from None

        return Work(done, is_long=True)

    def _explained(self, errors: Any, error: Exception) -> CredentialsError:
        """Return an error of the library in words: it has the reason, and nothing secret."""
        said = " ".join(str(error).split())
        minor = getattr(error, "min_code", 0) & 0xFFFF_FFFF  # some versions have it signed
        if isinstance(error, errors.ExpiredCredentialsError) or minor == TICKET_EXPIRED:
            return CredentialsError(f"the ticket of Kerberos has expired: run kinit ({said})")
        if isinstance(error, errors.MissingCredentialsError):
            if self.keytab is not None:
                return CredentialsError(f"the keytab {self.keytab!r} gives no ticket ({said})")
            return CredentialsError(f"there is no ticket of Kerberos: run kinit ({said})")
        return CredentialsError(f"Kerberos: {said}; klist shows the tickets, kinit gets one")


def _without_layer(offered: bytes, name: str) -> bytes:
    """Return the answer to the security layers that a broker has: none of them."""
    if len(offered) != LAYERS_BYTES:
        raise CredentialsError("the broker does not end the login as RFC 4752 has it")
    if not offered[0] & NO_LAYER:
        raise CredentialsError(
            "the broker demands that Kerberos encrypts the connection, which Kafka does not have"
        )
    return bytes((NO_LAYER, 0, 0, 0)) + name.encode()
