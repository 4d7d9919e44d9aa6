"""Apache Kafka's tools for users and for delegation tokens, with the reference broker."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyk.clients import Admin, Producer, Scram
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.kafka_tools import run_tool

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
Arguments = Callable[..., tuple[str, ...]]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    config = {"delegation.token.secret.key": "secret-key"}
    with Cluster(sasl={"alice": "alice-secret", "bob": "bob-secret"}, config=config) as running:
        yield running


@pytest.fixture
def arguments(cluster: Cluster, tmp_path: Path) -> Arguments:
    """Return arguments of a tool for a login."""

    def of(
        *arguments: str, username: str = "alice", password: str = "alice-secret", more: str = ""
    ) -> tuple[str, ...]:
        config = tmp_path / f"{username}.properties"
        config.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
            f'sasl.jaas.config={MODULE} required username="{username}" password="{password}"'
            f"{more};\n"
        )
        return "--bootstrap-server", cluster.bootstrap, "--command-config", str(config), *arguments

    return of


def test_the_configs_tool_adds_lists_and_removes_users(
    cluster: Cluster, arguments: Arguments
) -> None:
    def change(*more: str) -> str:
        done = apache_kafka.tool(
            "kafka.admin.ConfigCommand",
            *arguments("--entity-type", "users", "--entity-name", "carol", *more),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    change("--alter", "--add-config", "SCRAM-SHA-512=[iterations=8192,password=carol-secret]")
    described = change("--describe")
    with Admin(
        cluster.bootstrap, security_protocol="SASL_PLAINTEXT", auth=Scram("carol", "carol-secret")
    ) as admin:
        admin.describe_cluster()
    change("--alter", "--delete-config", "SCRAM-SHA-512")
    left = change("--describe")

    assert "SCRAM-SHA-512=iterations=8192" in described
    assert "SCRAM-SHA-512" not in left


def test_the_tool_for_tokens_creates_renews_describes_and_expires_them(
    cluster: Cluster, arguments: Arguments
) -> None:
    created = run_tool(
        "DelegationTokenCommand",
        *arguments("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"),
    )
    found = re.search(r"^(\S+)\s+(\S{88})\s", created, re.MULTILINE)
    assert found is not None, created
    token_id, hmac = found.groups()

    run_tool(
        "DelegationTokenCommand",
        *arguments("--renew", "--renew-time-period", "60000", "--hmac", hmac),
    )
    described = run_tool(
        "DelegationTokenCommand", *arguments("--describe", "--owner-principal", "User:alice")
    )
    token = Scram(token_id, hmac, is_delegation_token=True)
    by_token = ' tokenauth="true"'
    with Producer(cluster.bootstrap, security_protocol="SASL_PLAINTEXT", auth=token) as producer:
        producer.send_and_wait("orders", b"by pyk")
    run_tool(
        "ConsoleProducer",
        *arguments("--topic", "orders", "--sync", username=token_id, password=hmac, more=by_token),
        input="by Java\n",
    )
    run_tool(
        "DelegationTokenCommand",
        *arguments("--expire", "--expiry-time-period", "-1", "--hmac", hmac),
    )
    left = run_tool("DelegationTokenCommand", *arguments("--describe"))

    assert token_id in described
    assert "User:bob" in described
    assert token_id not in left
