"""Prepared transactions that the next producer keeps, through faults: their histories are sound."""

from __future__ import annotations

import asyncio
from itertools import count
from random import Random

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.coordinator.transaction import initializing
from pyk.reference_broker.coordinator.transaction.transaction import Transaction
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import run_virtual
from pykcheck import Recorder, check
from support.nemesis import TRANSACTION_APIS, Nemesis, finalize_transaction_version
from support.recorded_clients import RecordedConsumer
from support.recorded_decisions import Decisions
from support.recorded_transactions import PARTITIONS, TOPICS, TransactionalProducer
from support.recorded_two_phases import NO_TIMEOUT, keep_until_over

KEEPERS = 3
SECONDS_OF_FAULTS = 30


async def play(seed: int) -> tuple[Recorder, Nemesis, int]:
    """Return what happened, what went wrong, and how many keepers died."""
    world = World(seed, latency=0.002)
    recorder = Recorder(world.clock.now)
    random, decisions, started = Random(f"{seed} keepers"), Decisions({}), count()
    is_faulty, deaths = True, 0
    config = {
        "transaction.state.log.num.partitions": 2,
        "transaction.state.log.replication.factor": 1,
        "transaction.two.phase.commit.enable": "true",
    }

    def new_keeper(transactional_id: str) -> TransactionalProducer:
        name = f"keeper{next(started)}"
        producer: AsyncProducer[bytes, bytes] = AsyncProducer(
            cluster.bootstrap,
            client_id=name,
            transactional_id=transactional_id,
            transaction_two_phase_commit_enable=True,
            request_timeout_ms=3_000,
            delivery_timeout_ms=8_000,
            max_block_ms=random.choice((2_000, 10_000)),
            **world.host(name).client_options,
        )
        return TransactionalProducer(recorder, name, producer, transactional_id, timeout=NO_TIMEOUT)

    async def die(producer: TransactionalProducer) -> None:
        nonlocal deaths
        deaths += 1
        await producer.producer._core.client.close(0)

    async def keep(transactional_id: str) -> None:
        await keep_until_over(
            recorder,
            lambda: new_keeper(transactional_id),
            decisions,
            random,
            lambda: is_faulty,
            die,
        )

    def reader(name: str, isolation: str) -> RecordedConsumer:
        consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
            cluster.bootstrap,
            client_id=name,
            auto_offset_reset="earliest",
            isolation_level=isolation,
            **world.host(name).client_options,
        )
        return RecordedConsumer(recorder, name, consumer, isolation=isolation)

    async def read() -> None:
        member = reader("reader", "read_committed")
        member.assign(PARTITIONS[:2])
        async with member.consumer:
            while is_faulty:
                await member.poll(1.0)

    async with AsyncCluster(config=config, **world.host("broker").environment) as cluster:
        for topic in TOPICS:
            await cluster.create_topic(topic, partitions=2)
        await finalize_transaction_version(cluster, (2, 1)[seed % 2])
        nemesis = Nemesis(
            world,
            cluster,
            Random(f"{seed} nemesis"),
            TRANSACTION_APIS,
            transaction_versions=(1, 2),
        )
        tasks = [asyncio.create_task(keep(f"keeper-id{number}")) for number in range(KEEPERS)]
        tasks.append(asyncio.create_task(read()))
        await nemesis.run(SECONDS_OF_FAULTS)
        is_faulty = False
        await asyncio.gather(*tasks)
        for isolation in ("read_committed", "read_uncommitted"):
            auditor = reader(f"auditor of {isolation}", isolation)
            async with auditor.consumer:
                await auditor.read_to_the_end(PARTITIONS)
    return recorder, nemesis, deaths


@pytest.mark.parametrize("seed", range(3))
def test_prepared_transactions_end_as_was_decided_in_spite_of_faults(seed: int) -> None:
    recorder, nemesis, deaths = run_virtual(play(seed))

    report = check(recorder.history())

    assert report.anomalies == []
    assert report.unread == 0
    assert report.transactions["committed"] > 10
    assert deaths > 0
    assert nemesis.counts.total() > 5


def abort_what_is_kept(
    transaction: Transaction, asked: object, new_producer_id: object, time_ms: int
) -> Transaction:
    return transaction.fenced(2, time_ms)


def test_a_broker_that_keeps_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initializing, "_kept", abort_what_is_kept)

    recorder, _, _ = run_virtual(play(0))

    assert "lost" in check(recorder.history()).counts
