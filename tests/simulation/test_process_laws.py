"""Under any schedule of ends, failures and rebalances ``process()`` keeps its promises.

Each record is handled, in the order of its key, and no commit is ahead of what is handled.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from pyk.clients import RetryPolicy, TopicPartition
from pyk.clients.processing.gaps import decode_finished
from pyk.runtime.virtual_time import eventually, virtual_time
from support.consuming import make_consumer, produce, reference_cluster
from support.processing import Place, Processor, Processors

PARTITIONS = [TopicPartition("orders", number) for number in range(3)]
COUNT = 600
KEYS = 7


class Chaos:
    """Members of a group that come and go at random, and what may not happen meanwhile."""

    def __init__(self, cluster: Any, seed: int, **options: Any) -> None:
        self.cluster = cluster
        self.random = random.Random(seed)
        self.processors = Processors(
            cluster, auto_commit_interval_ms=200, max_poll_interval_ms=20_000, **options
        )
        self.members: list[Processor] = []
        is_classic = options.get("group_protocol", "classic") == "classic"
        self.group_requests = (
            ["Heartbeat", "JoinGroup"] if is_classic else ["ConsumerGroupHeartbeat"]
        )

    def join(self) -> None:
        member = self.processors.member(
            seconds=0.0,
            ordering="key",
            concurrency=self.random.choice([1, 4, 50]),
            retry=RetryPolicy(attempts=2, backoff=0.2),
            dead_letter=self.put_aside,
            duration=lambda: self.random.choice([0.0, 0.01, 0.1, 2.0]),
            failure=lambda: self.random.random() < 0.05,
        )
        self.members.append(member)

    def put_aside(self, record: Any, error: Exception) -> None:
        self.processors.handled.append((record.partition, record.offset))

    async def step(self) -> None:
        await asyncio.sleep(self.random.uniform(0.0, 3.0))
        if len(self.members) == 3 or (self.members and self.random.random() < 0.3):
            member = self.members.pop(self.random.randrange(len(self.members)))
            await self.random.choice([member.wake, member.cancel, member.crash])()
        else:
            self.join()
        if self.random.random() < 0.5:
            request = self.random.choice(["OffsetCommit", "Fetch", *self.group_requests])
            self.cluster.faults.on(request).once().apply_then_lose_response()

    async def check_commits(self) -> None:
        async with make_consumer(self.cluster, group_id="g") as observer:
            committed = await observer.committed(PARTITIONS)
        handled = set(self.processors.handled)  # the members go on while the observer asks
        for (_, number), offset in committed.items():
            if offset is not None:
                before = {(number, o) for o in range(offset.offset)}
                noted = decode_finished(offset.offset, offset.metadata)
                assert noted is not None
                assert before | {(number, o) for o in noted} <= handled

    def check_order(self) -> None:
        first = dict.fromkeys(self.processors.handled)
        by_key: dict[Place, list[int]] = {}
        for partition, offset in first:
            by_key.setdefault((partition, offset % KEYS), []).append(offset)
        for offsets in by_key.values():
            assert offsets == sorted(offsets)


@pytest.mark.parametrize(
    "options",
    [
        {"partition_assignment_strategy": "range"},
        {"partition_assignment_strategy": "cooperative-sticky"},
        {"group_protocol": "consumer"},
    ],
    ids=lambda options: "-".join(options.values()),
)
@pytest.mark.parametrize("seed", range(4))
@virtual_time
async def test_members_that_come_go_and_fail_keep_every_promise(seed, options):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=3)
        await produce(cluster, "orders", COUNT, partitions=3, key=lambda n: b"%d" % (n // 3 % KEYS))
        chaos = Chaos(cluster, seed, **options)
        for _ in range(25):
            await chaos.step()
            await chaos.check_commits()
        chaos.join()

        await eventually(lambda: len(set(chaos.processors.handled)) == COUNT, timeout=900)

        chaos.check_order()
        for member in chaos.members:
            await member.wake()
        await chaos.check_commits()
        assert sum((await chaos.processors.committed()).values()) == COUNT
