"""Validate what an application gives to calls about transactions. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.clients.producer.transactions.prepared import PreparedTransaction
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition, checked_partition

INT64_MAX = (1 << 63) - 1


def offsets_of(
    offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return offsets by partition; raise ``TypeError`` or ``ValueError`` for anything else."""
    if not isinstance(offsets, Mapping):
        raise TypeError(f"offsets must be a mapping from TopicPartition, not {offsets!r}")
    return {checked_partition(one): _offset(one, offset) for one, offset in offsets.items()}


def _offset(partition: TopicPartition, offset: OffsetAndMetadata | int) -> OffsetAndMetadata:
    if isinstance(offset, int) and not isinstance(offset, bool):
        offset = OffsetAndMetadata(offset)
    if not isinstance(offset, OffsetAndMetadata):
        raise TypeError(
            f"the offset of {partition} must be an int or OffsetAndMetadata, not {offset!r}"
        )
    if not 0 <= offset.offset <= INT64_MAX:
        raise ValueError(f"the offset of {partition} must be 0 or more, not {offset.offset}")
    if not isinstance(offset.metadata, str):
        raise TypeError(f"the metadata of {partition} must be a str, not {offset.metadata!r}")
    return offset


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
