"""Apache Kafka's tool for ACLs, and its console clients under them, with the reference broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    Admin,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.kafka_tools import PACKAGE, dump_log_segments, run_tool

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]

USERS = {"admin": "admin-secret", "alice": "alice-secret"}
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Tools:
    """Kafka's tools, each as one of the users."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._folder = folder

    def arguments(self, user: str, *arguments: str) -> tuple[str, ...]:
        config = self._folder / f"{user}.properties"
        config.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
            f'sasl.jaas.config={MODULE} required username="{user}" password="{USERS[user]}";\n'
        )
        return "--bootstrap-server", self._bootstrap, "--command-config", str(config), *arguments

    def change(self, *arguments: str) -> str:
        """Change, or list, ACLs as the admin."""
        return run_tool("AclCommand", *self.arguments("admin", "--force", *arguments))

    def produced(self, value: str) -> str:
        """Let alice write a record; return what her producer complains about."""
        producer = self.arguments("alice", "--topic", "orders", "--sync")
        return apache_kafka.tool(f"{PACKAGE}ConsoleProducer", *producer, input=f"{value}\n").stderr


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    with Cluster(sasl=USERS, super_users=["admin"]) as cluster:
        cluster.create_topic("orders")
        yield Tools(cluster.bootstrap, tmp_path)


def test_the_acl_tool_adds_lists_and_removes_acls(tools: Tools) -> None:
    alice = ("--allow-principal", "User:alice", "--operation", "Write")

    tools.change("--add", "--topic", "orders", *alice)
    tools.change(
        "--add", "--topic", "ord", "--resource-pattern-type", "prefixed",
        "--deny-principal", "User:bob", "--deny-host", "10.0.0.1",
    )  # fmt: skip
    listed = tools.change("--list")
    matching = tools.change("--list", "--topic", "orders", "--resource-pattern-type", "match")
    tools.change("--remove", "--topic", "orders", *alice)
    left = tools.change("--list")

    written = "(principal=User:alice, host=*, operation=WRITE, permissionType=ALLOW)"
    denied = "(principal=User:bob, host=10.0.0.1, operation=ALL, permissionType=DENY)"
    assert "resourceType=TOPIC, name=ord, patternType=PREFIXED" in listed
    assert written in listed
    assert denied in listed
    assert written in matching
    assert denied in matching
    assert written not in left
    assert denied in left


def test_javas_producer_writes_once_the_acl_tool_allows_it(tools: Tools) -> None:
    refused = tools.produced("one")
    tools.change("--add", "--producer", "--topic", "orders", "--allow-principal", "User:alice")
    allowed = tools.produced("two")

    assert "TopicAuthorizationException" in refused
    assert "Exception" not in allowed


def test_kafkas_tools_read_acls_in_the_metadata_log(tmp_path: Path) -> None:
    with Cluster(data_dir=tmp_path, sasl=USERS, super_users=["admin"]) as cluster:
        binding = AclBinding(
            ResourcePattern(ResourceType.TOPIC, "ord", PatternType.PREFIXED),
            AccessControlEntry("User:alice", AclOperation.WRITE, host="10.0.0.1"),
        )
        with Admin(**cluster.client_options("admin")) as admin:
            admin.create_acls([binding])
            admin.delete_acls([binding])

    log = next(tmp_path.glob("node0/__cluster_metadata-0/*.log"))
    printed = dump_log_segments([log], "--cluster-metadata-decoder")

    assert '"type":"ACCESS_CONTROL_ENTRY_RECORD"' in printed
    assert '"type":"REMOVE_ACCESS_CONTROL_ENTRY_RECORD"' in printed
    assert (
        '"resourceType":2,"resourceName":"ord","patternType":4,"principal":"User:alice",'
        '"host":"10.0.0.1","operation":4,"permissionType":3'
    ) in printed
