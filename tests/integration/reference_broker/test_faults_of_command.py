"""``pyk broker --faults FILE``."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pyk.protocol.errors import ErrorCode
from support.broker_process import COMMAND, BrokerProcess
from support.broker_requests import TOPIC, create_topic, produce_one
from support.raw_client import RawClient

TOML = """
[[fault]]
api = "Produce"
once = true
error = "NOT_LEADER_OR_FOLLOWER"
"""
JSON = '{"fault": [{"api": "Produce", "once": true, "error": "NOT_LEADER_OR_FOLLOWER"}]}'


@pytest.mark.parametrize(("name", "text"), [("faults.toml", TOML), ("faults.json", JSON)])
async def test_requests_go_wrong_as_the_file_says(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)

    with BrokerProcess(tmp_path / "data", "--faults", str(file)) as broker:
        async with RawClient(broker.bootstrap) as client:
            await client.ask(create_topic(TOPIC), 7)
            failed = await produce_one(client, b"one")
            stored = await produce_one(client, b"two")

    assert failed.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert stored.error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("faults.toml", "[[fault]]\napi = 1", "faults.toml, line 2: fault 1: it needs the name"),
        ("faults.toml", "fault = ", "faults.toml cannot be parsed: Invalid value"),
        ("faults.json", "{", "faults.json cannot be parsed: Expecting property name"),
        ("other", None, "cannot read"),
    ],
)
def test_a_file_that_cannot_be_used_ends_the_command(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)

    done = subprocess.run(
        [*COMMAND, "--port", "0", "--faults", str(file)],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )

    assert done.returncode == 2
    assert "error: --faults: " in done.stderr
    assert message in done.stderr
