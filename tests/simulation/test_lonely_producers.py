"""A transactional producer without a rival, whose requests go wrong: it is never fenced, and all
that it is told is true."""

from __future__ import annotations

from random import Random

import pytest

from pyk.runtime.virtual_time import run_virtual
from support.billing import use_version
from support.consuming import reference_cluster
from support.lonely_producer import PARTITIONS, TOPIC, LonelyProducer, committed_in

TRANSACTIONS = 40


async def transact(seed: int, version: int) -> set[str]:
    """Run transactions, and check what is committed; return which kinds there were."""
    async with reference_cluster() as cluster:
        if version == 1:
            await use_version(cluster, 1)
        await cluster.create_topic(TOPIC, partitions=len(PARTITIONS))
        lonely = LonelyProducer(cluster, Random(seed))

        await lonely.run(TRANSACTIONS)

        values, offset = await committed_in(cluster)
        (broker,) = cluster._brokers.values()
        stable = [broker.services.replicas.get(*one).last_stable_offset for one in PARTITIONS]
        written = [broker.services.replicas.get(*one).high_watermark for one in PARTITIONS]
    assert sorted(values) == sorted(lonely.committed)
    assert offset == lonely.committed_offset
    assert stable == written
    return lonely.outcomes


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_what_a_lonely_producer_is_told_is_true(seed: int, version: int) -> None:
    assert "commit" in run_virtual(transact(seed, version))
