"""The offsets that an application sends to a transaction. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition, checked_partition


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
    if offset.offset < 0:
        raise ValueError(f"the offset of {partition} must be 0 or more, not {offset.offset}")
    return offset
