from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.clients.consumer.fetching.fetch_memory import FetchMemory

MIB = 1024 * 1024
DEFAULTS = FetchMemory(total=64 * MIB, request=50 * MIB, partition=MIB)


@pytest.mark.parametrize(
    ("held", "nodes", "granted"),
    [
        (0, 1, 50 * MIB),  # the limit of a request
        (20 * MIB, 1, 44 * MIB),  # what is left
        (0, 4, 16 * MIB),  # a share
        (10 * MIB, 4, 6 * MIB),
        (10 * MIB + 1, 4, 5 * MIB),  # whole partitions only
        (16 * MIB - MIB, 4, MIB),
        (16 * MIB - MIB + 1, 4, 0),  # less than a partition's worth
        (17 * MIB, 4, 0),
        (0, 128, MIB // 2),  # a share that is smaller than a partition's limit
        (MIB // 4, 128, MIB // 4),
        (MIB // 4 + 1, 128, 0),  # less than half of it
    ],
)
def test_a_node_may_send_the_rest_of_its_share(held: int, nodes: int, granted: int) -> None:
    assert DEFAULTS.grant(held, nodes) == granted


@given(nodes=st.integers(1, 10_000), total=st.integers(0, 1 << 40), request=st.integers(0, 1 << 31))
def test_a_node_of_which_nothing_is_held_may_always_send(
    nodes: int, total: int, request: int
) -> None:
    memory = FetchMemory(total=total, request=request, partition=MIB)

    assert memory.grant(0, nodes) >= 1


@given(
    held=st.lists(st.integers(0, 1 << 27), min_size=1, max_size=20),
    total=st.integers(1 << 16, 1 << 30),
)
def test_all_nodes_together_keep_to_the_limit(held: list[int], total: int) -> None:
    memory = FetchMemory(total=total, request=50 * MIB, partition=MIB)
    nodes = len(held)
    share = total // nodes

    after = [one + memory.grant(one, nodes) for one in held]

    assert all(new <= max(share, old, 1) for old, new in zip(held, after, strict=True))
