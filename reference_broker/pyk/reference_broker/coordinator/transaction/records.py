"""The records of ``__transaction_state``, in Kafka's own format."""

from __future__ import annotations

from collections import defaultdict

from pyk.protocol.errors import MalformedMessageError
from pyk.protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from pyk.protocol.persisted import (
    decode_coordinator_key,
    decode_versioned,
    encode_coordinator_key,
    encode_versioned,
)
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.controller.names import TRANSACTION_STATE_TOPIC
from pyk.runtime import slotted

from .states import TransactionState
from .transaction import Transaction


@slotted.frozen
class TransactionRecord:
    """A transactional id as it is from now on; None if it is forgotten.

    ``value_version`` is 0 while ``transaction.version`` is 0, which loses what version 1 added.
    """

    transactional_id: str
    transaction: Transaction | None = None
    value_version: int = 0

    def encode(self) -> tuple[bytes | None, bytes | None]:
        """Return the record's key and value as they stand in the log."""
        key = encode_coordinator_key(TransactionLogKey(transactional_id=self.transactional_id))
        if self.transaction is None:
            return key, None
        value = _value_of(self.transaction, self.value_version)
        return key, encode_versioned(value, self.value_version)

    @classmethod
    def decode(cls, key: bytes, value: bytes | None) -> TransactionRecord:
        """Return the record in a key and a value; raise ``ProtocolError`` if they are invalid."""
        decoded_key = decode_coordinator_key(key, TRANSACTION_STATE_TOPIC)
        assert isinstance(decoded_key, TransactionLogKey)  # the only type in this topic
        transactional_id = decoded_key.transactional_id
        if value is None:
            return cls(transactional_id)
        decoded = decode_versioned(TransactionLogValue, value)
        return cls(transactional_id, _transaction_of(transactional_id, decoded))


def _value_of(transaction: Transaction, version: int) -> TransactionLogValue:
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state.value,
        transaction_partitions=None
        if transaction.state is TransactionState.EMPTY
        else [
            PartitionsSchema(topic=topic, partition_ids=numbers)
            for topic, numbers in by_topic(transaction.partitions).items()
        ],
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if version >= 1:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.next_producer_epoch = transaction.next_producer_epoch
        value.client_transaction_version = transaction.client_version
    return value


def _transaction_of(transactional_id: str, value: TransactionLogValue) -> Transaction:
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise MalformedMessageError(
            f"transactional id {transactional_id!r} has the unknown state "
            f"{value.transaction_status}"
        ) from None
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        next_producer_epoch=value.next_producer_epoch,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            TopicPartition(each.topic, number)
            for each in value.transaction_partitions or ()
            for number in each.partition_ids
        ),
        started_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )


def by_topic(partitions: frozenset[TopicPartition]) -> dict[str, list[int]]:
    """Return the numbers of the partitions by topic, both in order."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for topic, number in sorted(partitions):
        numbers[topic].append(number)
    return dict(numbers)
