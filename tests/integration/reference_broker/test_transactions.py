"""Transactions over the wire: requests of producers in all versions, and what readers see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest
from pyk.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.list_transactions import ListTransactionsRequest
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from pyk.reference_broker import AsyncCluster
from support.broker_requests import TOPIC, find_coordinator
from support.logs import transactional_batch
from support.raw_client import RawClient, batch
from support.real_time import IN_TIME

ID = "payments"
Identity = tuple[int, int]


@pytest.fixture
async def cluster() -> AsyncIterator[AsyncCluster]:
    async with AsyncCluster() as cluster:
        await cluster.create_topic(TOPIC, partitions=3)
        yield cluster


@pytest.fixture
async def client(cluster: AsyncCluster) -> AsyncIterator[RawClient]:
    async with RawClient(cluster.bootstrap) as client:
        await client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[ID]))
        yield client


async def init(client: RawClient, version: int = 5, **more: Any) -> Identity | ErrorCode:
    """Return the identity of a producer once it gets one, or the error if that does not pass."""
    request = InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=60_000, **more)
    async with asyncio.timeout(IN_TIME):
        while True:
            answer = await client.ask(request, version)
            if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                break
            await asyncio.sleep(0.01)
    if answer.error_code:
        return ErrorCode(answer.error_code)
    return answer.producer_id, answer.producer_epoch


async def begun(client: RawClient) -> Identity:
    producer = await init(client)
    assert isinstance(producer, tuple)
    return producer


async def add(client: RawClient, producer: Identity, *numbers: int, version: int = 3) -> list[int]:
    topics = [AddPartitionsToTxnTopic(name=TOPIC, partitions=list(numbers))]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=ID,
        v3_and_below_producer_id=producer[0],
        v3_and_below_producer_epoch=producer[1],
        v3_and_below_topics=topics,
    )
    answer = await client.ask(request, version)
    (topic,) = answer.results_by_topic_v3_and_below
    return [each.partition_error_code for each in topic.results_by_partition]


async def write(
    client: RawClient, producer: Identity, *numbers: int, sequence: int = 0, version: int = 11
) -> list[int]:
    sealed = transactional_batch(
        b"x", producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence
    )
    data = [PartitionProduceData(index=number, records=sealed) for number in numbers]
    topics = [TopicProduceData(name=TOPIC, partition_data=data)]
    request = ProduceRequest(acks=-1, transactional_id=ID, topic_data=topics, timeout_ms=1000)
    answer = await client.ask(request, version)
    return [each.error_code for each in answer.responses[0].partition_responses]


async def end(
    client: RawClient, producer: Identity, *, commit: bool = True, version: int = 4
) -> Identity | ErrorCode:
    request = EndTxnRequest(
        transactional_id=ID, producer_id=producer[0], producer_epoch=producer[1], committed=commit
    )
    answer = await client.ask(request, version)
    return ErrorCode(answer.error_code) or (answer.producer_id, answer.producer_epoch)


async def state(client: RawClient) -> str:
    answer = await client.ask(DescribeTransactionsRequest(transactional_ids=[ID]))
    return answer.transaction_states[0].transaction_state


async def reaches(client: RawClient, expected: str) -> None:
    async with asyncio.timeout(IN_TIME):
        while await state(client) != expected:
            await asyncio.sleep(0.01)


def stable_offsets(cluster: AsyncCluster) -> list[int]:
    (broker,) = cluster._brokers.values()
    partitions = broker.services.replicas.of_topic(TOPIC)
    return [partition.last_stable_offset for partition in partitions]


@pytest.mark.parametrize("version", [1, 3, 4, 6])
async def test_transactions_have_a_coordinator(cluster: AsyncCluster, version: int) -> None:
    key = {"coordinator_keys": [ID]} if version >= 4 else {"key": ID}

    async with RawClient(cluster.bootstrap) as client:
        answer = await client.ask(FindCoordinatorRequest(key_type=1, **key), version)

    found = answer.coordinators[0] if version >= 4 else answer
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, 0)


@pytest.mark.parametrize("commit", [True, False])
async def test_the_markers_of_a_transaction_reach_all_partitions(
    cluster: AsyncCluster, client: RawClient, commit: bool
) -> None:
    producer = await begun(client)
    assert await add(client, producer, 0, 2) == [0, 0]
    assert await write(client, producer, 0, 2) == [0, 0]
    assert stable_offsets(cluster) == [0, 0, 0]

    assert await end(client, producer, commit=commit) == (-1, -1)
    await reaches(client, "CompleteCommit" if commit else "CompleteAbort")

    assert stable_offsets(cluster) == [2, 0, 2]


async def test_a_new_producer_fences_the_old_one(client: RawClient) -> None:
    old = await begun(client)
    await add(client, old, 0)
    await write(client, old, 0)

    new = await begun(client)

    assert new > old
    assert await add(client, old, 0) == [ErrorCode.PRODUCER_FENCED]
    assert await write(client, old, 0) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert await end(client, old) is ErrorCode.PRODUCER_FENCED


async def test_an_end_of_version_5_gives_the_identity_for_the_next_transaction(
    client: RawClient,
) -> None:
    producer_id, epoch = await begun(client)
    await add(client, (producer_id, epoch), 1)
    await write(client, (producer_id, epoch), 1)

    following = await end(client, (producer_id, epoch), version=5)

    assert following == (producer_id, epoch + 1)
    await reaches(client, "CompleteCommit")
    assert await end(client, (producer_id, epoch), version=5) == following
    assert await add(client, (producer_id, epoch + 1), 1) == [0]


@pytest.mark.parametrize(
    ("version", "code"),
    [(10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)],
)
async def test_a_partition_that_was_not_added_cannot_be_written_to(
    cluster: AsyncCluster, client: RawClient, version: int, code: ErrorCode
) -> None:
    producer = await begun(client)
    await add(client, producer, 0)

    assert await write(client, producer, 0, 1, version=version) == [0, code]

    assert stable_offsets(cluster) == [0, 0, 0]
    assert await end(client, producer) == (-1, -1)
    await reaches(client, "CompleteCommit")
    assert stable_offsets(cluster) == [2, 0, 0]


async def test_a_partition_is_verified_once_per_transaction(
    cluster: AsyncCluster, client: RawClient
) -> None:
    producer = await begun(client)
    await add(client, producer, 0)
    verified = len(cluster.requests("AddPartitionsToTxn", client_id="broker-0"))

    for sequence in range(3):
        assert await write(client, producer, 0, sequence=sequence) == [0]

    assert len(cluster.requests("AddPartitionsToTxn", client_id="broker-0")) == verified + 1


async def test_records_without_a_transaction_are_not_verified(
    cluster: AsyncCluster, client: RawClient
) -> None:
    data = [PartitionProduceData(index=0, records=batch(b"x"))]
    topics = [TopicProduceData(name=TOPIC, partition_data=data)]

    await client.ask(ProduceRequest(acks=-1, topic_data=topics, timeout_ms=1000), 12)

    assert not cluster.requests(client_id="broker-0")


async def test_a_version_2_producer_adds_partitions_by_writing_to_them(
    cluster: AsyncCluster, client: RawClient
) -> None:
    producer_id, epoch = await begun(client)
    for number in range(3):
        producer = (producer_id, epoch + number)
        # At once after the end of the last transaction, whose markers may still be on their way.
        assert await write(client, producer, 0, 1, version=12) == [0, 0]
        assert await end(client, producer, commit=number != 1, version=5) == (
            producer_id,
            epoch + number + 1,
        )
    await reaches(client, "CompleteCommit")

    assert stable_offsets(cluster) == [6, 6, 0]


async def test_a_late_batch_of_version_2_cannot_get_into_the_next_transaction(
    client: RawClient,
) -> None:
    producer = await begun(client)
    await write(client, producer, 0, version=12)
    await end(client, producer, commit=False, version=5)
    await reaches(client, "CompleteAbort")

    late = await write(client, producer, 0, sequence=1, version=12)

    assert late == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert await state(client) == "CompleteAbort"


async def test_a_lost_coordinator_lets_producers_ask_again(
    cluster: AsyncCluster, client: RawClient
) -> None:
    producer = await begun(client)
    await add(client, producer, 0)
    cluster.faults.on("AddPartitionsToTxn").once().close()

    assert await write(client, producer, 0) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert await write(client, producer, 0) == [0]


async def test_a_batch_does_not_overtake_one_that_could_not_be_verified(
    cluster: AsyncCluster, client: RawClient
) -> None:
    producer = await begun(client)
    await add(client, producer, 0)
    cluster.faults.on("AddPartitionsToTxn").once().close()

    assert await write(client, producer, 0, sequence=5) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert await write(client, producer, 0, sequence=6) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert await write(client, producer, 0, sequence=5) == [0]
    assert await write(client, producer, 0, sequence=6) == [0]


async def test_a_version_2_producer_begins_at_sequence_zero_in_every_partition(
    client: RawClient,
) -> None:
    producer = await begun(client)

    later = await write(client, producer, 0, sequence=1, version=12)

    assert later == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert await write(client, producer, 0, sequence=0, version=12) == [0]


@pytest.mark.parametrize("fault", ["close", "apply_then_lose_response", "NOT_LEADER_OR_FOLLOWER"])
async def test_markers_are_sent_until_they_are_written(
    cluster: AsyncCluster, client: RawClient, fault: str
) -> None:
    producer = await begun(client)
    await write(client, producer, 0, 1, version=12)
    rule = cluster.faults.on("WriteTxnMarkers").times(3)
    if fault.isupper():
        rule.error(ErrorCode[fault])
    else:
        getattr(rule, fault)()

    await end(client, producer, version=5)
    await reaches(client, "CompleteCommit")

    ends = 4 if fault == "apply_then_lose_response" else 1  # a marker may be there twice
    assert stable_offsets(cluster) == [1 + ends, 1 + ends, 0]


async def test_markers_for_a_deleted_topic_are_not_waited_for(
    cluster: AsyncCluster, client: RawClient
) -> None:
    producer = await begun(client)
    await write(client, producer, 0, version=12)
    request = DeleteTopicsRequest(topic_names=[TOPIC])
    await client.ask(request, 5)

    await end(client, producer, version=5)

    await reaches(client, "CompleteCommit")


@pytest.mark.parametrize("version", range(6))
async def test_fenced_producers_are_told_in_the_words_of_their_version(
    client: RawClient, version: int
) -> None:
    producer_id, epoch = await begun(client)
    stale = (producer_id, epoch + 5)

    if version <= 3:
        fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
        assert await add(client, stale, 0, version=version) == [fenced]
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert await end(client, stale, version=version) is fenced
    if version >= 3:
        fenced = ErrorCode.PRODUCER_FENCED if version >= 4 else ErrorCode.INVALID_PRODUCER_EPOCH
        expected = {"producer_id": producer_id, "producer_epoch": epoch + 5}
        assert await init(client, version, **expected) is fenced


async def test_partitions_are_added_all_together_or_not_at_all(client: RawClient) -> None:
    producer = await begun(client)

    assert await add(client, producer, 0, 9) == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert await state(client) == "Empty"


@pytest.mark.parametrize("verify_only", [True, False])
async def test_brokers_add_and_verify_partitions_of_many_transactions(
    client: RawClient, verify_only: bool
) -> None:
    producer = await begun(client)
    await add(client, producer, 0)
    topics = [AddPartitionsToTxnTopic(name=TOPIC, partitions=[0, 1])]
    asked = [
        AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            verify_only=verify_only,
            topics=topics,
        )
        for transactional_id in (ID, "unknown")
    ]

    answer = await client.ask(AddPartitionsToTxnRequest(transactions=asked), 5)

    codes = [
        [each.partition_error_code for each in result.topic_results[0].results_by_partition]
        for result in answer.results_by_transaction
    ]
    missing = ErrorCode.TRANSACTION_ABORTABLE if verify_only else ErrorCode.NONE
    assert codes == [[0, missing], [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2]


async def test_the_offsets_of_a_group_are_a_partition_of_the_transaction(client: RawClient) -> None:
    await client.ask(find_coordinator())
    producer_id, epoch = await begun(client)
    request = AddOffsetsToTxnRequest(
        transactional_id=ID, producer_id=producer_id, producer_epoch=epoch, group_id="readers"
    )

    assert (await client.ask(request)).error_code == ErrorCode.NONE
    described = await client.ask(DescribeTransactionsRequest(transactional_ids=[ID]))

    (topic,) = described.transaction_states[0].topics
    assert topic.topic == "__consumer_offsets"
    assert len(topic.partitions) == 1
    assert await end(client, (producer_id, epoch)) == (-1, -1)
    await reaches(client, "CompleteCommit")


@pytest.mark.parametrize(
    "more", [{"producer_id": 5}, {"producer_epoch": 5}, {"transaction_timeout_ms": 0}]
)
async def test_an_invalid_initialization_is_refused(
    client: RawClient, more: dict[str, int]
) -> None:
    values = {"transactional_id": ID, "transaction_timeout_ms": 1000, **more}

    answer = await client.ask(InitProducerIdRequest(**values), 5)

    assert answer.error_code in (
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    )


async def test_an_empty_transactional_id_is_refused(client: RawClient) -> None:
    answer = await client.ask(InitProducerIdRequest(transactional_id=""), 5)

    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("filters", "is_listed"),
    [
        ({}, True),
        ({"state_filters": ["Ongoing", "Nonsense"]}, True),
        ({"state_filters": ["Empty"]}, False),
        ({"producer_id_filters": [0]}, True),
        ({"producer_id_filters": [1]}, False),
        ({"duration_filter": 3_600_000}, False),
        ({"transactional_id_pattern": "pay.*"}, True),
        ({"transactional_id_pattern": "pay"}, False),
    ],
)
async def test_transactions_are_listed_by_filters(
    client: RawClient, filters: dict[str, Any], is_listed: bool
) -> None:
    producer = await begun(client)
    await add(client, producer, 0)

    answer = await client.ask(ListTransactionsRequest(**filters), 2)

    listed = [(each.transactional_id, each.transaction_state) for each in answer.transaction_states]
    assert listed == ([(ID, "Ongoing")] if is_listed else [])
    unknown = [name for name in filters.get("state_filters", ()) if name == "Nonsense"]
    assert answer.unknown_state_filters == unknown


async def test_an_invalid_pattern_of_ids_is_refused(client: RawClient) -> None:
    answer = await client.ask(ListTransactionsRequest(transactional_id_pattern="("), 2)

    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_an_unknown_transaction_is_described_as_such(client: RawClient) -> None:
    asked = DescribeTransactionsRequest(transactional_ids=["unknown", ""])

    answer = await client.ask(asked)

    assert [each.error_code for each in answer.transaction_states] == [
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.INVALID_REQUEST,
    ]
