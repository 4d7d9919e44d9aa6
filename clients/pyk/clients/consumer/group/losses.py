"""Partitions that the group took away before their records were committed. Pure.

Another member hands these records out again. So a commit of everything fails until the application
knows of the loss. A transaction fails even then: it may have the results of these records already.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients.consumer.commits.commits import Offsets, not_a_member
from pyk.clients.topic_partition import TopicPartition

Positions = Mapping[TopicPartition, int]
"""Partitions with records that were handed out and not committed, and the position after them."""


class Losses:
    """Remembers losses until the application knows of them, or until its transaction ends."""

    def __init__(self) -> None:
        self._unheard: list[TopicPartition] = []
        """Partitions that were lost, until the application knows it."""
        self._in_transaction: dict[TopicPartition, int] = {}
        """Partitions that were taken away, also by a revocation that the application knows of, and
        the position before which records were not committed; until the next transaction ends."""

    def lose(self, uncommitted: Positions) -> None:
        """Record partitions that another member may own already."""
        self._unheard += uncommitted

    def heard(self) -> None:
        """Record that the application knows of all losses."""
        self._unheard.clear()

    def check_heard(self) -> None:
        """Raise :class:`CommitFailedError` if there is a loss that the application does not know
        of."""
        if self._unheard:
            raise not_a_member(self._unheard[0])

    def take_away(self, uncommitted: Positions) -> None:
        """Record partitions that are about to be dropped, for whatever reason."""
        self._in_transaction.update(uncommitted)

    def stored_by_transaction(self, offsets: Offsets) -> None:
        """Record that a producer has committed offsets."""
        for partition, offset in offsets.items():
            position = self._in_transaction.get(partition)
            if position is not None and position <= offset.offset:
                del self._in_transaction[partition]

    def transaction_aborted(self) -> None:
        """Record that the records of partitions that were taken away are in no transaction."""
        self._in_transaction.clear()

    def check_transaction(self) -> None:
        """Raise :class:`CommitFailedError` if records were handed out and not committed before
        their partition was taken away."""
        if self._in_transaction:
            raise not_a_member(next(iter(self._in_transaction)))
