"""Calls about transactions whose client is closed."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from pyk.clients.errors import ClosedError
from pyk.clients.producer.transactions.operation import Operation
from pyk.runtime.supervisor import Supervisor
from pyk.runtime.system_clock import SystemClock


@pytest.mark.parametrize("has_begun", [False, True])
async def test_callers_hear_that_the_producer_was_closed(has_begun: bool) -> None:
    supervisor = Supervisor(SystemClock(), closed_error=ClosedError)
    client: Any = SimpleNamespace(supervisor=supervisor)
    began: list[str] = []

    async def commit() -> None:
        began.append("commit")
        await asyncio.sleep(3600)

    operation = Operation(client, "commit_transaction", commit())
    if has_begun:
        await asyncio.sleep(0)
    await supervisor.close(0.0)

    with pytest.raises(ClosedError, match=r"closed before commit_transaction\(\) had ended"):
        await operation.wait(5)
    assert began == ["commit"] * has_begun
