"""A small model of the offsets of one group, with those that transactions have pending."""

from __future__ import annotations

import attrs

Value = tuple[int, int]
"""When an offset was committed, and the offset."""


@attrs.define
class OffsetModel:
    """The rule of Kafka, word by word: a marker applies an offset unless a later one counts."""

    committed: dict[int, Value] = attrs.field(factory=dict)
    pending: dict[int, dict[int, Value]] = attrs.field(factory=dict)
    time: int = 0

    def commit(self, partition: int, value: int) -> None:
        self.time += 1
        self.committed[partition] = self.time, value

    def commit_in_transaction(self, producer_id: int, partition: int, value: int) -> None:
        self.time += 1
        self.pending.setdefault(producer_id, {})[partition] = self.time, value

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        for partition, value in self.pending.pop(producer_id, {}).items():
            if is_commit and value > self.committed.get(partition, (0, 0)):
                self.committed[partition] = value

    def delete(self, *partitions: int) -> None:
        for partition in partitions:
            self.committed.pop(partition, None)
            for values in self.pending.values():
                values.pop(partition, None)

    @property
    def offsets(self) -> dict[int, int]:
        return {partition: value for partition, (_, value) in self.committed.items()}

    @property
    def unstable(self) -> set[int]:
        return {partition for values in self.pending.values() for partition in values}
