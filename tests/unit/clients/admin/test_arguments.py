"""What an application means by the arguments of ``Admin``."""

from __future__ import annotations

import pytest

from pyk.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from support.administering import administered
from support.virtual_time import virtual_time


@virtual_time
async def test_one_name_is_no_sequence_of_letters() -> None:
    async with administered() as (cluster, admin):
        done = DeletableTopicResult(name="orders", error_code=0)
        cluster.on(DeleteTopicsRequest, DeleteTopicsResponse(responses=[done]))

        await admin.delete_topics("orders")

        message = cluster.requests(DeleteTopicsRequest)[0].message
        assert [state.name for state in message.topics] == ["orders"]


@virtual_time
async def test_a_topic_to_create_is_more_than_a_name() -> None:
    async with administered() as (_, admin):
        with pytest.raises(TypeError, match=r"is NewTopic\(name, …\), not 'orders'"):
            await admin.create_topics(["orders"])  # type: ignore[list-item]
