"""Validate and interpret the argument of ``commit``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.consumer.records.records import ConsumerRecords
from pyk.clients.errors import StateError
from pyk.clients.topic_partition import (
    OffsetAndMetadata,
    TopicPartition,
    checked_offset,
    checked_partition,
)
from pyk.protocol.records.record import owner_of
from pyk.runtime import slotted

CommitArgument = (
    ConsumerRecord[Any, Any]
    | ConsumerRecords[Any, Any]
    | Iterable[ConsumerRecord[Any, Any]]
    | Mapping[TopicPartition, OffsetAndMetadata | int]
)


@slotted.frozen
class OffsetsToCommit:
    """The offsets that an application commits."""

    offsets: dict[TopicPartition, OffsetAndMetadata]
    assignments: dict[TopicPartition, Assignment] = slotted.field(factory=dict)
    """The assignments under which the records were handed out, if the argument was records."""


def offsets_to_commit(given: CommitArgument) -> OffsetsToCommit:
    """Return the offsets to commit for a record, a batch of records, or a mapping.

    A record stands for the offset after it; of several in one partition the last counts.
    """
    if isinstance(given, ConsumerRecord):
        return _offsets_after((given,))
    if isinstance(given, ConsumerRecords):
        return OffsetsToCommit(
            {
                partition: OffsetAndMetadata(offset, "", epoch if epoch >= 0 else None)
                for partition, (offset, epoch) in given.next_offsets().items()
            },
            _assignments(given.owners()),
        )
    if isinstance(given, Mapping):
        return OffsetsToCommit(
            {
                (known := checked_partition(partition)): checked_offset(
                    offset, f"the offset of {known}"
                )
                for partition, offset in given.items()
            }
        )
    if not isinstance(given, Iterable):
        raise _no_offsets(given)
    return _offsets_after(given)


def _offsets_after(records: Iterable[ConsumerRecord[Any, Any]]) -> OffsetsToCommit:
    offsets: dict[TopicPartition, OffsetAndMetadata] = {}
    owners: dict[TopicPartition, object] = {}
    for record in records:
        if not isinstance(record, ConsumerRecord):
            raise _no_offsets(record)
        partition = TopicPartition(record.topic, record.partition)
        known = offsets.get(partition)
        if known is None or known.offset <= record.offset:
            epoch = record.leader_epoch if record.leader_epoch >= 0 else None
            offsets[partition] = OffsetAndMetadata(record.offset + 1, "", epoch)
            owners[partition] = owner_of(record)  # type: ignore[arg-type]
    return OffsetsToCommit(offsets, _assignments(owners))


def _assignments(owners: Mapping[TopicPartition, object]) -> dict[TopicPartition, Assignment]:
    """Leave out records that no consumer handed out, such as those that were pickled."""
    for partition, owner in owners.items():
        if owner is not None and not isinstance(owner, Assignment):
            raise StateError(
                f"the record of {partition} is of a share consumer: acknowledge it there, nothing "
                "of it is committed"
            )
    return {p: owner for p, owner in owners.items() if isinstance(owner, Assignment)}


def _no_offsets(given: object) -> TypeError:
    return TypeError(
        "commit takes a record, a batch of records, or offsets by TopicPartition, not "
        f"{type(given).__name__}"
    )
