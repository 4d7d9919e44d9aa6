"""Turn a consumer group into a classic one when its last member with the consumer protocol goes."""

from __future__ import annotations

import logging
from collections.abc import Collection

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.decision import Decision
from pyk.runtime.timers import Moment

from .consumer.classic_metadata import has_only_classic
from .consumer.consumer_group import ConsumerGroup
from .consumer.deadlines import Deadlines
from .consumer.draft import Draft
from .consumer_groups import ConsumerGroups
from .conversion import downgrade_tombstones, downgraded
from .groups import Group
from .membership import GroupMembership
from .records import group_record

log = logging.getLogger(__name__)


class Downgrade:
    """Decides whether a group is turned around, and does it.

    The groups change before the records are in the log, as classic groups do: members may wait for
    the rebalance that begins. If the records are refused, the group is what it was.
    """

    def __init__(
        self,
        groups: dict[str, Group],
        consumer_groups: ConsumerGroups,
        membership: GroupMembership,
        deadlines: Deadlines,
    ) -> None:
        self._groups = groups
        self._consumer_groups = consumer_groups
        self._membership = membership
        self._deadlines = deadlines

    def is_due(self, group: ConsumerGroup, leaving: Collection[str]) -> bool:
        """Return whether only classic members stay, which may be a classic group."""
        return has_only_classic(group, without=leaving) and self._is_allowed(
            group, len(group.members) - len(leaving)
        )

    def is_due_for_replaced(self, group: ConsumerGroup, replaced: str) -> bool:
        """Return whether a classic member takes the place of the last one that is not."""
        others = [each for each in group.members.values() if each.member_id != replaced]
        return (
            not group.members[replaced].is_classic
            and all(member.is_classic for member in others)
            and self._is_allowed(group, len(group.members))
        )

    def _is_allowed(self, group: ConsumerGroup, size: int) -> bool:
        policy = self._consumer_groups.config_of(group.group_id).migration_policy
        if not policy.allows_downgrade:
            log.info("Group %r stays a consumer group: the policy is %s", group.group_id, policy)
            return False
        return size <= self._membership.max_size

    def begin(
        self,
        group: ConsumerGroup,
        draft: Draft,
        *,
        leaving: Collection[str],
        rebalance_because: str | None,
        moment: Moment,
    ) -> Decision:
        """Put a classic group with the members of ``draft`` in place of ``group``."""
        group_id = group.group_id
        classic = downgraded(
            draft.group,
            epoch=group.epoch,
            without=leaving,
            topics=self._consumer_groups.topics,
            time_ms=moment.time_ms,
        )
        assignment = {each.member_id: each.assignment for each in classic.members.values()}
        records = (
            *draft.decision.records,
            *downgrade_tombstones(draft.group),
            group_record(classic, assignment, is_rebalancing=rebalance_because is not None),
        )
        log.info("Consumer group %r becomes a classic group", group_id)
        self._groups[group_id] = classic
        for member_id in group.members:
            self._deadlines.forget(group_id, member_id)
        begun = self._membership.take_over(classic, rebalance_because, moment)

        def when_written(error: ErrorCode) -> None:
            if not error or self._groups.get(group_id) is not classic:
                return
            self._membership.group_deleted(classic)
            self._groups[group_id] = group
            for member in group.members.values():
                self._deadlines.expect(group_id, member, moment)

        return Decision((*records, *begun.records), when_written, replays=False)
