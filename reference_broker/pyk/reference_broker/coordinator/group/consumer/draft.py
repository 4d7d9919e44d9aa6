"""A consumer group with the changes of a decision that is being made. Pure.

Each record is replayed on a copy at once, so that every step of a decision sees what the steps
before it have changed. The group itself changes when the records are in the log.
"""

from __future__ import annotations

from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.records import CoordinatorRecord

from .consumer_group import ConsumerGroup


class Draft:
    """The group as it will be, and the records that make it so."""

    def __init__(self, group: ConsumerGroup, *records: CoordinatorRecord) -> None:
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
