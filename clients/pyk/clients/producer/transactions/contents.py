"""What one transaction consists of, as far as the coordinator has to know. Pure.

Each transaction has contents of its own. So a request that is repeated for one transaction knows
whether that is still the present one.
"""

from __future__ import annotations

from pyk.clients.topic_partition import TopicPartition


class TransactionContents:
    """The partitions of one transaction, and whether the coordinator has heard of it."""

    def __init__(self, version: int) -> None:
        self.has_started = False
        """Whether the coordinator has, or may have, something of the transaction."""
        self.may_have_started = False
        """Whether a first request of version 1 was sent, with no answer yet."""
        self._version = version
        self._added: set[TopicPartition] = set()
        self._wanted: dict[TopicPartition, None] = {}

    def admits(self, partition: TopicPartition) -> bool:
        """Return whether a partition may get batches now; if not, it waits to be added."""
        if self._version == 1 and partition not in self._added:
            self._wanted[partition] = None
            return False
        self.has_started = True
        return True

    def partitions_to_add(self) -> list[TopicPartition]:
        """Return the partitions that wait to be added."""
        return list(self._wanted)

    def request_sent(self) -> None:
        """Learn that the coordinator is asked to add something."""
        self.may_have_started = True

    def added(self, partitions: list[TopicPartition]) -> None:
        """Learn that partitions, or none but a group, are part of the transaction."""
        self.has_started = True
        self._added.update(partitions)
        for partition in partitions:
            self._wanted.pop(partition, None)
