"""Clients of other projects connect by what the reference broker tells them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyk.reference_broker import Cluster
from support import apache_kafka
from support.kafka_tools import run_tool

pytestmark = pytest.mark.conformance

WAYS: dict[str, dict[str, Any]] = {
    "login": {"sasl": {"alice": 'se"cr\\et;'}},
    "TLS and login": {"tls": True, "sasl": {"alice": "secret"}},
    "TLS of both sides": {"tls": True, "config": {"ssl.client.auth": "required"}},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing()))
def test_javas_tools_take_a_file_of_properties(way: str, tmp_path: Path) -> None:
    with Cluster(**WAYS[way]) as cluster:
        cluster.create_topic("orders")
        path = tmp_path / "client.properties"
        path.write_text(
            "".join(
                f"{name}={value.replace(chr(92), chr(92) * 2)}\n"
                for name, value in cluster.client_properties().items()
            )
        )
        server = ("--bootstrap-server", cluster.bootstrap, "--command-config", str(path))

        listed = run_tool("TopicCommand", *server, "--list")

    assert "orders" in listed.split()


@pytest.mark.parametrize("way", WAYS)
def test_confluents_client_takes_the_names_of_librdkafka(way: str) -> None:
    confluent = pytest.importorskip("confluent_kafka")
    errors: list[Any] = []
    with Cluster(**WAYS[way]) as cluster:
        producer = confluent.Producer(cluster.client_properties(librdkafka=True))
        producer.produce("orders", b"one", on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(20) == 0

    assert errors == [None]
