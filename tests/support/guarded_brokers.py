"""Brokers whose users may do only what ACLs allow, for scenarios on every broker.

Users log in by PLAIN at the listener SASL_PLAINTEXT. The plain listener is for the super user.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyk.reference_broker import Cluster
from support.apache_kafka import ApacheKafka, free_ports

PASSWORD = "secret"
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
PLAIN_LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def guarded_config(users: Iterable[str], super_users: Iterable[str] = ()) -> dict[str, str]:
    """Return the configuration, but for the listeners."""
    logins = " ".join(f'user_{name}="{PASSWORD}"' for name in users)
    supers = ("ANONYMOUS", *super_users)
    return {
        "authorizer.class.name": AUTHORIZER,
        "super.users": ";".join(f"User:{name}" for name in supers),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
            f"{PLAIN_LOGIN_MODULE} required {logins};"
        ),
    }


class GuardedApacheKafka(ApacheKafka):
    """One node of Apache Kafka; ``sasl_bootstrap`` is its listener for users."""

    def __init__(self, config: dict[str, str]) -> None:
        super().__init__(config=config)
        (self._sasl_port,) = free_ports(1)

    @property
    def sasl_bootstrap(self) -> str:
        return f"127.0.0.1:{self._sasl_port}"

    def __enter__(self) -> GuardedApacheKafka:
        super().__enter__()
        return self

    def _properties(self) -> dict[str, str]:
        mine = super()._properties()
        for name in ("listeners", "advertised.listeners"):
            mine[name] += f",SASL_PLAINTEXT://{self.sasl_bootstrap}"
        mine["listener.security.protocol.map"] += ",SASL_PLAINTEXT:SASL_PLAINTEXT"
        return mine


class GuardedReferenceBroker:
    """One node of the reference broker; ``sasl_bootstrap`` is its listener for users."""

    def __init__(self, config: dict[str, str]) -> None:
        listeners = "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"
        self._cluster = Cluster(config=config | {"listeners": listeners})

    @property
    def bootstrap(self) -> str:
        return self._cluster.bootstrap_of("PLAINTEXT")

    @property
    def sasl_bootstrap(self) -> str:
        return self._cluster.bootstrap_of("SASL_PLAINTEXT")

    def __enter__(self) -> GuardedReferenceBroker:
        self._cluster.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._cluster.__exit__(None, None, None)
