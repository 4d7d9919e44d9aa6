"""The requests of a transactional producer to a running broker, in any version, one by one."""

from __future__ import annotations

import asyncio
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from pyk.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    TransactionState,
)
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.coordinator.transaction.records import by_topic
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.handlers.table import handler
from support.logs import transactional_batch
from support.running_brokers import context

Identity = tuple[int, int]
PASSING = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}


class TransactionRequests:
    """A transactional id, whose requests are handled by one broker."""

    def __init__(self, broker: Broker, transactional_id: str = "payments") -> None:
        self.broker = broker
        self.transactional_id = transactional_id

    async def ask(self, request: Message, version: int) -> Any:
        """Return the response of the handler."""
        handle: Any = handler(request.api_key)
        result = handle(self.broker.services, request, context(version))
        return await value_of(result) if isinstance(result, Deferred) else result

    async def find(self, key: str | None = None, key_type: int = 1) -> None:
        """Create the topic of the coordinator, and wait until it serves."""
        keys = [self.transactional_id if key is None else key]
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)
        async with asyncio.timeout(60):
            while (await self.ask(request, 6)).coordinators[0].error_code:
                await asyncio.sleep(0.01)

    async def init(
        self, version: int = 5, expected: Identity = (-1, -1), timeout_ms: int = 60_000, **more: Any
    ) -> Identity:
        """Return the identity of the producer once it gets one."""
        await self.find()
        async with asyncio.timeout(60):
            while True:
                response = await self.init_once(version, expected, timeout_ms, **more)
                if response.error_code not in PASSING:
                    break
                await asyncio.sleep(0.01)
        assert response.error_code == 0, ErrorCode(response.error_code)
        return response.producer_id, response.producer_epoch

    async def init_once(
        self, version: int = 5, expected: Identity = (-1, -1), timeout_ms: int = 60_000, **more: Any
    ) -> Any:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=expected[0],
            producer_epoch=expected[1],
            **more,
        )
        return await self.ask(request, version)

    async def add(
        self, producer: Identity, *partitions: TopicPartition, version: int = 3
    ) -> dict[TopicPartition, ErrorCode]:
        """Return the error of each partition; from version 4 on that is a request of brokers."""
        topics = [
            AddPartitionsToTxnTopic(name=topic, partitions=numbers)
            for topic, numbers in by_topic(frozenset(partitions)).items()
        ]
        identity = (self.transactional_id, *producer)
        if version < 4:
            response = await self.ask(_single(identity, topics), version)
            results = response.results_by_topic_v3_and_below
        else:
            response = await self.ask(_batched(identity, topics), version)
            results = response.results_by_transaction[0].topic_results
        return {
            TopicPartition(topic.name, each.partition_index): ErrorCode(each.partition_error_code)
            for topic in results
            for each in topic.results_by_partition
        }

    async def write(
        self, producer: Identity, name: TopicPartition, *, sequence: int = 0, version: int = 12
    ) -> ErrorCode:
        """Write a record in the transaction; from version 12 on that adds the partition."""
        sealed = transactional_batch(
            b"x", producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence
        )
        data = PartitionProduceData(index=name.partition, records=sealed)
        request = ProduceRequest(
            acks=-1,
            transactional_id=self.transactional_id,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name=name.topic, partition_data=[data])],
        )
        response = await self.ask(request, version)
        return ErrorCode(response.responses[0].partition_responses[0].error_code)

    async def end(
        self, producer: Identity, *, commit: bool = True, version: int = 5
    ) -> Identity | ErrorCode:
        """Return the identity for the next transaction, or the error."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commit,
        )
        response = await self.ask(request, version)
        if response.error_code:
            return ErrorCode(response.error_code)
        return (response.producer_id, response.producer_epoch) if version >= 5 else producer

    async def describe(self) -> TransactionState:
        request = DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        found: TransactionState = (await self.ask(request, 0)).transaction_states[0]
        return found

    async def settle(self) -> str:
        """Return the state once no markers are on their way."""
        async with asyncio.timeout(60):
            while (await self.describe()).transaction_state.startswith("Prepare"):
                await asyncio.sleep(0.01)
        return (await self.describe()).transaction_state


def _single(
    identity: tuple[str, int, int], topics: list[AddPartitionsToTxnTopic]
) -> AddPartitionsToTxnRequest:
    transactional_id, producer_id, producer_epoch = identity
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=producer_epoch,
        v3_and_below_topics=topics,
    )


def _batched(
    identity: tuple[str, int, int], topics: list[AddPartitionsToTxnTopic]
) -> AddPartitionsToTxnRequest:
    transactional_id, producer_id, producer_epoch = identity
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        topics=topics,
    )
    return AddPartitionsToTxnRequest(transactions=[transaction])
