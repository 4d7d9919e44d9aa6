"""Which leaders are told how a transaction has ended, and what follows from their answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.coordinator.transaction.markers import (
    NO_LEADER,
    LeaderAnswer,
    MarkersToWrite,
    by_leader,
    markers_of,
    read_answer,
    request_for,
)
from pyk.reference_broker.coordinator.transaction.states import TransactionState
from support.transactions import BILLS, ID, ORDERS, transaction

ORDERS_1 = TopicPartition("orders", 1)
ASKED = frozenset([ORDERS, ORDERS_1, BILLS])
RETRIED = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_SERVER_ERROR,
]


def response(codes: dict[TopicPartition, ErrorCode]) -> WriteTxnMarkersResponse:
    topics = [
        WritableTxnMarkerTopicResult(
            name=name.topic,
            partitions=[
                WritableTxnMarkerPartitionResult(partition_index=name.partition, error_code=code)
            ],
        )
        for name, code in codes.items()
    ]
    return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(producer_id=7, topics=topics)])


@pytest.mark.parametrize(
    ("state", "is_commit"),
    [(TransactionState.PREPARE_COMMIT, True), (TransactionState.PREPARE_ABORT, False)],
)
def test_markers_say_how_the_transaction_ends_and_in_which_epochs(
    state: TransactionState, is_commit: bool
) -> None:
    decided = transaction(state, client_version=2)

    markers = markers_of(decided, coordinator_epoch=5)

    assert markers == MarkersToWrite(
        transactional_id=ID,
        producer_id=7,
        producer_epoch=3,
        coordinator_epoch=5,
        commit=is_commit,
        partitions=frozenset([ORDERS]),
        transaction_version=2,
    )


@pytest.mark.parametrize("is_commit", [True, False])
def test_the_request_to_a_leader_has_one_marker_for_its_partitions(is_commit: bool) -> None:
    markers = MarkersToWrite(
        transactional_id=ID,
        producer_id=7,
        producer_epoch=3,
        coordinator_epoch=5,
        commit=is_commit,
        partitions=ASKED,
        transaction_version=2,
    )

    request = request_for(markers, frozenset([ORDERS_1, ORDERS]))

    assert request.markers == [
        WritableTxnMarker(
            producer_id=7,
            producer_epoch=3,
            transaction_result=is_commit,
            topics=[WritableTxnMarkerTopic(name="orders", partition_indexes=[0, 1])],
            coordinator_epoch=5,
            transaction_version=2,
        )
    ]


def test_partitions_are_grouped_by_leaders_that_live() -> None:
    leaders = {ORDERS: 1, ORDERS_1: 2, BILLS: 3}
    image: Any = SimpleNamespace(
        brokers={1, 2},
        partition=lambda name: SimpleNamespace(leader=leaders[name]) if name in leaders else None,
    )

    found = by_leader(image, [*ASKED, TopicPartition("deleted", 0)])

    assert found == {
        1: frozenset([ORDERS]),
        2: frozenset([ORDERS_1]),
        NO_LEADER: frozenset([BILLS]),
    }


@pytest.mark.parametrize("code", RETRIED)
def test_what_was_not_written_is_asked_again(code: ErrorCode) -> None:
    answer = read_answer(response({ORDERS: ErrorCode.NONE, ORDERS_1: code}), ASKED)

    assert answer == LeaderAnswer(frozenset([ORDERS_1, BILLS]))


def test_a_partition_without_transactions_has_nothing_to_end() -> None:
    codes = dict.fromkeys(ASKED, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)

    assert read_answer(response(codes), ASKED) == LeaderAnswer(frozenset())


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED]
)
def test_a_coordinator_that_was_replaced_asks_nobody_again(code: ErrorCode) -> None:
    codes = {ORDERS: ErrorCode.NOT_LEADER_OR_FOLLOWER, ORDERS_1: code}

    assert read_answer(response(codes), ASKED) == LeaderAnswer(frozenset(), code)


def test_without_an_answer_all_are_asked_again() -> None:
    assert read_answer(ErrorCode.NETWORK_EXCEPTION, ASKED) == LeaderAnswer(ASKED)
