"""The fixtures that pytest users get."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OVER_TLS = """
import pytest


@pytest.fixture(scope="session")
def kafka_options():
    return {"tls": True, "sasl": {"alice": "secret"}}
"""
TESTS = """
import asyncio

from pyk.clients import Admin, AsyncAdmin, Producer


def test_records(kafka, kafka_topic):
    with Producer(**kafka.client_options()) as producer:
        assert producer.send_and_wait(kafka_topic, b"one").offset == 0


def test_others(kafka, kafka_topic):
    with Admin(**kafka.client_options()) as admin:
        assert len(admin.list_topics()) == 2  # the cluster is that of the session


def test_of_asyncio(async_kafka):
    async def main():
        async with async_kafka, AsyncAdmin(**async_kafka.client_options()) as admin:
            assert await admin.list_topics() == {}

    asyncio.run(main())
"""


@pytest.mark.parametrize("options", ["", OVER_TLS], ids=["plain", "TLS and login"])
def test_a_test_gets_a_cluster_and_a_topic(tmp_path: Path, options: str) -> None:
    (tmp_path / "conftest.py").write_text(options)
    (tmp_path / "test_shop.py").write_text(TESTS)

    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("--rootdir", str(tmp_path), "-W", "error", "-n", "0"),
            *(() if is_installed() else ("-p", "pyk.reference_broker.pytest_plugin")),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def is_installed() -> bool:
    """Return whether pytest finds the plugin by itself: not in installations of before."""
    from importlib.metadata import entry_points

    return any(one.value.startswith("pyk.") for one in entry_points(group="pytest11"))
