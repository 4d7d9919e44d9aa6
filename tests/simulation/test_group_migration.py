"""A live group moves from one protocol to the other, member by member, under load."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.runtime.virtual_time import eventually, virtual_time
from support.consumer_groups import PARTITIONS, Group, Member, member_options
from support.consuming import produce, reference_cluster

PER_STEP = 200
QUICK = 0.01
ASSIGNORS = {"eager": ["range"], "cooperative": ["cooperative-sticky"]}


class MovingGroup:
    """A group of three members, each of which is replaced by one of another protocol."""

    def __init__(self, cluster: Any, assignors: list[str], *, are_static: bool) -> None:
        self.cluster = cluster
        self.group = Group(cluster, auto_commit_interval_ms=300)
        self.assignors = assignors
        self.are_static = are_static
        self.everybody: list[Member] = []
        self.produced = 0
        self.committed: dict[Any, int] = {}

    def member(self, protocol: str, number: int) -> Member:
        options = member_options(protocol)
        if protocol == "classic":
            options["partition_assignment_strategy"] = self.assignors
        if self.are_static:
            options["group_instance_id"] = f"instance-{number}"
        member = self.group.member(seconds_per_record=QUICK, **options)
        self.everybody.append(member)
        return member

    async def replace(self, members: list[Member], protocol: str) -> None:
        """Replace one member after the other, each under load."""
        for number in range(len(members)):
            await produce(self.cluster, "orders", PER_STEP, partitions=4)
            self.produced += PER_STEP
            await members[number].leave()
            members[number] = self.member(protocol, number)
            await self.check_commits()
            await eventually(lambda: all(assigned(member) for member in members), timeout=30)
        await eventually(lambda: len(self.done()) == self.produced, timeout=30)

    def done(self) -> set[tuple[int, int]]:
        return {one for member in self.everybody for one in member.processed}

    async def check_commits(self) -> None:
        """No commit goes back, or is ahead of what was processed."""
        committed, done = await self.group.committed(), self.done()
        for partition, offset in committed.items():
            assert offset >= self.committed.get(partition, 0)
            assert {(partition.partition, number) for number in range(offset)} <= done
        self.committed |= committed


def assigned(member: Member) -> int:
    return len(member.consumer.assignment())


@pytest.mark.parametrize("are_static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("assignors", ASSIGNORS.values(), ids=ASSIGNORS)
@virtual_time
async def test_a_rolling_upgrade_and_downgrade_loses_nothing(assignors, are_static):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        moving = MovingGroup(cluster, assignors, are_static=are_static)
        members = [moving.member("classic", number) for number in range(3)]
        await eventually(lambda: all(assigned(member) for member in members), timeout=30)

        for protocol in ("consumer", "classic", "consumer"):
            await moving.replace(members, protocol)

        for member in members:
            await member.leave()
        await moving.check_commits()
        assert moving.committed == dict.fromkeys(PARTITIONS, moving.produced // 4)


@pytest.mark.parametrize("policy", ["upgrade", "bidirectional"])
@virtual_time
async def test_classic_members_read_on_when_the_last_other_member_crashes(policy):
    async with reference_cluster(
        group_consumer_migration_policy=policy, group_consumer_session_timeout_ms="6000"
    ) as cluster:
        await cluster.create_topic("orders", partitions=4)
        moving = MovingGroup(cluster, ["cooperative-sticky"], are_static=False)
        classic = [moving.member("classic", number) for number in range(2)]
        other = moving.member("consumer", 2)
        await eventually(lambda: all(map(assigned, [*classic, other])), timeout=30)

        await other.crash()
        await produce(cluster, "orders", PER_STEP, partitions=4)

        await eventually(lambda: len(moving.done()) == PER_STEP, timeout=30)
        assert sum(map(assigned, classic)) == 4
        for member in classic:
            await member.leave()


@virtual_time
async def test_a_member_that_the_group_has_turned_away_from_joins_again():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        moving = MovingGroup(cluster, ["cooperative-sticky"], are_static=False)
        classic, other = moving.member("classic", 0), moving.member("consumer", 1)
        await eventually(lambda: all(map(assigned, [classic, other])), timeout=30)
        # Its session ends, though it is alive: the group is a classic one by then.
        with cluster.faults.on("ConsumerGroupHeartbeat").drop_before_apply():
            await asyncio.sleep(60)
            assert assigned(classic) == 4

        await eventually(lambda: assigned(classic) == assigned(other) == 2, timeout=30)

        await produce(cluster, "orders", PER_STEP, partitions=4)
        await eventually(lambda: len(moving.done()) == PER_STEP, timeout=30)
        for member in (classic, other):
            await member.leave()
