"""Markers: which partition leaders are told how a transaction has ended, and what they answered.

Pure: the sender in :mod:`~pyk.reference_broker.marker_sender` asks, and carries out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.controller.image import MetadataImage
from pyk.runtime import slotted

from .records import by_topic
from .states import TransactionState
from .transaction import Transaction

if TYPE_CHECKING:
    from pyk.protocol.messages.write_txn_markers import (
        WriteTxnMarkersRequest,
        WriteTxnMarkersResponse,
    )

NO_LEADER = -1

# With these the leader will never write the marker: the transaction is not this coordinator's any
# more. Its successor, or an administrator, ends it.
_FENCED = frozenset((ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED))
# No record of the transaction can be there.
_NOTHING_TO_END = frozenset((ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,))


@slotted.frozen(kw_only=True)
class MarkersToWrite:
    """The end of one transaction, for all partitions that it wrote to."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    commit: bool
    partitions: frozenset[TopicPartition]
    transaction_version: int


def markers_of(transaction: Transaction, coordinator_epoch: int) -> MarkersToWrite:
    """Return what must be written for a transaction that is prepared."""
    return MarkersToWrite(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        coordinator_epoch=coordinator_epoch,
        commit=transaction.state is TransactionState.PREPARE_COMMIT,
        partitions=transaction.partitions,
        transaction_version=transaction.client_version,
    )


def by_leader(
    image: MetadataImage, partitions: Iterable[TopicPartition]
) -> dict[int, frozenset[TopicPartition]]:
    """Return the partitions by the node that leads them, -1 for those without a leader.

    Partitions that exist no longer are left out: their records are gone.
    """
    found: dict[int, list[TopicPartition]] = defaultdict(list)
    for name in partitions:
        partition = image.partition(name)
        if partition is not None:
            is_alive = partition.leader in image.brokers
            found[partition.leader if is_alive else NO_LEADER].append(name)
    return {leader: frozenset(names) for leader, names in found.items()}


def request_for(
    markers: MarkersToWrite, partitions: frozenset[TopicPartition]
) -> WriteTxnMarkersRequest:
    """Return the request to the leader of ``partitions``."""
    from pyk.protocol.messages.write_txn_markers import (
        WritableTxnMarker,
        WritableTxnMarkerTopic,
        WriteTxnMarkersRequest,
    )

    marker = WritableTxnMarker(
        producer_id=markers.producer_id,
        producer_epoch=markers.producer_epoch,
        transaction_result=markers.commit,
        topics=[
            WritableTxnMarkerTopic(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic(partitions).items()
        ],
        coordinator_epoch=markers.coordinator_epoch,
        transaction_version=markers.transaction_version,
    )
    return WriteTxnMarkersRequest(markers=[marker])


@slotted.frozen
class LeaderAnswer:
    """What a leader's response means: partitions to ask again, or an end without a marker."""

    again: frozenset[TopicPartition]
    fenced: ErrorCode = ErrorCode.NONE


def read_answer(
    response: WriteTxnMarkersResponse | ErrorCode, asked: frozenset[TopicPartition]
) -> LeaderAnswer:
    """Return what follows from a response, or from the error met instead of one."""
    if isinstance(response, ErrorCode):
        return LeaderAnswer(asked)
    again = set(asked)
    for marker in response.markers:
        for topic in marker.topics:
            for result in topic.partitions:
                code = ErrorCode(result.error_code)
                if code in _FENCED:
                    return LeaderAnswer(frozenset(), code)
                if code is ErrorCode.NONE or code in _NOTHING_TO_END:
                    again.discard(TopicPartition(topic.name, result.partition_index))
    return LeaderAnswer(frozenset(again))
