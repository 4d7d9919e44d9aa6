"""What begins a new epoch of a group, and the target assignment for it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pyk.runtime.timers import Moment

from .assignment import Subscriber
from .assignors import ASSIGNORS, preferred_assignor
from .consumer_group import ConsumerGroup
from .draft import Draft
from .heartbeat_checks import compiled_pattern
from .member import ConsumerMember
from .records import (
    ResolvedPattern,
    epoch_record,
    member_tombstones,
    pattern_record,
    pattern_tombstone,
    target_epoch_record,
    target_record,
)
from .topics import Topics

PATTERN_REFRESH_MS = 10_000
"""How often patterns are resolved again at most, while topics come and go."""


def remove_members(draft: Draft, members: Iterable[ConsumerMember], topics: Topics) -> None:
    """Remove members, which begins a new epoch."""
    for member in members:
        draft.add(*member_tombstones(draft.group.group_id, member.member_id))
        drop_pattern(draft, member.pattern)
    begin_epoch(draft, topics)


def drop_pattern(draft: Draft, pattern: str) -> None:
    """Forget what a pattern stands for if nobody subscribes to it any more."""
    group = draft.group
    if pattern in group.patterns and not group.subscribers_of_pattern(pattern):
        draft.add(pattern_tombstone(group.group_id, pattern))


def resolve_pattern(
    draft: Draft, pattern: str, topics: Topics, may_see: Callable[[str], bool], moment: Moment
) -> bool:
    """Look for the topics of a pattern; return whether they have changed."""
    before = draft.group.patterns.get(pattern)
    found = topics.matching(compiled_pattern(pattern), may_see)
    if before is not None and before.topics == found:
        return False
    resolved = ResolvedPattern(topics=found, version=topics.version - 1, time_ms=moment.time_ms)
    draft.add(pattern_record(draft.group.group_id, pattern, resolved))
    return True


def begin_epoch(draft: Draft, topics: Topics) -> None:
    group = draft.group
    draft.add(epoch_record(group.group_id, group.epoch + 1, subscription_hash(group, topics)))


def subscription_hash(group: ConsumerGroup, topics: Topics) -> int:
    """Return the hash of all topics that members subscribe to."""
    names = frozenset().union(*map(group.topic_names, group.members.values()))
    return topics.hash_of(names)


def assign(draft: Draft, topics: Topics, assignors: Sequence[str], moment: Moment) -> None:
    """Make the target assignment for the epoch of the group."""
    group = draft.group
    subscribers = {
        member_id: Subscriber(
            topics=topics.ids(group.topic_names(member)),
            current=group.targets.get(member_id, {}),
            instance_id=member.instance_id,
        )
        for member_id, member in group.members.items()
    }
    targets = ASSIGNORS[assignor_of(group, assignors)](subscribers, topics.partition_counts())
    for member_id, target in targets.items():
        if draft.group.targets.get(member_id) != target:
            draft.add(target_record(group.group_id, member_id, target))
    draft.add(target_epoch_record(group.group_id, group.epoch, moment.time_ms))


def assignor_of(group: ConsumerGroup, assignors: Sequence[str]) -> str:
    """Return the assignor that most members ask for."""
    return preferred_assignor((each.server_assignor for each in group.members.values()), assignors)
