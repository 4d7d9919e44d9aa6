"""Transactions are listed, described, aborted and fenced at the nodes that know them."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import (
    AbortTransactionSpec,
    ProducerIdAndEpoch,
    ProducerState,
    TopicPartition,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from pyk.clients.errors import (
    InvalidProducerEpochError,
    SeveralErrors,
    TransactionalIdNotFoundError,
    UnsupportedVersionError,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import describe_producers as producers
from pyk.protocol.messages import describe_transactions as descriptions
from pyk.protocol.messages import list_transactions as listings
from pyk.protocol.messages import write_txn_markers as markers
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import virtual_time
from support.administering import ORDERS, administered
from support.scripted_broker import CLOSE

SPEC = AbortTransactionSpec(ORDERS, producer_id=7, producer_epoch=3, coordinator_epoch=2)


def described(**fields: Any) -> descriptions.DescribeTransactionsResponse:
    state = descriptions.TransactionState(**fields)
    return descriptions.DescribeTransactionsResponse(transaction_states=[state])


def marker_written(code: int = 0) -> markers.WriteTxnMarkersResponse:
    partition = markers.WritableTxnMarkerPartitionResult(partition_index=0, error_code=code)
    topic = markers.WritableTxnMarkerTopicResult(name="orders", partitions=[partition])
    result = markers.WritableTxnMarkerResult(producer_id=7, topics=[topic])
    return markers.WriteTxnMarkersResponse(markers=[result])


class TestDescribeTransactions:
    @virtual_time
    async def test_the_coordinator_describes_an_open_transaction(self) -> None:
        async with administered(nodes=3) as (cluster, admin):
            cluster.coordinator_id = 2
            topic = descriptions.TopicData(topic="orders", partitions=[0, 2])
            answer = described(
                transactional_id="t",
                transaction_state="Ongoing",
                transaction_timeout_ms=60_000,
                transaction_start_time_ms=1_000,
                producer_id=7,
                producer_epoch=3,
                topics=[topic],
            )
            cluster.on(descriptions.DescribeTransactionsRequest, answer)

            found = await admin.describe_transactions(["t"])

            assert found == {
                "t": TransactionDescription(
                    coordinator_id=2,
                    state=TransactionState.ONGOING,
                    producer_id=7,
                    producer_epoch=3,
                    transaction_timeout_ms=60_000,
                    transaction_start_time_ms=1_000,
                    topic_partitions=frozenset({ORDERS, TopicPartition("orders", 2)}),
                )
            }
            assert cluster.requests(FindCoordinatorRequest)[0].message.key_type == 1

    @virtual_time
    async def test_without_a_transaction_there_is_no_start_time(self) -> None:
        async with administered() as (cluster, admin):
            answer = described(
                transactional_id="t", transaction_state="Resting", transaction_start_time_ms=-1
            )
            cluster.on(descriptions.DescribeTransactionsRequest, answer)

            found = (await admin.describe_transactions("t"))["t"]

            assert found.transaction_start_time_ms is None
            assert found.state is TransactionState.UNKNOWN

    @virtual_time
    async def test_an_id_that_no_coordinator_knows_raises(self) -> None:
        async with administered() as (cluster, admin):
            code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            answer = described(transactional_id="t", error_code=code)
            cluster.on(descriptions.DescribeTransactionsRequest, answer)

            with pytest.raises(TransactionalIdNotFoundError):
                await admin.describe_transactions(["t"])

    @virtual_time
    async def test_a_coordinator_that_moved_is_found_again(self) -> None:
        async with administered(nodes=2) as (cluster, admin):

            def moved(request: Any) -> Any:
                cluster.coordinator_id = 2
                return described(transactional_id="t", error_code=ErrorCode.NOT_COORDINATOR)

            there = described(transactional_id="t", transaction_state="Empty")
            cluster.on(descriptions.DescribeTransactionsRequest, there)
            cluster.once(descriptions.DescribeTransactionsRequest, moved)

            found = await admin.describe_transactions(["t"])

            assert found["t"].coordinator_id == 2


class TestListTransactions:
    @virtual_time
    async def test_all_brokers_are_asked_with_the_filters(self) -> None:
        async with administered(nodes=3) as (cluster, admin):
            names = iter("cab")
            cluster.on(
                listings.ListTransactionsRequest,
                lambda _: listings.ListTransactionsResponse(
                    transaction_states=[
                        listings.TransactionState(
                            transactional_id=next(names),
                            producer_id=7,
                            transaction_state="Ongoing",
                        )
                    ]
                ),
            )

            found = await admin.list_transactions(
                states=[TransactionState.ONGOING, "Empty"],
                producer_ids=[7],
                duration_ms=10,
                transactional_id_pattern="[abc]",
            )

            assert [one.transactional_id for one in found] == ["a", "b", "c"]
            assert {one.coordinator_id for one in found} == {1, 2, 3}
            assert found[0] == TransactionListing(
                "a", 7, TransactionState.ONGOING, found[0].coordinator_id
            )
            asked = cluster.requests(listings.ListTransactionsRequest)[0].message
            assert asked.state_filters == ["Ongoing", "Empty"]
            assert asked.producer_id_filters == [7]
            assert (asked.duration_filter, asked.transactional_id_pattern) == (10, "[abc]")

    @virtual_time
    async def test_a_filter_that_a_broker_does_not_know_is_not_left_out(self) -> None:
        async with administered() as (cluster, admin):
            cluster.versions[ApiKey.LIST_TRANSACTIONS] = VersionRange(0, 1)
            answer = listings.ListTransactionsResponse()
            cluster.on(listings.ListTransactionsRequest, answer)

            assert await admin.list_transactions(duration_ms=5) == []
            with pytest.raises((UnsupportedVersionError, SeveralErrors)):
                await admin.list_transactions(transactional_id_pattern="a.*")

    @virtual_time
    async def test_without_filters_brokers_of_all_versions_list_all_transactions(self) -> None:
        async with administered() as (cluster, admin):
            cluster.versions[ApiKey.LIST_TRANSACTIONS] = VersionRange(0, 0)
            cluster.on(listings.ListTransactionsRequest, listings.ListTransactionsResponse())

            assert await admin.list_transactions() == []

            asked = cluster.requests(listings.ListTransactionsRequest)[0].message
            assert (asked.state_filters, asked.producer_id_filters) == ([], [])
            assert asked.duration_filter == -1

    @virtual_time
    async def test_a_pattern_that_is_no_text_raises(self) -> None:
        async with administered() as (cluster, admin):
            with pytest.raises(TypeError, match="transactional_id_pattern must be a str, not 5"):
                await admin.list_transactions(transactional_id_pattern=5)

            assert cluster.requests(listings.ListTransactionsRequest) == []

    @virtual_time
    async def test_an_unknown_state_raises(self) -> None:
        async with administered() as (_, admin):
            with pytest.raises(ValueError, match="no transaction state 'Open'; there are Empty"):
                await admin.list_transactions(states=["Open"])


class TestDescribeProducers:
    @virtual_time
    async def test_the_leader_names_the_producers_of_a_partition(self) -> None:
        async with administered(nodes=2) as (cluster, admin):
            cluster.add_topic("orders", [2])
            cluster.on(producers.DescribeProducersRequest, known_producers())

            found = await admin.describe_producers([ORDERS])

            assert found == {
                ORDERS: (
                    ProducerState(
                        7, 3, 11, 1_000, coordinator_epoch=2, current_transaction_start_offset=40
                    ),
                    ProducerState(
                        8, 0, -1, -1, coordinator_epoch=None, current_transaction_start_offset=None
                    ),
                )
            }
            assert cluster.requests(producers.DescribeProducersRequest)[0].node_id == 2

    @virtual_time
    async def test_a_replica_may_be_asked(self) -> None:
        async with administered(nodes=2) as (cluster, admin):
            cluster.add_topic("orders", [2])
            cluster.on(producers.DescribeProducersRequest, known_producers())

            await admin.describe_producers([ORDERS], broker_id=1)

            assert cluster.requests(producers.DescribeProducersRequest)[0].node_id == 1


def known_producers() -> producers.DescribeProducersResponse:
    in_transaction = producers.ProducerState(
        producer_id=7,
        producer_epoch=3,
        last_sequence=11,
        last_timestamp=1_000,
        coordinator_epoch=2,
        current_txn_start_offset=40,
    )
    other = producers.ProducerState(producer_id=8, coordinator_epoch=-1)
    partition = producers.PartitionResponse(
        partition_index=0, active_producers=[in_transaction, other]
    )
    topic = producers.TopicResponse(name="orders", partitions=[partition])
    return producers.DescribeProducersResponse(topics=[topic])


class TestAbortTransaction:
    @virtual_time
    async def test_an_abort_marker_is_written_by_the_leader(self) -> None:
        async with administered(nodes=2) as (cluster, admin):
            cluster.add_topic("orders", [2])
            cluster.on(markers.WriteTxnMarkersRequest, marker_written())

            await admin.abort_transaction(SPEC)

            sent = cluster.requests(markers.WriteTxnMarkersRequest)[0]
            marker = sent.message.markers[0]
            assert sent.node_id == 2
            assert not marker.transaction_result
            assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (
                7,
                3,
                2,
            )
            assert [(t.name, t.partition_indexes) for t in marker.topics] == [("orders", [0])]

    @virtual_time
    async def test_the_error_of_the_partition_is_raised(self) -> None:
        async with administered() as (cluster, admin):
            cluster.add_topic("orders", [1])
            answer = marker_written(ErrorCode.INVALID_PRODUCER_EPOCH)
            cluster.on(markers.WriteTxnMarkersRequest, answer)

            with pytest.raises(InvalidProducerEpochError) as caught:
                await admin.abort_transaction(SPEC)

            assert caught.value.topic_partition == ORDERS

    @virtual_time
    async def test_a_leader_that_moved_is_found_again(self) -> None:
        async with administered(nodes=2) as (cluster, admin):
            cluster.add_topic("orders", [1])

            def moved(request: Any) -> Any:
                cluster.topics["orders"].leaders[0] = 2
                return marker_written(ErrorCode.NOT_LEADER_OR_FOLLOWER)

            cluster.on(markers.WriteTxnMarkersRequest, marker_written())
            cluster.once(markers.WriteTxnMarkersRequest, moved)

            await admin.abort_transaction(SPEC)

            asked = cluster.requests(markers.WriteTxnMarkersRequest)
            assert [one.node_id for one in asked] == [1, 2]

    @virtual_time
    async def test_anything_but_a_spec_is_a_type_error(self) -> None:
        async with administered() as (_, admin):
            with pytest.raises(TypeError, match="write AbortTransactionSpec"):
                await admin.abort_transaction(ORDERS)


class TestFenceProducers:
    @virtual_time
    async def test_each_id_gets_the_next_epoch(self) -> None:
        async with administered() as (cluster, admin):
            epochs = iter([4, 5])
            cluster.on(
                InitProducerIdRequest,
                lambda _: InitProducerIdResponse(producer_id=7, producer_epoch=next(epochs)),
            )

            found = await admin.fence_producers(["a", "b"], timeout=20)

            assert found == {"a": ProducerIdAndEpoch(7, 4), "b": ProducerIdAndEpoch(7, 5)}
            asked = [one.message for one in cluster.requests(InitProducerIdRequest)]
            assert [one.transactional_id for one in asked] == ["a", "b"]
            assert {one.transaction_timeout_ms for one in asked} == {20_000}
            assert {(one.producer_id, one.producer_epoch) for one in asked} == {(-1, -1)}

    @virtual_time
    async def test_a_transaction_that_is_being_ended_is_waited_for(self) -> None:
        async with administered() as (cluster, admin):
            answer = InitProducerIdResponse(producer_id=7, producer_epoch=4)
            cluster.on(InitProducerIdRequest, answer)
            busy = InitProducerIdResponse(error_code=ErrorCode.CONCURRENT_TRANSACTIONS)
            cluster.once(InitProducerIdRequest, busy)

            found = await admin.fence_producers(["a"])

            assert found == {"a": ProducerIdAndEpoch(7, 4)}

    @virtual_time
    async def test_an_id_that_is_denied_does_not_hide_the_others(self) -> None:
        async with administered() as (cluster, admin):
            cluster.on(InitProducerIdRequest, unless_denied)

            with pytest.raises(SeveralErrors) as raised:
                await admin.fence_producers(["a", "secret", "b"])

            assert raised.value.results.keys() == {"a", "b"}
            assert raised.value.errors.keys() == {"secret"}
            asked = [one.message for one in cluster.requests(InitProducerIdRequest)]
            assert sorted(one.transactional_id for one in asked) == ["a", "b", "secret"]

    @virtual_time
    async def test_an_id_whose_response_is_lost_is_the_only_one_that_is_fenced_again(self) -> None:
        async with administered() as (cluster, admin):
            answer = InitProducerIdResponse(producer_id=7, producer_epoch=4)
            cluster.on(InitProducerIdRequest, answer)
            cluster.once(InitProducerIdRequest, answer, CLOSE)

            await admin.fence_producers(["a", "b", "c"])

            asked = [one.message for one in cluster.requests(InitProducerIdRequest)]
            assert [one.transactional_id for one in asked].count("a") == 1


def unless_denied(request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Fence every id but ``secret``."""
    code = 0
    if request.transactional_id == "secret":
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return InitProducerIdResponse(error_code=code, producer_id=7, producer_epoch=4)
