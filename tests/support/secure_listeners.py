"""Listeners of every security protocol, and users, for a broker of any kind: by Kafka's names."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pyk.clients.config import ClientConfig
from pyk.clients.engine.client import Client
from pyk.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from pyk.protocol.sasl import ScramMechanism, salted_password
from support.apache_kafka import free_ports
from support.certificates import Authority

MODULES = "org.apache.kafka.common.security"
SALT, ITERATIONS = b"salt-of-bob", 4096
NUMBERS = {ScramMechanism.SCRAM_SHA_256: 1, ScramMechanism.SCRAM_SHA_512: 2}
NAMES = ("SSL", "MTLS", "SASL_PLAINTEXT", "SASL_SSL")
LOGINS = {
    "PLAIN": ("alice", "alice-secret"),
    "SCRAM-SHA-256": ("bob", "bob-secret"),
    "SCRAM-SHA-512": ("bob", "bob-secret"),
    "OAUTHBEARER": ("carol", ""),
}
WAYS: tuple[tuple[str, str | None], ...] = (
    ("SSL", None),
    ("MTLS", None),
    ("SASL_PLAINTEXT", "PLAIN"),
    *(("SASL_SSL", mechanism) for mechanism in LOGINS),
)
"""Listeners with the mechanism by which clients log in to them."""


class SecureListeners:
    """Listeners SSL, MTLS, SASL_PLAINTEXT and SASL_SSL, to be added to a broker's configuration.

    ``alice`` logs in by PLAIN, ``bob`` by SCRAM, everybody by tokens that prove nothing; sessions
    last ``session_ms``.
    """

    def __init__(self, folder: Path, session_ms: int) -> None:
        self._session_ms = session_ms
        self.authority = Authority(folder)
        self.server_file = self.authority.write_for_java(
            self.authority.issue("localhost"), "server.pem"
        )
        leaf = self.authority.issue("alice")
        self.client_file = self.authority.write(leaf, "client.pem")
        self.java_client_file = self.authority.write_for_java(leaf, "java-client.pem")
        self._ports = dict(zip(NAMES, free_ports(len(NAMES)), strict=True))

    def at(self, listener: str) -> str:
        return f"localhost:{self._ports[listener]}"

    @property
    def addresses(self) -> str:
        """The value to add to ``listeners`` and ``advertised.listeners``."""
        return ",".join(f"{name}://{self.at(name)}" for name in self._ports)

    @property
    def protocols(self) -> str:
        """The value to add to ``listener.security.protocol.map``."""
        return ",".join(f"{name}:{name.replace('MTLS', 'SSL')}" for name in self._ports)

    def properties(self) -> dict[str, str]:
        """Return the rest of the broker's configuration."""
        mine = {
            "connections.max.reauth.ms": str(self._session_ms),
            "sasl.enabled.mechanisms": ",".join(LOGINS),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.server_file),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.file),
            "listener.name.mtls.ssl.client.auth": "required",
        }
        for name in ("sasl_plaintext", "sasl_ssl"):
            mine[f"listener.name.{name}.plain.sasl.jaas.config"] = (
                f'{MODULES}.plain.PlainLoginModule required user_alice="alice-secret";'
            )
            for scram in ("scram-sha-256", "scram-sha-512"):
                mine[f"listener.name.{name}.{scram}.sasl.jaas.config"] = (
                    f"{MODULES}.scram.ScramLoginModule required;"
                )
            mine[f"listener.name.{name}.oauthbearer.sasl.jaas.config"] = (
                f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;"
            )
        return mine


def add_bob(bootstrap: str) -> None:
    """Give bob a password, by a listener that lets everybody do so."""
    asyncio.run(_add_bob(bootstrap))


async def _add_bob(bootstrap: str) -> None:
    client = Client(ClientConfig.from_kwargs(bootstrap))
    await client.start()
    for mechanism, number in NUMBERS.items():  # Kafka takes a user once in a request
        credential = ScramCredentialUpsertion(
            name="bob",
            mechanism=number,
            iterations=ITERATIONS,
            salt=SALT,
            salted_password=salted_password(mechanism, "bob-secret", SALT, ITERATIONS),
        )
        request = AlterUserScramCredentialsRequest(upsertions=[credential])
        response = await client.send_to_any(request, client.clock.now() + 30)
        assert [one.error_code for one in response.results] == [0], response
    await client.close()
