"""Requests that fail because of a bug are answered."""

from __future__ import annotations

import pytest

from pyk.protocol.connection import ClientConnection, ServerConnection
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.schema import Message
from pyk.reference_broker.handlers.dispatcher import Dispatcher
from pyk.reference_broker.handlers.table import SERVED
from pyk.runtime.virtual_time import virtual_time
from support.running_brokers import running_broker


async def answer_to_failed(request: Message, version: int) -> Message | None:
    """Return what the dispatcher answers for a request that could not be answered."""
    _, parts = ClientConnection("tests").send(request, version)
    frame = b"".join(bytes(part) for part in parts)[4:]
    received = ServerConnection(SERVED).receive(memoryview(frame))
    async with running_broker() as broker:
        return Dispatcher(broker.services).failed(received, ValueError("a bug"))


@virtual_time
async def test_a_failed_request_is_answered_with_an_unknown_error_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    response = await answer_to_failed(DescribeGroupsRequest(groups=["readers"]), 5)

    (group,) = response.groups  # type: ignore[union-attr]
    assert (group.group_id, group.error_code) == ("readers", ErrorCode.UNKNOWN_SERVER_ERROR)
    assert "Answered DescribeGroups from 'tests' with UNKNOWN_SERVER_ERROR" in caplog.text
    assert "a bug" in caplog.text


@virtual_time
async def test_a_failed_request_without_a_response_has_none() -> None:
    assert await answer_to_failed(ProduceRequest(acks=0), 9) is None
