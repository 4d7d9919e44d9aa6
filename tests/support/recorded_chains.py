"""Consume, transform, produce, in transactions and in three stages, recorded for ``pykcheck``.

Each stage is a group whose instances read one topic and write the next: each record they read makes
one record, in the transaction that commits its offset. Beside them, writers append to the first
topic and read all topics in transactions of their own, of which some are aborted. Instances crash,
and others take over their transactional ids while they still run.

All is in memory and in virtual time, and all randomness comes from one seed.
"""

from __future__ import annotations

import asyncio
from itertools import count
from random import Random
from typing import Any

from pyk.clients import AsyncConsumer, AsyncProducer
from pyk.reference_broker import AsyncCluster
from pyk.runtime.simulation import World
from pykcheck import Recorder
from support.nemesis import TRANSACTION_APIS, Nemesis, finalize_transaction_version
from support.recorded_clients import RecordedConsumer
from support.recorded_decisions import Decisions, carry_out, prepare_until_over
from support.recorded_transactions import (
    PARTITIONS,
    SECONDS_AFTER_ERROR,
    STAGES,
    TOPICS,
    TRANSACTION_TIMEOUT,
    TransactionalProducer,
    append_in_block,
    append_some,
    transform_in_block,
    transform_some,
)

INSTANCES = 2
WRITERS = 2
SECONDS_OF_FAULTS = 20
SECONDS_WITHOUT_PROGRESS = 45
"""More than a request between brokers waits for its response (30 s) holds back transactions."""
SECONDS_TO_CATCH_UP = 300


class Chain:
    """The stages and the writers of one run."""

    def __init__(
        self,
        world: World,
        cluster: AsyncCluster,
        recorder: Recorder,
        *,
        reads: str,
        must_catch_up: bool,
    ) -> None:
        self._must_catch_up = must_catch_up
        self.committed = 0
        """How many transactions of stages were committed."""
        self._reads = reads
        self._world = world
        self._cluster = cluster
        self._recorder = recorder
        self._random = Random(f"{world.seed} chain")
        self._tasks: set[asyncio.Task[None]] = set()
        self._started = count()
        self._is_faulty = True
        self._is_over = False
        self._decisions = Decisions({})

    async def play(self, nemesis: Nemesis, seconds: float) -> None:
        """Run everything through faults, let the stages catch up, and audit all topics."""
        for number in range(WRITERS):
            self._spawn(self._write(f"writer-id{number}"))
        for stage in range(STAGES):
            for number in range(INSTANCES):
                self._spawn(self._transform(stage, f"stage{stage}-id{number}"))
        self._spawn(self._prepare("preparer-id"))
        self._spawn(self._complete())
        await nemesis.run(seconds)
        self._is_faulty = False
        await self._catch_up()
        self._is_over = True
        while self._tasks:
            await asyncio.gather(*self._tasks)
        for isolation in ("read_committed", "read_uncommitted"):
            auditor = self._consumer(f"auditor of {isolation}", None, isolation)
            async with auditor.consumer:
                await auditor.read_to_the_end(PARTITIONS)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- clients -----------------------------------------------------------------------------------

    def _producer(self, name: str, transactional_id: str) -> TransactionalProducer:
        producer: AsyncProducer[bytes, bytes] = AsyncProducer(
            self._cluster.bootstrap,
            client_id=name,
            transactional_id=transactional_id,
            transaction_timeout_ms=round(TRANSACTION_TIMEOUT * 1000),
            request_timeout_ms=3_000,
            delivery_timeout_ms=8_000,
            max_block_ms=10_000,
            linger_ms=self._random.choice((0, 5)),
            **self._world.host(name).client_options,
        )
        return TransactionalProducer(self._recorder, name, producer, transactional_id)

    def _consumer(
        self, name: str, group: str | None, isolation: str = "read_committed"
    ) -> RecordedConsumer:
        consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
            self._cluster.bootstrap,
            client_id=name,
            group_id=group,
            auto_offset_reset="earliest",
            isolation_level=isolation if group is None else self._reads,
            enable_auto_commit=False,
            request_timeout_ms=3_000,
            session_timeout_ms=6_000,
            heartbeat_interval_ms=1_000,
            # A JoinGroup that is lost on a living connection is given up 5 s after this.
            max_poll_interval_ms=20_000,
            max_poll_records=self._random.choice((3, 10)),
            **self._world.host(name).client_options,
        )
        return RecordedConsumer(self._recorder, name, consumer, isolation=isolation, group=group)

    async def _write(self, transactional_id: str) -> None:
        """Append and read in transactions, while there are faults."""
        name = f"writer{next(self._started)}"
        producer = self._producer(name, transactional_id)
        reader = self._consumer(name, None)
        reader.assign(PARTITIONS)
        write = self._random.choice((append_some, append_in_block))
        is_replaced = False
        if await producer.start():
            while self._is_faulty and not producer.is_over:
                await write(producer, reader, self._random)
                await asyncio.sleep(self._random.uniform(0.0, 1.0))
                if not is_replaced and self._random.random() < 0.02:
                    is_replaced = True
                    self._spawn(self._write(transactional_id))
                    if self._random.random() < 0.5:
                        await producer.crash()
        if not is_replaced and self._is_faulty:
            await asyncio.sleep(1.0)
            self._spawn(self._write(transactional_id))
        await producer.close()
        await reader.consumer.close(0)

    async def _prepare(self, transactional_id: str) -> None:
        """Prepare transactions while there are faults; others complete some of them."""
        decisions, completer = self._decisions, self._completer()
        while self._is_faulty:
            while left := decisions.get(transactional_id):
                await carry_out(self._recorder, "successor", completer, decisions, left)
            producer = self._producer(f"preparer{next(self._started)}", transactional_id)
            if not await producer.start():
                await asyncio.sleep(SECONDS_AFTER_ERROR)
            elif not await prepare_until_over(
                self._recorder, producer, decisions, self._random, lambda: self._is_faulty
            ):
                await producer.crash()
            await producer.close()
        await completer.close()

    async def _complete(self) -> None:
        """Complete what others have prepared."""
        decisions, completer = self._decisions, self._completer()
        while not self._is_over:
            for decision in decisions.for_others():
                await carry_out(self._recorder, "completer", completer, decisions, decision)
            await asyncio.sleep(0.2)
        await completer.close()

    def _completer(self) -> AsyncProducer[bytes, bytes]:
        name = f"completer{next(self._started)}"
        return AsyncProducer(
            self._cluster.bootstrap,
            client_id=name,
            request_timeout_ms=3_000,
            max_block_ms=10_000,
            **self._world.host(name).client_options,
        )

    async def _transform(self, stage: int, transactional_id: str) -> None:
        """Transform until all is over, or another instance has taken over."""
        name = f"stage{stage}.{next(self._started)}"
        producer = self._producer(name, transactional_id)
        consumer = self._consumer(name, f"group{stage}")
        transform = self._random.choice((transform_some, transform_in_block))
        is_replaced = False
        if await producer.start():
            consumer.subscribe([TOPICS[stage]])
            while not self._is_over and not producer.is_over:
                self.committed += await transform(
                    producer, consumer, TOPICS[stage + 1], self._random
                )
                if self._is_faulty and not is_replaced and self._random.random() < 0.02:
                    is_replaced = True
                    self._spawn(self._transform(stage, transactional_id))
                    if self._random.random() < 0.5:
                        await producer.crash()
        if not is_replaced and not self._is_over:
            await asyncio.sleep(1.0)
            self._spawn(self._transform(stage, transactional_id))
        await producer.close()
        await consumer.consumer.close(5)

    async def _catch_up(self) -> None:
        """Wait until no transaction is open, and the stages had nothing to do for a while."""
        readers = [
            self._consumer(f"observer of {isolation}", None, isolation)
            for isolation in ("read_committed", "read_uncommitted")
        ]
        deadline = self._world.clock.now() + SECONDS_TO_CATCH_UP
        seen: Any = None
        while self._world.clock.now() < deadline:
            stable, written = [await reader.consumer.end_offsets(PARTITIONS) for reader in readers]
            if stable == written and (stable, self.committed) == seen:
                break
            seen = stable, self.committed
            await asyncio.sleep(SECONDS_WITHOUT_PROGRESS)
        else:
            assert not self._must_catch_up, f"the chain did not catch up: {stable} of {written}"
        for reader in readers:
            await reader.consumer.close()


async def play_chain(
    seed: int,
    *,
    reads: str = "read_committed",
    seconds: float = SECONDS_OF_FAULTS,
    must_catch_up: bool = True,
) -> tuple[Recorder, Nemesis]:
    """Return what happened in one run, and what went wrong in its first ``seconds``.

    ``reads`` is how instances of stages read in truth; the history always says ``read_committed``.
    ``must_catch_up`` if it is an error that the stages do not process all records in the end.
    """
    world = World(seed, latency=0.002)
    recorder = Recorder(world.clock.now)
    config = {
        "offsets.topic.num.partitions": 2,
        "transaction.state.log.num.partitions": 2,
        "transaction.state.log.replication.factor": 1,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
    }
    async with AsyncCluster(config=config, **world.host("broker").environment) as cluster:
        for topic in TOPICS:
            await cluster.create_topic(topic, partitions=2)
        await finalize_transaction_version(cluster, (2, 1, 0)[seed % 3])
        nemesis = Nemesis(world, cluster, Random(f"{seed} nemesis"), TRANSACTION_APIS)
        chain = Chain(world, cluster, recorder, reads=reads, must_catch_up=must_catch_up)
        await chain.play(nemesis, seconds)
    return recorder, nemesis
