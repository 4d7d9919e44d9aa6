"""Transactions and producers as the admin client lists and describes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from pyk.clients.admin.fields import check_field
from pyk.clients.errors import KafkaError, error_for
from pyk.clients.offsets.partition_results import read_partitions
from pyk.clients.topic_partition import TopicPartition, by_topic
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import describe_transactions, list_transactions
from pyk.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
)
from pyk.protocol.messages.init_producer_id import InitProducerIdResponse
from pyk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from pyk.runtime import slotted


class TransactionState(StrEnum):
    """The state of a transactional id at its coordinator."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    DEAD = "Dead"
    UNKNOWN = "Unknown"
    """A state that this client does not know."""

    @classmethod
    def of(cls, name: str) -> TransactionState:
        """Return the state that a coordinator names."""
        return cls(name) if name in STATE_NAMES else cls.UNKNOWN


STATE_NAMES = frozenset(state.value for state in TransactionState)


@slotted.frozen
class TransactionListing:
    """A transactional id in a list."""

    transactional_id: str
    producer_id: int
    state: TransactionState
    coordinator_id: int
    """The coordinator of the transactional id."""


@slotted.frozen
class TransactionDescription:
    """A transactional id and its transaction."""

    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int | None
    """Milliseconds since 1970; None without an open transaction."""
    topic_partitions: frozenset[TopicPartition]
    """The partitions in which the open transaction has written."""


@slotted.frozen
class ProducerState:
    """A producer, as the leader of a partition that it has written to knows it."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    """The sequence number of its last record, -1 if unknown."""
    last_timestamp: int
    """When it wrote last, in milliseconds since 1970, -1 if unknown."""
    coordinator_epoch: int | None
    """The epoch of the coordinator that ended its last transaction here, None before the first."""
    current_transaction_start_offset: int | None
    """The first offset of its open transaction, None without one."""


@slotted.frozen
class AbortTransactionSpec:
    """A transaction in one partition that no coordinator will end.

    The fields are those of the :class:`ProducerState` that ``describe_producers`` returns; a
    ``coordinator_epoch`` that is None there is 0 here.
    """

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int

    def __attrs_post_init__(self) -> None:
        check_field(self, "topic_partition", TopicPartition)
        check_field(self, "producer_id", int)
        check_field(self, "producer_epoch", int)
        check_field(self, "coordinator_epoch", int, "an int, 0 where describe_producers has None")


@slotted.frozen
class ProducerIdAndEpoch:
    """The producer id and the epoch of a transactional id."""

    producer_id: int
    epoch: int


def described_transactions(
    response: describe_transactions.DescribeTransactionsResponse, coordinator_id: int
) -> dict[str, TransactionDescription | KafkaError]:
    """Return the description of each transactional id, or its error."""
    return {
        one.transactional_id: (
            _described(one, coordinator_id)
            if one.error_code == ErrorCode.NONE
            else _error(one.error_code, one.transactional_id, coordinator_id, response.api_key)
        )
        for one in response.transaction_states
    }


def _described(
    one: describe_transactions.TransactionState, coordinator_id: int
) -> TransactionDescription:
    started_at = one.transaction_start_time_ms
    return TransactionDescription(
        coordinator_id=coordinator_id,
        state=TransactionState.of(one.transaction_state),
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        transaction_timeout_ms=one.transaction_timeout_ms,
        transaction_start_time_ms=None if started_at < 0 else started_at,
        topic_partitions=frozenset(
            TopicPartition(topic.topic, partition)
            for topic in one.topics
            for partition in topic.partitions
        ),
    )


def transaction_listings(
    states: Iterable[list_transactions.TransactionState], coordinator_id: int
) -> list[TransactionListing]:
    return [
        TransactionListing(
            one.transactional_id,
            one.producer_id,
            TransactionState.of(one.transaction_state),
            coordinator_id,
        )
        for one in states
    ]


def describe_producers_request(partitions: Iterable[TopicPartition]) -> DescribeProducersRequest:
    return DescribeProducersRequest(
        topics=[
            TopicRequest(name=topic, partition_indexes=[one.partition for one in some])
            for topic, some in by_topic(partitions).items()
        ]
    )


def described_producers(
    response: DescribeProducersResponse,
) -> dict[TopicPartition, tuple[ProducerState, ...] | KafkaError]:
    """Return the producers of each partition, or its error."""
    return read_partitions(response.topics, _producers, response.api_key)


def _producers(found: PartitionResponse) -> tuple[ProducerState, ...]:
    return tuple(
        ProducerState(
            producer_id=one.producer_id,
            producer_epoch=one.producer_epoch,
            last_sequence=one.last_sequence,
            last_timestamp=one.last_timestamp,
            coordinator_epoch=_known(one.coordinator_epoch),
            current_transaction_start_offset=_known(one.current_txn_start_offset),
        )
        for one in found.active_producers
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number


def abort_request(spec: AbortTransactionSpec) -> WriteTxnMarkersRequest:
    """Return the request that writes an abort marker, as a coordinator would send it."""
    topic, partition = spec.topic_partition
    marker = WritableTxnMarker(
        producer_id=spec.producer_id,
        producer_epoch=spec.producer_epoch,
        coordinator_epoch=spec.coordinator_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
    )
    return WriteTxnMarkersRequest(markers=[marker])


def written_markers(
    response: WriteTxnMarkersResponse, producer_id: int
) -> dict[TopicPartition, KafkaError | None]:
    """Return the outcome of the marker of one producer, by partition."""
    topics = [
        topic
        for marker in response.markers
        if marker.producer_id == producer_id
        for topic in marker.topics
    ]
    return read_partitions(topics, lambda _: None, response.api_key)


def fenced_producer(
    response: InitProducerIdResponse, transactional_id: str, node_id: int
) -> ProducerIdAndEpoch | KafkaError:
    if response.error_code != ErrorCode.NONE:
        return _error(response.error_code, transactional_id, node_id, response.api_key)
    return ProducerIdAndEpoch(response.producer_id, response.producer_epoch)


def _error(code: int, transactional_id: str, node_id: int, api_key: int) -> KafkaError:
    error = error_for(code, node_id=node_id, api_key=api_key)
    error.args = (f"{error.args[0]} (transactional id {transactional_id!r})",)
    return error
