"""The laws of an idempotent producer under random faults of brokers, one schedule per seed.

No acknowledged record is lost, duplicated or reordered within its partition. What failed for
certain is not in the log; what failed as unknown is there once at most. Everything that was sent is
settled.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import attrs
import pytest

from pyk.clients import AsyncProducer
from pyk.clients.errors import KafkaError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import ProduceRequest
from pyk.runtime.virtual_time import virtual_time
from support.producing_cluster import ProducingCluster, producing
from support.scripted_broker import CLOSE, SILENCE

NODES = 3
PARTITIONS = 6
RECORDS = 150
FAULTY_SECONDS = 4.0

# What a broker may answer although it has appended, and although it has not.
AFTER_THE_APPEND = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode(31_000),
)
INSTEAD_OF_THE_APPEND = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
)


@attrs.define
class Faults:
    """Brokers that answer as chance has it, until they are well again."""

    cluster: ProducingCluster
    producer: AsyncProducer[Any, Any]
    random: random.Random
    rate: float

    def produce(self, request: ProduceRequest) -> Any:
        cluster, chance = self.cluster, self.random
        if chance.random() > self.rate:
            return cluster.produce(request)
        after, instead = chance.choice(AFTER_THE_APPEND), chance.choice(INSTEAD_OF_THE_APPEND)
        fault = chance.choice(
            [
                cluster.append_and_close,
                cluster.append_and_keep_silent,
                cluster.append_and_answer(after),
                cluster.refuse(instead),
                lambda _: CLOSE,
                lambda _: SILENCE,
            ]
        )
        return fault(request)

    async def run(self, seconds: float) -> None:
        """Move leaders, restart nodes and lose memories for a while, then be well again."""
        cluster, chance = self.cluster, self.random
        end = asyncio.get_running_loop().time() + seconds
        cluster.on(ProduceRequest, self.produce)
        while asyncio.get_running_loop().time() < end:
            await asyncio.sleep(chance.uniform(0.01, 0.4))
            log = cluster.log(partition=chance.randrange(PARTITIONS))
            event = chance.random()
            if event < 0.5:
                cluster.move(chance.randrange(PARTITIONS), 1 + chance.randrange(NODES))
            elif event < 0.7:
                log.restart()
            elif event < 0.9:
                await self._restart_node(1 + chance.randrange(NODES))
            elif self.producer.stats().unfinished_batches == 0:
                # Nobody could tell a retry from news once the broker forgot a producer.
                log.forget_producers()
        cluster.on(ProduceRequest, cluster.produce)

    async def _restart_node(self, node_id: int) -> None:
        cluster = self.cluster
        await cluster.kill(node_id)
        for partition, leader in enumerate(cluster.topics["orders"].leaders):
            if leader == node_id:
                cluster.log(partition=partition).restart()
        await asyncio.sleep(self.random.uniform(0.0, 0.5))
        await cluster.start(node_id)


@attrs.frozen
class Sent:
    """A record and what became of it: where it was written, or why not."""

    partition: int
    value: bytes
    outcome: Any

    @property
    def is_acknowledged(self) -> bool:
        return not isinstance(self.outcome, KafkaError)


async def send_through(seed: int) -> tuple[ProducingCluster, list[Sent]]:
    """Send records through faults and return what became of each."""
    chance = random.Random(seed)
    options: dict[str, Any] = {
        "batch_size": chance.choice([0, 0, 300]),
        "linger_ms": chance.choice([0, 5]),
        "max_in_flight_requests_per_connection": chance.choice([1, 5, 5, 5]),
        "request_timeout_ms": 400,
        "delivery_timeout_ms": chance.choice([1_000, 5_000, 60_000]),
    }
    async with producing(NODES, partitions=PARTITIONS, latency=0.004, **options) as (
        cluster,
        producer,
    ):
        for partition in range(PARTITIONS):
            cluster.log(partition=partition).forgets_loudly = True
            cluster.log(partition=partition).knows_old_duplicates = seed % 3 == 0
        faults = Faults(cluster, producer, chance, rate=chance.choice([0.1, 0.3, 0.6]))
        running = asyncio.ensure_future(faults.run(FAULTY_SECONDS))
        deliveries = []
        for number in range(RECORDS):
            partition, value = chance.randrange(PARTITIONS), b"%d" % number
            delivery = await producer.send("orders", value, partition=partition)
            deliveries.append((partition, value, delivery))
            await asyncio.sleep(chance.choice([0, 0, 0, 0.01, 0.1]))
        await running
        outcomes = await asyncio.gather(*(d for _, _, d in deliveries), return_exceptions=True)
        # A broker that forgot the producer, behind a leader that moved, leaves one record in doubt.
        for partition in range(PARTITIONS):
            doubtful = await producer.send(
                "orders", b"first of %d" % partition, partition=partition
            )
            await asyncio.gather(doubtful, return_exceptions=True)
            last = b"last of %d" % partition
            await producer.send_and_wait("orders", last, partition=partition)
    return cluster, [
        Sent(partition, value, outcome)
        for (partition, value, _), outcome in zip(deliveries, outcomes, strict=True)
    ]


@pytest.mark.parametrize("seed", range(60))
@virtual_time
async def test_acknowledged_records_are_there_once_and_in_order(seed):
    cluster, sent = await send_through(seed)

    for partition in range(PARTITIONS):
        values = cluster.log(partition=partition).values
        mine = [one for one in sent if one.partition == partition]
        acknowledged = [one for one in mine if one.is_acknowledged]
        positions = [values.index(one.value) for one in acknowledged]
        known = [(p, one.outcome.offset) for p, one in zip(positions, acknowledged, strict=True)]
        refused = {one.value for one in mine if not one.is_acknowledged and one.outcome.definite}

        assert len(values) == len(set(values))
        assert positions == sorted(positions)
        assert all(offset in (position, -1) for position, offset in known)
        assert not refused & set(values)
