"""What every request of a member does to its group, whichever protocol it speaks. Pure.

1. The member is added, or its description changes. A new subscription begins a new epoch of the
   group, and so do topics that were created, deleted or have grown.
2. If the group is ahead of its target assignment, that is made for its epoch.
3. The member goes one step towards its target (:mod:`.reconciliation`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pyk.reference_broker.coordinator.group.consumer_groups import ConsumerGroups
from pyk.runtime.timers import Moment

from .assignment import Assignment
from .consumer_group import ConsumerGroup
from .draft import Draft
from .member import ConsumerMember
from .reconciliation import Reconciliation
from .records import current_record, member_record
from .target_assignment import (
    PATTERN_REFRESH_MS,
    assign,
    begin_epoch,
    drop_pattern,
    resolve_pattern,
    subscription_hash,
)


class Report(Protocol):
    """What a request says of the member that sent it, and when."""

    @property
    def moment(self) -> Moment: ...

    @property
    def owned(self) -> Assignment | None:
        """The partitions that the member has; None if it does not say."""

    @property
    def may_see(self) -> Callable[[str], bool] | None:
        """Whether the member may know of a topic; None if no patterns are resolved for it."""

    def describe(self, member: ConsumerMember) -> ConsumerMember:
        """Return a member with what the request says of it."""


class Progress:
    """Adds the three steps to the draft of a group."""

    def __init__(self, groups: ConsumerGroups) -> None:
        self._groups = groups
        self._topics = groups.topics

    def advance(self, draft: Draft, before: ConsumerMember, report: Report) -> ConsumerMember:
        """Take all steps; return the member after them."""
        has_new_subscription = self.describe(draft, before, report)
        self.assign_if_due(draft, report.moment)
        return self.reconcile(
            draft, before.member_id, report.owned, has_new_subscription=has_new_subscription
        )

    # -- 1. subscriptions and topics -------------------------------------------------------------

    def describe(self, draft: Draft, before: ConsumerMember, report: Report) -> bool:
        """Update the description of the member; return whether its subscription has changed."""
        after = report.describe(before)
        known = draft.group
        if after != known.members.get(after.member_id):
            draft.add(member_record(known.group_id, after))
        has_changed = after.topic_names != before.topic_names
        if after.pattern != before.pattern:
            has_changed = True
            drop_pattern(draft, before.pattern)
            if after.pattern and report.may_see is not None:
                resolve_pattern(draft, after.pattern, self._topics, report.may_see, report.moment)
        if has_changed or self._have_topics_changed(draft, known, report.may_see, report.moment):
            begin_epoch(draft, self._topics)
        return has_changed

    def look_at_topics(self, draft: Draft, moment: Moment) -> None:
        """Begin a new epoch if the topics of the group have changed, by name."""
        if self._have_topics_changed(draft, draft.group, None, moment):
            begin_epoch(draft, self._topics)

    def _have_topics_changed(
        self,
        draft: Draft,
        known: ConsumerGroup,
        may_see: Callable[[str], bool] | None,
        moment: Moment,
    ) -> bool:
        """Return whether a new epoch is due because of topics, by name or by pattern."""
        if known.metadata_version == self._topics.version:
            return False
        patterns = sorted({each.pattern for each in known.members.values() if each.pattern})
        is_due = moment.time_ms >= known.patterns_resolved_ms + PATTERN_REFRESH_MS
        resolved: list[bool] = []
        if patterns and is_due and may_see is not None:
            known.patterns_resolved_ms = moment.time_ms
            resolved = [
                resolve_pattern(draft, pattern, self._topics, may_see, moment)
                for pattern in patterns
            ]
        if subscription_hash(draft.group, self._topics) != known.metadata_hash or any(resolved):
            return True
        if not patterns or (is_due and may_see is not None):
            known.metadata_version = self._topics.version
        return False

    # -- 2. the target assignment ----------------------------------------------------------------

    def assign_if_due(self, draft: Draft, moment: Moment) -> None:
        """Make the target assignment if the group is ahead of it, and it is old enough."""
        group = draft.group
        config = self._groups.config_of(group.group_id)
        if group.epoch > group.assignment_epoch and (
            moment.time_ms >= group.assigned_ms + config.assignment_interval_ms
        ):
            assign(draft, self._topics, config.assignors, moment)

    # -- 3. the member ---------------------------------------------------------------------------

    def reconcile(
        self,
        draft: Draft,
        member_id: str,
        owned: Assignment | None,
        *,
        has_new_subscription: bool,
    ) -> ConsumerMember:
        """Take the member one step closer to its target, and return it."""
        group = draft.group
        before = group.members[member_id]
        after = Reconciliation(
            target_epoch=group.assignment_epoch,
            target=group.targets.get(member_id, {}),
            topic_ids=self._topics.ids(group.topic_names(before)),
            owned=owned,
            is_free=lambda topic_id, partition: group.is_free(member_id, topic_id, partition),
            has_new_subscription=has_new_subscription,
        ).step(before)
        if after != before:
            draft.add(current_record(group.group_id, after))
        return after
