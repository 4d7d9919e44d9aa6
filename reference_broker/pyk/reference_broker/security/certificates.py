"""The certificates that a cluster makes for itself."""

from __future__ import annotations

from pyk.runtime import slotted

INSTALL = "Cluster(tls=True) needs the package 'trustme': pip install 'pyk-kafka[tls]'"


@slotted.frozen
class Identity:
    """A certificate chain and its key, in PEM."""

    chain: str
    key: str


class Certificates:
    """A certificate authority of one cluster. Raises ``RuntimeError`` without trustme."""

    def __init__(self) -> None:
        try:
            import trustme
        except ImportError:
            raise RuntimeError(INSTALL) from None
        self._authority = trustme.CA()
        self.trust = self._authority.cert_pem.bytes().decode("ascii")
        """The certificate of the authority, in PEM: what clients have to trust."""

    def of_broker(self, hosts: set[str]) -> Identity:
        """Return a certificate for these names and addresses, and those of this machine."""
        names = sorted(hosts | {"localhost", "127.0.0.1", "::1"})
        return self._issue(*names, common_name=names[0])

    def of_user(self, name: str) -> Identity:
        """Return a certificate whose principal is ``User:CN=NAME`` with more after it."""
        return self._issue(common_name=name)

    def _issue(self, *names: str, common_name: str) -> Identity:
        leaf = self._authority.issue_cert(*names, common_name=common_name)
        chain = "".join(each.bytes().decode("ascii") for each in leaf.cert_chain_pems)
        return Identity(chain, leaf.private_key_pem.bytes().decode("ascii"))
