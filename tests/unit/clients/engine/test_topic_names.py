from __future__ import annotations

from typing import Any

import pytest

from pyk.clients.engine.topic_names import checked_topics
from pyk.clients.errors import InvalidTopicError
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import running


@pytest.mark.parametrize("name", ["a", "x" * 249, "...", ".a", "A.b_c-0", "__consumer_offsets"])
def test_names_that_topics_may_have(name: str) -> None:
    assert checked_topics([name, name]) == {name}


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a b", "a/b", "ü", "a\n", "a\0b"])
def test_names_that_no_topic_can_have(name: str) -> None:
    with pytest.raises(InvalidTopicError, match="is not a valid topic name"):
        checked_topics(["orders", name])


@pytest.mark.parametrize("name", [None, 5, b"orders"])
def test_a_topic_is_a_text(name: Any) -> None:
    with pytest.raises(TypeError, match="topic must be a str, not"):
        checked_topics([name])


@virtual_time
async def test_a_topic_that_cannot_be_leaves_the_others_alone() -> None:
    async with running() as (cluster, client):
        with pytest.raises(InvalidTopicError):
            await client.topics.find("x" * 300, current_clock().now() + 30)

        cluster.add_topic("orders", leaders=[1])
        topic = await client.topics.find("orders", current_clock().now() + 30)

        assert topic.name == "orders"
        assert current_clock().now() < 0.1
