"""Laws of a group by KIP-848, whatever gets lost, and whoever comes, goes or is forgotten."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pyk.clients.consumer.group.actions import Action, Assign, Leave, Lose, Revoke, Send, Wait
from pyk.clients.consumer.group.modern.heartbeats import MemberOptions
from pyk.clients.consumer.group.modern.membership import ModernMembership
from pyk.clients.errors import NodeDisconnectedError
from support.model_coordinator import ModelCoordinator
from support.modern_membership import image_of

PARTITIONS = 6
BUSY_SECONDS = 20.0


class Member:
    """A membership, and what its application believes that it has."""

    def __init__(self, member_id: str, now: float) -> None:
        self.member_id = member_id
        options = MemberOptions(group_id="g", member_id=member_id, max_poll_interval=BUSY_SECONDS)
        self.membership = ModernMembership(options, lambda: 0.5, now)
        self.membership.metadata_changed(image_of(a=1), now)
        self.membership.subscribe(frozenset({"a"}), now)
        self.hands: frozenset[int] = frozenset()
        self._revoke: Revoke | None = None

    def poll(self, now: float) -> None:
        self.membership.application_polled(now)
        if self._revoke is not None:
            revoke, self._revoke = self._revoke, None
            self.hands -= {partition.partition for partition in revoke.partitions}
            self.membership.revoked(revoke)

    def take(self, action: Action) -> None:
        match action:
            case Assign():
                added = {partition.partition for partition in action.added}
                assert not added & self.hands
                self.hands |= added
                assert self.hands == {partition.partition for partition in action.owned}
            case Revoke():
                assert {partition.partition for partition in action.partitions} <= self.hands
                self._revoke = action
            case Lose():
                self.hands -= {partition.partition for partition in action.partitions}
                assert not self.hands
                self._revoke = None


class Story:
    """A group in which anything may happen, until it ends well."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.now = 0.0
        self.coordinator = ModelCoordinator(PARTITIONS)
        self.members = [Member(f"m{number}", 0.0) for number in range(3)]
        self.forgotten: set[str] = set()
        """Members that do not know yet that their session is over."""

    def step(self, *, is_calm: bool) -> None:
        self.now += self.random.choice([0.1, 0.5, 1.0])
        member = self.random.choice(self.members)
        chance = 1.0 if is_calm else self.random.random()
        if chance < 0.05:
            self.coordinator.expire(member.member_id)
            self.forgotten.add(member.member_id)
        elif chance < 0.08:
            self.members.remove(member)
            self.members.append(Member(f"m{self.random.randrange(10**9)}", self.now))
            self.leave(member)
        elif chance < 0.1:
            self.now += BUSY_SECONDS
        else:
            if chance > 0.3:
                member.poll(self.now)
            self.drive(member, is_calm=is_calm)
        self.check()

    def leave(self, member: Member) -> None:
        leave = member.membership.leave("closes")
        if leave is not None:
            self.coordinator.heartbeat(leave.request)
        self.coordinator.expire(member.member_id)

    def drive(self, member: Member, *, is_calm: bool) -> None:
        """Do what is due for a member."""
        while not isinstance(action := member.membership.next_action(self.now), Wait):
            if isinstance(action, Leave):
                self.coordinator.heartbeat(action.request)
            elif isinstance(action, Send):
                self.deliver(member, action, 1.0 if is_calm else self.random.random())
            else:
                member.take(action)

    def deliver(self, member: Member, sent: Send, chance: float) -> None:
        lost = NodeDisconnectedError("lost")
        if chance < 0.1:
            member.membership.request_failed(sent, lost, self.now)
            return
        response = self.coordinator.heartbeat(sent.request)
        if chance < 0.2:
            member.membership.request_failed(sent, lost, self.now)
            return
        member.membership.answered(sent, response, self.now)
        self.forgotten.discard(member.member_id)

    def check(self) -> None:
        """No partition is in two hands, unless one of them was forgotten and cannot know it."""
        hands = [m.hands for m in self.members if m.member_id not in self.forgotten]
        assert sum(map(len, hands)) == len(frozenset().union(*hands))


@given(st.integers(0, 2**32))
def test_no_partition_is_in_two_hands_and_all_are_read_in_the_end(seed: int) -> None:
    story = Story(Random(seed))

    for _ in range(200):
        story.step(is_calm=False)
    for _ in range(150):
        story.step(is_calm=True)

    for member in story.members:
        assert member.membership.error is None
        assert member.hands == story.coordinator.target(member.member_id)
