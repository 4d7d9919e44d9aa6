from __future__ import annotations

from typing import Any

from pyk.clients import AsyncConsumer, TopicPartition
from pyk.clients.consumer.group.actions import Assign, Revoke
from pyk.runtime.virtual_time import virtual_time

KEPT, GIVEN_UP = TopicPartition("orders", 0), TopicPartition("orders", 1)


@virtual_time
async def test_finishing_an_assignment_event_keeps_partitions_to_be_revoked_held() -> None:
    consumer: AsyncConsumer[Any, Any] = AsyncConsumer("127.0.0.1:1", group_id="g")
    group = consumer._core.group
    assert group is not None
    partitions = frozenset({KEPT, GIVEN_UP})
    group._handle(Assign(partitions, partitions))
    group._handle(Revoke(frozenset({GIVEN_UP})))

    event = await group.begin_event(None)
    assert event is not None
    group.finish_event(event)

    held = {p: buffer.is_held for p, buffer in consumer._core.buffer.partitions.items()}
    assert held == {KEPT: False, GIVEN_UP: True}
