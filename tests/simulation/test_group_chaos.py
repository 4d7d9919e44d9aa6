"""Members come, go, hang and crash, answers get lost, and what a group promises holds."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from pyk.runtime.virtual_time import eventually, virtual_time
from support.consumer_groups import (
    PARTITIONS,
    Group,
    Member,
    heartbeat_of,
    member_options,
)
from support.consuming import produce, reference_cluster

RECORDS = 2000
QUICK, SLOW = 0.02, 30.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("protocol", ["classic", "consumer", "both"])
@virtual_time
async def test_no_record_is_lost_and_no_commit_is_ahead_of_its_record(protocol, seed):
    chance = random.Random(seed)
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", RECORDS, partitions=4)
        options = {"max_poll_interval_ms": 20_000, "auto_commit_interval_ms": 500}
        group = ChangingGroup(cluster, chance, protocol, **options)
        members = [group.member(seconds_per_record=QUICK) for _ in range(3)]
        everybody = list(members)

        for _ in range(15):
            await asyncio.sleep(chance.uniform(0.5, 4.0))
            member = chance.choice(members)
            await disturb(cluster, group, member, members, chance)
            everybody += [one for one in members if one not in everybody]
            check_commits(await group.committed(), done_by(everybody))

        cluster.faults.clear()
        for member in members:
            member.seconds_per_record = QUICK
        await eventually(lambda: len(done_by(everybody)) == RECORDS, timeout=300)
        # Some may be read again, because whoever had them could not commit: wait for that, too.
        async with asyncio.timeout(300):
            while await group.committed() != dict.fromkeys(PARTITIONS, RECORDS // 4):
                await asyncio.sleep(0.5)
        for member in members:
            await member.leave()
        assert await group.committed() == dict.fromkeys(PARTITIONS, RECORDS // 4)


class ChangingGroup(Group):
    """A group whose members speak one protocol, or ``both``: each one that chance has chosen."""

    def __init__(self, cluster: Any, chance: random.Random, protocol: str, **options: Any) -> None:
        super().__init__(cluster, **options)
        self.chance = chance
        self.protocols = ["classic", "consumer"] if protocol == "both" else [protocol]

    def member(self, **options: Any) -> Member:
        return super().member(**options, **member_options(self.chance.choice(self.protocols)))


async def disturb(
    cluster: Any, group: Group, member: Member, members: list[Member], chance: random.Random
) -> None:
    what = chance.choice(["leaves", "crashes", "hangs", "goes on", "gets no answers"])
    if what in ("leaves", "crashes"):
        members.remove(member)
        members.append(group.member(seconds_per_record=QUICK))
        await (member.leave() if what == "leaves" else member.crash())
    elif what == "hangs":
        member.seconds_per_record = SLOW
    elif what == "goes on":
        member.seconds_per_record = QUICK
    else:
        cluster.faults.on(heartbeat_of(member.consumer)).times(2).apply_then_lose_response()


def done_by(members: list[Member]) -> set[tuple[int, int]]:
    return {one for member in members for one in member.processed}


def check_commits(committed: dict[Any, int], done: set[tuple[int, int]]) -> None:
    """Everything before a committed offset is processed."""
    for partition, offset in committed.items():
        assert {(partition.partition, number) for number in range(offset)} <= done
