"""``pyk broker`` with a cluster that does not get ready."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest
from click.testing import CliRunner

from pyk.command_line import broker
from support.real_time import IN_TIME


class StallingCluster:
    """A cluster that gets SIGTERM in the middle of its start."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.is_started = False

    async def __aenter__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(IN_TIME):
            await asyncio.Event().wait()

    async def __aexit__(self, *error: object) -> None: ...


def test_a_signal_stops_a_broker_that_still_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "AsyncCluster", StallingCluster)

    result = CliRunner().invoke(broker.broker)

    assert (result.exit_code, result.output) == (0, "")
