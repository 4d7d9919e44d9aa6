"""Records of ``__transaction_state``: Kafka's format, with and without what version 1 added."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ProtocolError
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.coordinator.transaction.records import TransactionRecord
from pyk.reference_broker.coordinator.transaction.states import TransactionState
from pyk.runtime import slotted
from support.transactions import BILLS, ID, ORDERS, transaction

FULL = transaction(
    TransactionState.PREPARE_COMMIT,
    partitions=frozenset([ORDERS, BILLS, TopicPartition("bills", 0)]),
    previous_producer_id=6,
    next_producer_id=8,
    client_version=2,
)


def decoded(record: TransactionRecord) -> TransactionRecord:
    key, value = record.encode()
    assert key is not None
    return TransactionRecord.decode(key, value)


def test_version_1_keeps_everything_but_the_last_epoch() -> None:
    with_last_epoch = slotted.evolve(FULL, last_producer_epoch=2)

    assert decoded(TransactionRecord(ID, with_last_epoch, 1)).transaction == FULL


def test_version_0_loses_what_version_1_added() -> None:
    expected = slotted.evolve(FULL, previous_producer_id=-1, next_producer_id=-1, client_version=0)

    assert decoded(TransactionRecord(ID, FULL, 0)).transaction == expected


def test_a_tombstone_forgets_an_id() -> None:
    assert decoded(TransactionRecord(ID)) == TransactionRecord(ID)


@pytest.mark.parametrize("key", [b"", b"\x00\x00", b"\x00\x02\x00\x01g"])
def test_a_key_of_something_else_is_refused(key: bytes) -> None:
    with pytest.raises(ProtocolError):
        TransactionRecord.decode(key, None)


def test_a_state_that_is_unknown_is_refused() -> None:
    key, value = TransactionRecord(ID, transaction(), 0).encode()
    assert key is not None
    assert value is not None
    damaged = bytearray(value)
    damaged[16] = 99  # after value version, id, epoch and timeout

    with pytest.raises(ProtocolError, match="99"):
        TransactionRecord.decode(key, bytes(damaged))
