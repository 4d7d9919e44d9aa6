"""Where a record without a key goes next."""

from __future__ import annotations

from collections import Counter
from random import Random

from pyk.clients.producer.batching.partitioner import next_sticky_partition


def shares(available, loads, draws=20_000) -> dict[int, float]:
    random = Random(1)
    counts = Counter(next_sticky_partition(random, available, loads) for _ in range(draws))
    return {partition: counts[partition] / draws for partition in available}


def test_equal_loads_give_equal_odds():
    assert all(0.23 < share < 0.27 for share in shares([0, 1, 2, 3], [5, 5, 5, 5]).values())


def test_the_odds_are_those_of_kip_794():
    # The KIP's own example: queues of 0, 3 and 1 batches have the odds 4, 1 and 3 in 8.
    found = shares([0, 1, 2], [0, 3, 1])

    assert abs(found[0] - 4 / 8) < 0.02
    assert abs(found[1] - 1 / 8) < 0.02
    assert abs(found[2] - 3 / 8) < 0.02


def test_without_loads_the_odds_are_equal():
    assert all(0.31 < share < 0.36 for share in shares([1, 4, 6], None).values())


def test_only_available_partitions_are_drawn():
    assert set(shares([2, 5], [0, 0, 9, 0, 0, 0])) == {2, 5}


def test_a_single_partition_needs_no_draw():
    assert next_sticky_partition(Random(1), [3], [0, 0, 0, 7]) == 3
