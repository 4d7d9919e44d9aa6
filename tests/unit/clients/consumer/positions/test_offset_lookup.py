"""Questions about offsets whose caller goes away."""

from __future__ import annotations

import asyncio
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.consumer.positions.offset_lookup import OffsetLookup


async def test_a_question_that_is_cancelled_before_it_is_asked_leaves_nothing_behind() -> None:
    image = SimpleNamespace(leader=lambda partition: 1, leader_epoch=lambda partition: None)
    client: Any = SimpleNamespace(metadata=image)
    lookup = OffsetLookup(client, read_committed=False)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        asking = asyncio.create_task(lookup.ask_times({TopicPartition("orders", 0): 0}))
        await asyncio.sleep(0)  # the tasks that ask leaders are there, and have not begun
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    assert [str(each.message) for each in warned] == []
