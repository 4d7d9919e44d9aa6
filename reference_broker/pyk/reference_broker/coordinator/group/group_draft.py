"""A group with the changes of a decision that is being made. Pure.

Each record is replayed on a copy at once, so that every step of a decision sees what the steps
before it have changed. The group itself changes when the records are in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, Self, TypeVar

from pyk.reference_broker.coordinator.decision import Action, Decision
from pyk.reference_broker.coordinator.records import CoordinatorRecord


class ReplayedGroup(Protocol):
    """A group that changes only by replaying records."""

    def copy(self) -> Self:
        """Return a group that changes independently."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply one record about the group."""


G = TypeVar("G", bound=ReplayedGroup)


class GroupDraft(Generic[G]):
    """The group as it will be, and the records that make it so."""

    def __init__(self, group: G, *records: CoordinatorRecord) -> None:
        """Begin with ``records`` that are not about this group."""
        self._original = group
        self._records = list(records)
        self.group = group

    def add(self, *records: CoordinatorRecord) -> None:
        """Change the group by records."""
        if self.group is self._original:
            self.group = self._original.copy()
        for record in records:
            self.group.replay(record)
        self._records += records

    @property
    def decision(self) -> Decision:
        return Decision(tuple(self._records))

    def decision_with(self, actions: Sequence[Action]) -> Decision:
        """Return the decision, with what is to be done once it is committed."""
        return Decision(tuple(self._records), actions=actions)
