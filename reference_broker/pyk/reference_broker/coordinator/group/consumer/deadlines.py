"""By when the members of consumer groups must have done something, or they are removed.

A member with the consumer protocol has a session, and a rebalance timeout while it has partitions
to give up. A classic one has its own session timeout; it must join in time once a heartbeat has
told it to, and sync in time once it has joined.
"""

from __future__ import annotations

from collections.abc import Callable

from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.runtime.timers import Moment

from .group_config import ConsumerGroupConfig
from .member import ConsumerMember, MemberState

Remove = Callable[[str, str, str, "int | None", Moment], Decision]
"""Removes a member of a group for a reason; if an epoch is given, only while it is in that."""


class Deadlines:
    """The timers of all members of consumer groups of one shard."""

    def __init__(
        self, timers: ShardTimers, config_of: Callable[[str], ConsumerGroupConfig], remove: Remove
    ) -> None:
        self._timers = timers
        self._config_of = config_of
        self._remove = remove

    def expect(self, group_id: str, member: ConsumerMember, moment: Moment) -> None:
        """Begin the session of a member, and wait for the partitions that it has to give up."""
        self.expect_heartbeat(group_id, member, moment)
        self.expect_revocation(group_id, member, moment)

    def expect_heartbeat(self, group_id: str, member: ConsumerMember, moment: Moment) -> None:
        timeout_ms = self._config_of(group_id).session_timeout_ms
        if member.classic_metadata is not None:
            timeout_ms = member.classic_metadata.session_timeout_ms
        key = _key("session", group_id, member.member_id)
        self._schedule(key, moment.after(timeout_ms), "its session has ended")

    def expect_revocation(self, group_id: str, member: ConsumerMember, moment: Moment) -> None:
        key = _key("rebalance", group_id, member.member_id)
        if member.is_classic or member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._timers.cancel(key)
            return
        self._schedule(
            key,
            moment.after(member.rebalance_timeout_ms),
            "it has not given up its partitions in time",
            member.epoch,
        )

    def expect_join(self, group_id: str, member: ConsumerMember, moment: Moment) -> None:
        """Wait for a JoinGroup, from the first time on that the member was told to send it."""
        key = _key("join", group_id, member.member_id)
        if not self._timers.has(key):
            deadline = moment.after(member.rebalance_timeout_ms)
            self._schedule(key, deadline, "it has not joined again in time")

    def joined(self, group_id: str, member: ConsumerMember, moment: Moment) -> None:
        """Wait for the SyncGroup of a classic member that has joined."""
        self._timers.cancel(_key("join", group_id, member.member_id))
        self.expect(group_id, member, moment)
        key = _key("sync", group_id, member.member_id)
        self._schedule(
            key, moment.after(member.rebalance_timeout_ms), "it has not sent SyncGroup in time"
        )

    def synced(self, group_id: str, member: ConsumerMember, moment: Moment) -> None:
        self._timers.cancel(_key("sync", group_id, member.member_id))
        self.expect_heartbeat(group_id, member, moment)

    def forget(self, group_id: str, member_id: str) -> None:
        """Expect nothing more of a member."""
        for kind in ("session", "rebalance", "join", "sync"):
            self._timers.cancel(_key(kind, group_id, member_id))

    def _schedule(
        self, key: tuple[str, str, str], deadline: float, reason: str, epoch: int | None = None
    ) -> None:
        _, group_id, member_id = key
        self._timers.schedule(
            key,
            deadline,
            lambda moment: self._remove(group_id, member_id, reason, epoch, moment),
        )


def _key(kind: str, group_id: str, member_id: str) -> tuple[str, str, str]:
    return (f"consumer {kind}", group_id, member_id)
