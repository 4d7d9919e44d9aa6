"""An Apache Kafka with listeners of every security protocol, and users that may log in."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from pyk.clients.config import ClientConfig
from pyk.clients.engine.client import Client
from pyk.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from pyk.protocol.sasl import ScramMechanism, salted_password
from support.apache_kafka import ApacheKafka, free_ports
from support.certificates import Authority

MODULES = "org.apache.kafka.common.security"
SALT, ITERATIONS = b"salt-of-bob", 4096
NUMBERS = {ScramMechanism.SCRAM_SHA_256: 1, ScramMechanism.SCRAM_SHA_512: 2}


class SecureKafka(ApacheKafka):
    """Listeners SSL, MTLS, SASL_PLAINTEXT and SASL_SSL beside the plain one.

    ``alice`` logs in by PLAIN, ``bob`` by SCRAM; sessions last ``session_ms``.
    """

    def __init__(self, session_ms: int = 1500) -> None:
        super().__init__()
        self._session_ms = session_ms
        self._certificates = tempfile.TemporaryDirectory()
        self.authority = Authority(Path(self._certificates.name))
        self.server_file = self.authority.write_for_java(
            self.authority.issue("localhost"), "server.pem"
        )
        self.client_file = self.authority.write(self.authority.issue("alice"), "client.pem")
        names = ("SSL", "MTLS", "SASL_PLAINTEXT", "SASL_SSL")
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))

    def at(self, listener: str) -> str:
        return f"localhost:{self.ports[listener]}"

    def __enter__(self) -> SecureKafka:
        super().__enter__()
        asyncio.run(self._add_bob())
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._certificates.cleanup()

    async def _add_bob(self) -> None:
        client = Client(ClientConfig.from_kwargs(self.bootstrap))
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

    def _properties(self) -> dict[str, str]:
        mine = super()._properties()
        added = ",".join(f"{name}://localhost:{port}" for name, port in self.ports.items())
        protocols = ",".join(f"{name}:{name.replace('MTLS', 'SSL')}" for name in self.ports)
        for name in ("listeners", "advertised.listeners"):
            mine[name] += f",{added}"
        mine["listener.security.protocol.map"] += f",{protocols}"
        mine |= {
            "connections.max.reauth.ms": str(self._session_ms),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
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
        return mine
