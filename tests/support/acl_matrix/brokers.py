"""Brokers for the ACL matrix: with an authorizer, and with all its users."""

from __future__ import annotations

from pyk.reference_broker import Cluster
from support.acl_matrix.users import PASSWORD, ROOT, users
from support.apache_kafka import ApacheKafka, free_ports

PLAIN_LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def config() -> dict[str, str]:
    """Return the configuration, but for the listeners."""
    logins = " ".join(f'user_{name}="{PASSWORD}"' for name in (ROOT, *users()))
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ROOT};User:ANONYMOUS",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
            f"{PLAIN_LOGIN_MODULE} required {logins};"
        ),
        "delegation.token.secret.key": "key-of-tokens",
        "transaction.two.phase.commit.enable": "true",
    }


class ApacheKafkaOfMatrix(ApacheKafka):
    """One node of Apache Kafka; ``sasl_bootstrap`` is its listener for users."""

    def __init__(self) -> None:
        unstable = {"unstable.api.versions.enable": "true"}  # version 6 of InitProducerId
        super().__init__(config=config() | unstable)
        (self._sasl_port,) = free_ports(1)

    @property
    def sasl_bootstrap(self) -> str:
        return f"127.0.0.1:{self._sasl_port}"

    def __enter__(self) -> ApacheKafkaOfMatrix:
        super().__enter__()
        return self

    def _properties(self) -> dict[str, str]:
        mine = super()._properties()
        for name in ("listeners", "advertised.listeners"):
            mine[name] += f",SASL_PLAINTEXT://{self.sasl_bootstrap}"
        mine["listener.security.protocol.map"] += ",SASL_PLAINTEXT:SASL_PLAINTEXT"
        return mine


def reference_broker() -> Cluster:
    """Return one node of the reference broker, not started."""
    listeners = "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"
    return Cluster(config=config() | {"listeners": listeners})
