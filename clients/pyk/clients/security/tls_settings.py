"""What a client was told about TLS: whom to trust, and how to show who it is. Pure."""

from __future__ import annotations

from typing import Any

from pyk.runtime import slotted
from pyk.runtime.secret import Secret


@slotted.frozen(kw_only=True)
class TlsSettings:
    """The options of TLS, all of them for one client."""

    context: Any = None
    """A context of the application, which is used as it is."""
    trust_file: str | None = None
    """Certificates of authorities; the system's own if there is neither a file nor text."""
    trust_pem: str | None = None
    trust_password: Secret | None = None
    certificate_file: str | None = None
    """The client's certificate chain, and its key unless ``key_file`` has it."""
    key_file: str | None = None
    certificate_pem: str | None = None
    key_pem: Secret | None = None
    key_password: Secret | None = None
    store_password: Secret | None = None
    """Of ``certificate_file``, if it is a key store."""
    crl_file: str | None = None
    checks_host_name: bool = True
    versions: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    ciphers: str | None = None
    """In OpenSSL's notation, for TLS 1.2; those of TLS 1.3 cannot be chosen."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read, each once."""
        named = (self.trust_file, self.certificate_file, self.key_file, self.crl_file)
        return tuple(dict.fromkeys(name for name in named if name is not None))


def server_name(host: str) -> str:
    """Return the name that a broker's certificate must have: without the dot of a DNS root."""
    return host[:-1] if host.endswith(".") and len(host) > 1 else host
