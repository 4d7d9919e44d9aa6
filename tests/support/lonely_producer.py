"""One transactional producer whose requests go wrong, and what it is told of its transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from pyk.clients import AsyncConsumer, AsyncProducer, TopicPartition
from pyk.clients.errors import KafkaTimeoutError, TransactionAbortableError
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.reference_broker import AsyncCluster
from support.consuming import network_of
from support.environments import client_options

TOPIC = "orders"
PARTITIONS = [TopicPartition(TOPIC, number) for number in range(3)]
GROUP = ConsumerGroupMetadata("billing")
APIS = (
    *("Produce", "EndTxn", "WriteTxnMarkers", "TxnOffsetCommit", "AddPartitionsToTxn"),
    *("AddOffsetsToTxn", "InitProducerId", "FindCoordinator", "Metadata"),
)
PATIENCE = 20
"""How often a call about a transaction is made again."""
FAULTS_END_AFTER = 4
SECONDS_UNTIL_ALL_IS_WELL = 70
"""Connections between brokers that are silent are given up by then."""

Call = Callable[[], Awaitable[Any]]


class LonelyProducer:
    """Runs transactions of all kinds, through faults of all kinds.

    It has no rival and no transaction is overdue: an error that ends it is a bug.
    """

    def __init__(self, cluster: AsyncCluster, random: Random) -> None:
        self.committed: list[bytes] = []
        self.committed_offset: int | None = None
        self.outcomes: set[str] = set()
        self._cluster = cluster
        self._random = random
        self._count = 0
        self._producer: AsyncProducer[Any, Any] = AsyncProducer(
            cluster.bootstrap,
            transactional_id="lonely",
            linger_ms=random.choice((0, 5)),
            request_timeout_ms=random.choice((300, 2_000)),
            delivery_timeout_ms=random.choice((3_000, 6_000)),
            max_block_ms=5_000,
            retry_backoff_ms=20,
            retry_backoff_max_ms=200,
            **client_options(network_of(cluster)),
        )

    async def run(self, transactions: int) -> None:
        async with self._producer:
            for _ in range(transactions):
                self._break_requests()
                await self._transact()
            self._cluster.faults.clear()
            await asyncio.sleep(SECONDS_UNTIL_ALL_IS_WELL)
            await self._transact()

    def _break_requests(self) -> None:
        random, faults = self._random, self._cluster.faults
        faults.clear()
        for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
            rule = faults.on(random.choice(APIS)).times(random.choice((1, 1, 2, 4)))
            match random.choice(("delay", "lose", "stay silent", "drop", "close")):
                case "delay":
                    rule.delay(random.choice((5, 50, 400, 1_500)))
                case "lose":
                    rule.apply_then_lose_response()
                case "stay silent":
                    rule.apply_then_lose_response(half_open=True)
                case "drop":
                    rule.drop_before_apply()
                case "close":
                    rule.close()

    async def _transact(self) -> None:
        producer, random = self._producer, self._random
        await self._insist(producer.begin_transaction)
        try:
            values, offset = await self._write()
        except (KafkaTimeoutError, TransactionAbortableError):
            await self._insist(producer.abort_transaction)
            self.outcomes.add("failed")
            return
        kind = random.choice((*("commit",) * 5, *("abort",) * 3, "prepare", "give up", "cancel"))
        if await self._end(kind):
            self.committed += values
            self.committed_offset = self.committed_offset if offset is None else offset
            self.outcomes.add(kind)

    async def _write(self) -> tuple[list[bytes], int | None]:
        producer, random = self._producer, self._random
        values, offset = [], None
        for _ in range(random.choice((0, 1, 1, 2, 5))):
            self._count += 1
            values.append(b"%d" % self._count)
            await producer.send(TOPIC, values[-1], partition=random.randrange(3))
            await asyncio.sleep(random.choice((0, 0, 0.001, 0.05, 0.5)))
        if random.random() < 0.3:
            offset = self._count
            await producer.send_offsets_to_transaction({PARTITIONS[0]: offset}, GROUP)
        return values, offset

    async def _end(self, kind: str) -> bool:
        """End the transaction in one of the possible ways; return whether it is committed."""
        producer = self._producer
        match kind:
            case "abort":
                return await self._insist(producer.abort_transaction)
            case "cancel":
                cancelled = asyncio.ensure_future(producer.commit_transaction())
                await asyncio.wait({cancelled}, timeout=self._random.choice((0, 0.001, 0.01)))
                cancelled.cancel()
                await asyncio.wait({cancelled})
                if not cancelled.cancelled() and cancelled.exception() is None:
                    return True
            case "prepare" | "give up":
                return await self._prepare(commits=kind == "prepare")
        return await self._insist(producer.commit_transaction)

    async def _prepare(self, *, commits: bool) -> bool:
        producer = self._producer
        prepared: list[Any] = []

        async def prepare() -> None:
            prepared.append(await producer.prepare_transaction())

        async def complete() -> None:
            await producer.complete_transaction(prepared[0], commit=commits)

        return await self._insist(prepare) and await self._insist(complete) and commits

    async def _insist(self, call: Call) -> bool:
        """Make a call until it is done; False after an abort, if that was to be, or had to be."""
        for attempt in range(PATIENCE):
            if attempt == FAULTS_END_AFTER:
                self._cluster.faults.clear()
            try:
                await call()
            except TransactionAbortableError:
                call = self._producer.abort_transaction
            except KafkaTimeoutError:
                continue
            else:
                return call != self._producer.abort_transaction
        raise AssertionError(f"{call} does not end")


async def committed_in(cluster: AsyncCluster) -> tuple[list[bytes], int | None]:
    """Return the values and the offset that readers of committed records get."""
    options: dict[str, Any] = {
        "group_id": GROUP.group_id,
        "isolation_level": "read_committed",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }
    consumer: AsyncConsumer[Any, Any] = AsyncConsumer(
        cluster.bootstrap, **options, **client_options(network_of(cluster))
    )
    async with consumer:
        offset = (await consumer.committed(PARTITIONS))[PARTITIONS[0]]
        consumer.assign(PARTITIONS)
        await consumer.seek_to_beginning()
        ends = await consumer.end_offsets(PARTITIONS)
        values: list[bytes] = []
        while any([await consumer.position(one) < end for one, end in ends.items()]):
            values += [record.value for record in await consumer.poll(1)]
    return values, None if offset is None else offset.offset
