"""Validate what an application gives to calls about transactions. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.clients.producer.transactions.prepared import PreparedTransaction
from pyk.clients.topic_partition import (
    OffsetAndMetadata,
    TopicPartition,
    checked_offset,
    checked_partition,
)


def offsets_of(
    offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return offsets by partition; raise ``TypeError`` or ``ValueError`` for anything else."""
    if not isinstance(offsets, Mapping):
        raise TypeError(f"offsets must be a mapping from TopicPartition, not {offsets!r}")
    return {
        checked_partition(one): checked_offset(offset, f"the offset of {one}")
        for one, offset in offsets.items()
    }


def checked_group(given: ConsumerGroupMetadata) -> ConsumerGroupMetadata:
    """Return the metadata of a group; raise ``TypeError`` or ``ValueError`` for anything else."""
    if not isinstance(given, ConsumerGroupMetadata):
        raise TypeError(
            "group_metadata must be what consumer.group_metadata() returns, a "
            f"ConsumerGroupMetadata, not {type(given).__name__}"
        )
    if not (isinstance(given.group_id, str) and given.group_id):
        raise ValueError(f"group_metadata needs a group_id, not {given.group_id!r}")
    return given


def checked_prepared(given: PreparedTransaction) -> PreparedTransaction:
    """Return a prepared transaction; raise ``TypeError`` for anything else."""
    if not isinstance(given, PreparedTransaction):
        raise TypeError(
            "prepared must be what prepare_transaction() returns, or "
            f"PreparedTransaction.from_json(text), not {type(given).__name__}"
        )
    return given
