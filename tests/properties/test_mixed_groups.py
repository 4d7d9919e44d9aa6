"""Whatever members of both protocols do, a partition has one owner, and then everything is read."""

from __future__ import annotations

import random

import pytest

from pyk.reference_broker.coordinator.group.consumer.migration import MigrationPolicy
from support.consumer_members import ConsumerGroups
from support.mixed_members import (
    ClassicMember,
    Member,
    ModernMember,
    check_owners,
    settle,
)

STEPS = 150


class Story:
    """Members that come, go, fall silent and lose answers, at a coordinator that restarts."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        policy = self.chance.choice([MigrationPolicy.BIDIRECTIONAL] * 3 + [MigrationPolicy.UPGRADE])
        self.groups = ConsumerGroups(
            migration_policy=policy, assignment_interval_ms=self.chance.choice([0, 1000])
        )
        self.groups.create("orders", 4)
        self.members: list[Member] = []
        self._last = 0

    @property
    def alive(self) -> list[Member]:
        return [member for member in self.members if member.is_alive]

    def step(self) -> None:
        """Let one thing happen."""
        what = self.chance.random()
        if len(self.alive) < 2 or (what < 0.05 and len(self.alive) < 5):
            self.members.append(self._new_member())
        elif what < 0.09:
            self.chance.choice(self.alive).leave()
        elif what < 0.11:
            self._crash(self.chance.choice(self.alive))
        elif what < 0.13:
            self.groups.restart()
            for member in self.alive:
                if isinstance(member, ClassicMember):
                    member.disconnected()
        elif what < 0.3:
            self.groups.advance(self.chance.choice([0.1, 1, 5]))
            self._beat_all()
        else:
            loses_answer = self.chance.random() < 0.1
            self.chance.choice(self.alive).step(loses_answer=loses_answer)
        check_owners(self.members)

    def _new_member(self) -> Member:
        self._last += 1
        if self.chance.random() < 0.5:
            return ModernMember(self.groups, f"m{self._last}")
        return ClassicMember(self.groups, is_cooperative=self.chance.random() < 0.5)

    def _crash(self, member: Member) -> None:
        """End a member, and let its session end before anything else happens."""
        member.is_alive, member.owned = False, set()

    def _beat_all(self) -> None:
        """No member that is alive misses its session."""
        for member in self.alive:
            member.step()


@pytest.mark.parametrize("seed", range(60))
def test_a_partition_has_one_owner_and_in_the_end_all_are_read(seed: int) -> None:
    story = Story(seed)
    for _ in range(STEPS):
        story.step()

    members = story.alive or [ModernMember(story.groups, "last")]
    settle(
        members,
        story.groups,
        lambda: sorted(n for each in members for n in each.owned) == [0, 1, 2, 3],
    )

    check_owners(members)
