"""A broker that is killed at any moment of two transactions: the outcome is always the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from pyk.protocol.records import read_batches
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.partition_reader import Isolation
from pyk.reference_broker.tcp_channels import TcpChannels
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.logs import transactional_batch

ID, TOPIC = "payments", "orders"
PARTITIONS = (0, 1, 2)
LATENCY = 0.001
RETRY_SECONDS = 0.005
LAST_KILL_MS = 22
"""A little more than the transactions take without a kill."""


class TransactionalClient:
    """A producer that repeats each request until it is answered."""

    def __init__(self, cluster: AsyncCluster, network: MemoryNetwork) -> None:
        (broker,) = cluster._brokers.values()
        self._topic_id = broker.image.topics[TOPIC].topic_id
        port = int(cluster.bootstrap.rsplit(":", 1)[1])
        clock = current_clock()
        self.channels = TcpChannels(network, clock, lambda _: ("127.0.0.1", port), "producer")

    async def ask(self, request: Any, codes: Callable[[Any], list[int]]) -> Any:
        """Return the response once all of its error codes are 0."""
        while True:
            response = await value_of(self.channels.send(0, request))
            if not isinstance(response, ErrorCode):
                found = [ErrorCode(code) for code in codes(response)]
                if not any(found):
                    return response
                assert all(code.retriable for code in found if code), found
            await asyncio.sleep(RETRY_SECONDS)

    async def init(self) -> tuple[int, int]:
        find = FindCoordinatorRequest(key_type=1, coordinator_keys=[ID])
        await self.ask(find, lambda answer: [each.error_code for each in answer.coordinators])
        request = InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=60_000)
        answer = await self.ask(request, lambda answer: [answer.error_code])
        return answer.producer_id, answer.producer_epoch

    async def write(self, producer: tuple[int, int], value: bytes) -> None:
        producer_id, producer_epoch = producer
        sealed = transactional_batch(value, producer_id=producer_id, producer_epoch=producer_epoch)
        data = [PartitionProduceData(index=number, records=sealed) for number in PARTITIONS]
        topics = [TopicProduceData(topic_id=self._topic_id, partition_data=data)]
        request = ProduceRequest(acks=-1, transactional_id=ID, timeout_ms=1000, topic_data=topics)
        await self.ask(
            request,
            lambda answer: [each.error_code for each in answer.responses[0].partition_responses],
        )

    async def end(self, producer: tuple[int, int], *, commit: bool) -> tuple[int, int]:
        request = EndTxnRequest(
            transactional_id=ID,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commit,
        )
        answer = await self.ask(request, lambda answer: [answer.error_code])
        return answer.producer_id, answer.producer_epoch

    async def state(self) -> str:
        request = DescribeTransactionsRequest(transactional_ids=[ID])
        answer = await self.ask(
            request, lambda answer: [each.error_code for each in answer.transaction_states]
        )
        state: str = answer.transaction_states[0].transaction_state
        return state

    async def run(self) -> None:
        """Abort a transaction and commit the next one."""
        producer = await self.init()
        await self.write(producer, b"aborted")
        producer = await self.end(producer, commit=False)
        await self.write(producer, b"committed")
        await self.end(producer, commit=True)
        while await self.state() != "CompleteCommit":
            await asyncio.sleep(RETRY_SECONDS)


def committed_values(partition: Partition) -> list[bytes | None]:
    """Return what a reader of committed records is left with."""
    found = partition.reader.read(0, 1 << 20, Isolation.READ_COMMITTED)
    aborted = partition.reader.aborted_transactions(0, found.records)
    values: list[bytes | None] = []
    for each in read_batches(found.records.read()):
        is_aborted = any(
            ended.producer_id == each.producer_id
            and ended.first_offset <= each.base_offset <= ended.last_offset
            for ended in aborted
        )
        if not each.is_control and not is_aborted:
            values += [record.value for record in each]
    return values


@pytest.mark.parametrize("second_kill_ms", [None, 4, 7])
@virtual_time
async def test_transactions_have_their_outcome_whenever_the_broker_is_killed(
    second_kill_ms: int | None,
) -> None:
    for kill_ms in range(1, LAST_KILL_MS):
        network = MemoryNetwork(latency=LATENCY)
        config = {"transaction.state.log.num.partitions": 2}
        cluster = AsyncCluster(clock=current_clock(), network=network, config=config)
        async with cluster, asyncio.timeout(120):
            await cluster.create_topic(TOPIC, partitions=len(PARTITIONS))
            client = TransactionalClient(cluster, network)
            running = asyncio.create_task(client.run())
            for after_ms in (kill_ms, second_kill_ms):
                if after_ms is not None:
                    await asyncio.sleep(after_ms / 1000)
                    await cluster.kill()
                    await cluster.start()
            await running
            await client.channels.close()

            (broker,) = cluster._brokers.values()
            for partition in broker.services.replicas.of_topic(TOPIC):
                assert committed_values(partition) == [b"committed"], kill_ms
                assert partition.last_stable_offset == partition.high_watermark, kill_ms


@pytest.mark.parametrize("is_killed", [False, True])
@virtual_time
async def test_an_abandoned_transaction_is_aborted_after_its_timeout(is_killed: bool) -> None:
    network = MemoryNetwork(latency=LATENCY)
    async with AsyncCluster(clock=current_clock(), network=network) as cluster:
        await cluster.create_topic(TOPIC, partitions=len(PARTITIONS))
        client = TransactionalClient(cluster, network)
        await client.write(await client.init(), b"abandoned")
        if is_killed:
            await cluster.kill()
            await cluster.start()

        await asyncio.sleep(59)
        assert await client.state() == "Ongoing"
        await asyncio.sleep(12)

        assert await client.state() == "CompleteAbort"
        (broker,) = cluster._brokers.values()
        for partition in broker.services.replicas.of_topic(TOPIC):
            assert committed_values(partition) == []
            assert partition.last_stable_offset == partition.high_watermark == 2
        await client.channels.close()
