"""What the error of a stalled partition says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyk.clients import TopicPartition
from pyk.clients.consumer.fetching.fetcher import _stalled
from pyk.clients.consumer.positions.progress import STALL_SECONDS


@pytest.mark.parametrize(
    ("is_behind", "words"),
    [
        (True, "orders-3 has records from offset 42 on, but none came for"),
        (False, "orders-3 was fetched from offset 42 on, but no response came for"),
    ],
)
def test_the_error_of_a_stalled_partition_says_where_it_stands_and_for_how_long(is_behind, words):
    assigned = SimpleNamespace(
        topic_partition=TopicPartition("orders", 3),
        buffer=SimpleNamespace(fetch_offset=42),
        is_behind=is_behind,
        progress=SimpleNamespace(stalls=2),
    )

    error = _stalled(cast(Any, assigned))

    assert str(error).startswith(f"{words} {2 * STALL_SECONDS:.0f} seconds")
    assert (error.topic, error.partition, error.offset) == ("orders", 3, 42)
