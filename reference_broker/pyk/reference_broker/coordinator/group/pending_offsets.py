"""Offsets that open transactions have committed for groups: they count from the markers on. Pure.

A marker applies what its producer has pending, except where an offset was committed later, by
another transaction or by none: of two commits the later one in the log counts. Such an offset is
*superseded*. Its partition stays unstable until the marker all the same, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyk.runtime import slotted

from .records import CommittedOffset

Partition = tuple[str, int]


@slotted.frozen
class AppliedOffset:
    """An offset of a transaction that was committed."""

    group_id: str
    topic: str
    partition: int
    committed: CommittedOffset


class PendingOffsets:
    """Pending offsets by group, partition and producer; nothing in them is empty."""

    def __init__(self) -> None:
        # By partition, in the order of the log; None where a later commit supersedes the offset.
        self._groups: dict[str, dict[Partition, dict[int, CommittedOffset | None]]] = {}
        self._of_producers: dict[int, dict[tuple[str, Partition], None]] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def of_group(self, group_id: str) -> Collection[Partition]:
        """Return the partitions for which transactions have offsets pending."""
        return self._groups.get(group_id, {}).keys()

    def __iter__(self) -> Iterator[AppliedOffset]:
        """Yield every offset that a marker could still apply."""
        for group_id, partitions in self._groups.items():
            for partition, by_producer in partitions.items():
                for committed in by_producer.values():
                    if committed is not None:
                        yield AppliedOffset(group_id, *partition, committed)

    # -- replay ------------------------------------------------------------------------------------

    def put(
        self, producer_id: int, group_id: str, partition: Partition, committed: CommittedOffset
    ) -> None:
        """Remember an offset, in place of what the producer has pending for the partition."""
        by_producer = self._groups.setdefault(group_id, {}).setdefault(partition, {})
        by_producer.pop(producer_id, None)
        by_producer[producer_id] = committed
        self._of_producers.setdefault(producer_id, {})[group_id, partition] = None

    def supersede(self, group_id: str, partition: Partition) -> None:
        """Let no marker apply what is pending for a partition now: a later offset counts."""
        by_producer = self._groups.get(group_id, {}).get(partition, {})
        by_producer.update(dict.fromkeys(by_producer))

    def remove(self, group_id: str, partition: Partition) -> None:
        """Forget what is pending for a partition: its offset was deleted."""
        for producer_id in list(self._groups.get(group_id, {}).get(partition, ())):
            self._of_producers[producer_id].pop((group_id, partition))
            if not self._of_producers[producer_id]:
                del self._of_producers[producer_id]
            self._remove(producer_id, group_id, partition)

    def end(self, producer_id: int, *, is_commit: bool) -> list[AppliedOffset]:
        """Forget what a producer has pending; return what counts of it if it is committed."""
        applied: list[AppliedOffset] = []
        for group_id, partition in self._of_producers.pop(producer_id, {}):
            by_producer = self._groups[group_id][partition]
            committed = by_producer[producer_id]
            if is_commit and committed is not None:
                applied.append(AppliedOffset(group_id, *partition, committed))
                for earlier in by_producer:
                    if earlier == producer_id:
                        break
                    by_producer[earlier] = None
            self._remove(producer_id, group_id, partition)
        return applied

    def _remove(self, producer_id: int, group_id: str, partition: Partition) -> None:
        partitions = self._groups[group_id]
        del partitions[partition][producer_id]
        if not partitions[partition]:
            del partitions[partition]
        if not partitions:
            del self._groups[group_id]
