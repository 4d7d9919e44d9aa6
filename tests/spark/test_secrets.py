"""Passwords and keys of a query are in nothing that Spark keeps, prints or shows."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pyk.clients import Consumer
from pyk.reference_broker import Cluster
from support.certificates import Authority

pytestmark = pytest.mark.spark

PASSWORD = "canary/of+Alice=1"
REFERENCES = {"ALICE_PASSWORD": PASSWORD}
REDACTED = "(?i)url|keystore[.]key|passphrase|proxy"  # what the guide tells to set
TESTS = Path(__file__).resolve().parents[1]


def options_of(cluster: Cluster, folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return the options of a query, and the secrets in them."""
    found: dict[str, Any] = cluster.client_options()
    leaf = Authority(folder).issue("alice")
    key = leaf.private_key_pem.bytes().decode()
    options = {
        "kafka.bootstrap.servers": found["bootstrap_servers"],
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule "
        f'required username="alice" password="{PASSWORD}";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": found["ssl_truststore_certificates"],
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": leaf.cert_chain_pems[0].bytes().decode(),
        "kafka.ssl.keystore.key": key,
    }
    return options, [PASSWORD, key.splitlines()[2]]


def forms(secret: str) -> list[bytes]:
    """Return a secret as it is, in base64, in hexadecimal, and as part of a URL."""
    raw = secret.encode()
    return [raw, base64.b64encode(raw), raw.hex().encode(), quote(secret, safe="").encode()]


def run(options: dict[str, str], stream_options: dict[str, str], folder: Path) -> bytes:
    """Run queries in a process of their own; return all that is left of them."""
    events = folder / "events"
    events.mkdir()
    confs = {
        "spark.ui.port": "0",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.python.authenticate.socketTimeout": "300s",  # on a busy machine
        "spark.sql.redaction.options.regex": REDACTED,
    }
    job = folder.with_suffix(".json")
    given = {"options": options, "stream_options": stream_options, "folder": str(folder)}
    job.write_text(json.dumps(given | {"confs": confs}))
    paths = [str(TESTS), os.environ.get("PYTHONPATH", ""), *sys.path]
    done = subprocess.run(
        [sys.executable, "-m", "support.secret_queries", str(job)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **REFERENCES},
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-30_000:].decode()
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return b"\n".join([done.stdout, done.stderr, *files])


def test_no_secret_is_in_plans_event_log_user_interface_checkpoint_and_logs(
    tmp_path: Path,
) -> None:
    with Cluster(tls=True, sasl={"alice": PASSWORD}) as cluster:
        for topic in ("in", "out"):
            cluster.create_topic(topic)
        options, secrets = options_of(cluster, tmp_path)
        jaas = options["kafka.sasl.jaas.config"].replace(PASSWORD, "${env:ALICE_PASSWORD}")
        references = {"kafka.sasl.jaas.config": jaas, "kafka.config.providers": "env"}
        folder = tmp_path / "queries"
        folder.mkdir()

        left = run(options, options | references, folder)

        with Consumer(
            topics=["out"], auto_offset_reset="earliest", group_id="g", **cluster.client_options()
        ) as consumer:
            assert [record.value for record in consumer.poll(30)] == [b"one", b"two"]
    assert b"(redacted)" in left
    found = [form for secret in secrets for form in forms(secret) if form in left]
    assert found == []
