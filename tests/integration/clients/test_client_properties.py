"""What a cluster tells other clients, under the names that they know."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyk.clients import Producer
from pyk.reference_broker import Cluster

USERS = {"alice": 'se"cr\\et;'}
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "login": {"sasl": USERS},
    "TLS": {"tls": True},
    "TLS and login": {"tls": True, "sasl": USERS},
    "TLS of both sides": {"tls": True, "config": {"ssl.client.auth": "required"}},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_client_of_pyk_connects_by_the_names_of_java(way: str) -> None:
    with (
        Cluster(**WAYS[way]) as cluster,
        Producer.from_properties(cluster.client_properties()) as producer,
    ):
        written = producer.send_and_wait("orders", b"one")

    assert written.offset == 0


def test_keys_are_in_files_of_this_user_until_the_cluster_is_closed() -> None:
    with Cluster(tls=True) as cluster:
        found = cluster.client_properties()
        paths = [Path(found[f"ssl.{store}.location"]) for store in ("truststore", "keystore")]
        modes = {stat.S_IMODE(path.stat().st_mode) for path in paths}
        folder_mode = stat.S_IMODE(paths[0].parent.stat().st_mode)
        key = paths[1].read_text()

    assert modes == {0o600}
    assert folder_mode == 0o700
    assert key.startswith("-----BEGIN PRIVATE KEY-----")  # the only form that Java reads
    assert not paths[0].parent.exists()


@pytest.mark.parametrize(
    ("security", "names"),
    [
        ({}, {"bootstrap.servers"}),
        ({"sasl": USERS}, {"sasl.username", "sasl.password", "sasl.mechanism"}),
        ({"tls": True}, {"ssl.ca.location", "ssl.certificate.location", "ssl.key.location"}),
    ],
)
def test_librdkafka_has_other_names(security: dict[str, Any], names: set[str]) -> None:
    with Cluster(**security) as cluster:
        found = cluster.client_properties(librdkafka=True)

    common = {"bootstrap.servers"} | ({"security.protocol"} if security else set())
    assert set(found) == common | names


def test_users_and_listeners_that_are_not_there_are_refused() -> None:
    with Cluster(sasl=USERS) as cluster:
        with pytest.raises(ValueError, match="'bob' is not one of the users alice"):
            cluster.client_properties("bob")
        with pytest.raises(ValueError, match="OTHER"):
            cluster.client_properties(listener="OTHER")


FORKING = """
import os, sys, warnings
warnings.simplefilter("ignore")  # a fork with threads
from pyk.reference_broker import Cluster

with Cluster(tls=True) as cluster:
    path = cluster.client_properties()["ssl.truststore.location"]
    child = os.fork()
    if not child:
        sys.exit()
    os.waitpid(child, 0)
    print(os.path.exists(path))
print(os.path.exists(path))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
def test_a_forked_child_leaves_the_files_of_its_parent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout.split() == ["True", "False"]
