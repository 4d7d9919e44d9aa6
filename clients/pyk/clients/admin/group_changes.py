"""What has changed between two lists of groups. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from pyk.clients.admin.group_listings import GroupListing
from pyk.runtime import slotted


class GroupChangeType(enum.StrEnum):
    """What happened to a group."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@slotted.frozen
class GroupChange:
    """A group that was added, changed or removed."""

    type: GroupChangeType
    group_id: str
    before: GroupListing | None
    """None for a group that was added."""
    after: GroupListing | None
    """None for a group that was removed."""


def by_id(listings: Iterable[GroupListing]) -> dict[str, GroupListing]:
    """Return groups by id."""
    return {one.group_id: one for one in listings}


def group_changes(
    before: Mapping[str, GroupListing], after: Mapping[str, GroupListing]
) -> list[GroupChange]:
    """Return the changes from one list of groups to the next, by group id."""
    changes = []
    for group_id in sorted(before.keys() | after.keys()):
        old, new = before.get(group_id), after.get(group_id)
        if old == new:
            continue
        kind = GroupChangeType.CHANGED
        if old is None:
            kind = GroupChangeType.ADDED
        elif new is None:
            kind = GroupChangeType.REMOVED
        changes.append(GroupChange(kind, group_id, old, new))
    return changes
