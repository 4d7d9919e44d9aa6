"""The certificates that a cluster makes for itself."""

from __future__ import annotations

from pyk.runtime import slotted

from .principal import INTER_BROKER_USER

INSTALL = "tls=True (--tls) needs the package 'trustme': pip install 'pyk-kafka[tls]'"


NO_HOST = "client.invalid"
"""The host of clients: Java does not read certificates that name none."""


@slotted.frozen
class Identity:
    """A certificate chain and its key, in PEM."""

    chain: str
    key: str


class MissingPackageError(RuntimeError):
    """What makes certificates is not installed."""


class Certificates:
    """A certificate authority of one cluster. Raises ``MissingPackageError`` without trustme."""

    def __init__(self) -> None:
        try:
            import trustme
        except ImportError:
            raise MissingPackageError(INSTALL) from None
        self._authority = trustme.CA()
        self.trust = self._authority.cert_pem.bytes().decode("ascii")
        """The certificate of the authority, in PEM: what clients have to trust."""

    def of_broker(self, hosts: set[str]) -> Identity:
        """Return a certificate for these names and addresses, and those of this machine.

        Brokers show it to each other, too: their principal is ``User:CN=broker`` with more after.
        """
        names = sorted(hosts | {"localhost", "127.0.0.1", "::1"})
        return self._issue(*names, common_name=INTER_BROKER_USER)

    def of_user(self, name: str) -> Identity:
        """Return a certificate whose principal is ``User:CN=NAME`` with more after it."""
        return self._issue(NO_HOST, common_name=name)

    def _issue(self, *names: str, common_name: str) -> Identity:
        leaf = self._authority.issue_cert(*names, common_name=common_name)
        chain = "".join(each.bytes().decode("ascii") for each in leaf.cert_chain_pems)
        return Identity(chain, _as_pkcs8(leaf.private_key_pem.bytes()))


def _as_pkcs8(key: bytes) -> str:
    """Return a key in the only form that Java reads."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    loaded = load_pem_private_key(key, None)
    text = loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return text.decode("ascii")
