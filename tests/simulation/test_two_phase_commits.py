"""Two-phase commits (KIP-939) on the reference broker: producers of pyk, and raw requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer, PreparedTransaction
from pyk.clients.errors import (
    KafkaError,
    PreparedTransactionEndedError,
    ProducerFencedError,
    StateError,
    UnsupportedVersionError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.broker import Broker
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.environments import client_options
from support.running_brokers import TOPIC, running_broker
from support.transaction_requests import TransactionRequests

ID = "payments"
ORDERS = TopicPartition(TOPIC, 0)
LONGER_THAN_ANY_TIMEOUT = 1_200
SAFE_DOWNGRADE = 2


class TwoPhases:
    """A broker that allows two phases, and producers in processes that come and go."""

    def __init__(self, cluster: AsyncCluster, network: MemoryNetwork) -> None:
        self._cluster = cluster
        self._network = network

    @property
    def broker(self) -> Broker:
        (broker,) = self._cluster._brokers.values()
        return broker

    def keeper(self, **options: Any) -> AsyncProducer[Any, Any]:
        """Return a producer that may keep the transaction that is open."""
        options = {"transactional_id": ID, "transaction_two_phase_commit_enable": True} | options
        return self.producer(**options)

    def producer(self, **options: Any) -> AsyncProducer[Any, Any]:
        return AsyncProducer(self._cluster.bootstrap, **client_options(self._network), **options)

    async def prepare(self, **options: Any) -> PreparedTransaction:
        """Prepare a transaction in a process that ends at once."""
        async with self.keeper(**options) as producer:
            await producer.begin_transaction()
            await producer.send_and_wait(TOPIC, b"x", partition=0)
            return await producer.prepare_transaction()

    @property
    def stable_offset(self) -> int:
        return self.broker.services.replicas.get(TOPIC, 0).last_stable_offset

    async def use_version(self, version: int) -> None:
        """Finalize a level of ``transaction.version``."""
        update = FeatureUpdateKey(
            feature="transaction.version", max_version_level=version, upgrade_type=SAFE_DOWNGRADE
        )
        async with self.producer() as producer:
            client = producer._core.client
            request = UpdateFeaturesRequest(feature_updates=[update])
            answer = await client.send_to_any(request, client.clock.now() + 5)
        assert not answer.error_code, answer

    async def committed(self, count: int) -> list[bytes]:
        """Return the first values that readers of committed records get."""
        async with AsyncConsumer(
            self._cluster.bootstrap,
            topics=[TOPIC],
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            **client_options(self._network),
        ) as consumer:
            return [(await anext(consumer)).value for _ in range(count)]

    async def settle(self) -> str:
        return await TransactionRequests(self.broker, ID).settle()


@asynccontextmanager
async def two_phases(**config: str) -> AsyncIterator[TwoPhases]:
    network = MemoryNetwork(latency=0.001)
    named = {"transaction.two.phase.commit.enable": "true", **config}
    async with AsyncCluster(clock=current_clock(), network=network, config=named) as cluster:
        await cluster.create_topic(TOPIC)
        yield TwoPhases(cluster, network)


@pytest.mark.parametrize(("commit", "state"), [(True, "CompleteCommit"), (False, "CompleteAbort")])
@virtual_time
async def test_another_process_ends_a_prepared_transaction_much_later(
    commit: bool, state: str
) -> None:
    async with two_phases() as phases:
        prepared = await phases.prepare()
        await asyncio.sleep(LONGER_THAN_ANY_TIMEOUT)
        assert phases.stable_offset == 0

        async with phases.producer() as other:
            await other.complete_transaction(prepared, commit=commit)

        assert await phases.settle() == state
        assert phases.stable_offset == len(["x", "marker"])


@virtual_time
async def test_a_transaction_without_two_phases_times_out() -> None:
    async with two_phases() as phases:
        prepared = await phases.prepare(transaction_two_phase_commit_enable=False)
        await asyncio.sleep(LONGER_THAN_ANY_TIMEOUT)

        async with phases.producer() as other:
            with pytest.raises(PreparedTransactionEndedError):
                await other.complete_transaction(prepared)

        assert await phases.settle() == "CompleteAbort"


@virtual_time
async def test_a_prepared_transaction_survives_a_crash_of_the_broker() -> None:
    async with two_phases() as phases:
        prepared = await phases.prepare()
        await phases._cluster.kill(0)
        await phases._cluster.start(0)
        await asyncio.sleep(LONGER_THAN_ANY_TIMEOUT)

        async with phases.producer() as other:
            await other.complete_transaction(prepared)

        assert await phases.settle() == "CompleteCommit"


@virtual_time
async def test_a_producer_that_keeps_the_transaction_fences_all_others() -> None:
    async with two_phases() as phases:
        prepared = await phases.prepare()
        requests = TransactionRequests(phases.broker, ID)

        answer = await requests.init_once(6, enable2_pc=True, keep_prepared_txn=True)

        kept = answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch
        assert kept == (prepared.producer_id, prepared.epoch)
        async with phases.producer() as other:
            with pytest.raises((ProducerFencedError, PreparedTransactionEndedError)):
                await other.complete_transaction(prepared)
        assert (await requests.describe()).transaction_state == "Ongoing"
        keeper = answer.producer_id, answer.producer_epoch
        assert await requests.end(keeper) == (keeper[0], keeper[1] + 1)
        assert await requests.settle() == "CompleteCommit"
        assert phases.stable_offset == len(["x", "marker"])


@virtual_time
async def test_a_new_producer_that_keeps_nothing_aborts_the_prepared_transaction() -> None:
    async with two_phases() as phases:
        prepared = await phases.prepare()

        await phases.prepare()

        async with phases.producer() as other:
            with pytest.raises(PreparedTransactionEndedError):
                await other.complete_transaction(prepared)


@virtual_time
async def test_a_broker_without_two_phases_refuses_them() -> None:
    async with two_phases(**{"transaction.two.phase.commit.enable": "false"}) as phases:
        with pytest.raises(KafkaError) as refused:
            await phases.prepare()

        assert refused.value.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@virtual_time
async def test_two_phases_need_no_timeout_within_the_limits() -> None:
    async with running_broker(transaction_two_phase_commit_enable=True) as broker:
        requests = TransactionRequests(broker, ID)
        await requests.find()

        answer = await requests.init_once(6, timeout_ms=2**31 - 1, enable2_pc=True)

        assert answer.error_code == ErrorCode.NONE
        assert (await requests.describe()).transaction_timeout_ms == 2**31 - 1


# -- producers that keep the transaction -----------------------------------------------------------


async def write(producer: AsyncProducer[Any, Any], value: bytes) -> None:
    async with producer.transaction():
        await producer.send(TOPIC, value, partition=0)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("commit", [True, False])
@virtual_time
async def test_the_next_producer_keeps_the_transaction_ends_it_and_goes_on(
    commit: bool, version: int
) -> None:
    async with two_phases() as phases:
        if version == 1:
            await phases.use_version(version)
        prepared = PreparedTransaction.from_json((await phases.prepare()).to_json())
        await asyncio.sleep(LONGER_THAN_ANY_TIMEOUT)
        keeper = phases.keeper()

        kept = await keeper.init_transactions(keep_prepared_txn=True)

        assert kept == prepared
        assert await keeper.init_transactions() is None
        async with keeper:
            with pytest.raises(StateError, match=r"complete_transaction\(\) first"):
                await keeper.begin_transaction()
            await keeper.complete_transaction(prepared, commit=commit)
            await keeper.complete_transaction(prepared, commit=commit)
            assert await keeper.init_transactions(keep_prepared_txn=True) is None
            with pytest.raises(PreparedTransactionEndedError):
                await keeper.complete_transaction(prepared, commit=not commit)
            await write(keeper, b"y")
            await write(keeper, b"z")
        await phases.settle()
        expected = [b"x", b"y", b"z"] if commit else [b"y", b"z"]
        assert await phases.committed(len(expected)) == expected


@virtual_time
async def test_a_keeper_that_dies_leaves_the_transaction_to_the_next_one() -> None:
    async with two_phases() as phases:
        prepared = await phases.prepare()
        first, second = phases.keeper(), phases.keeper()
        assert await first.init_transactions(keep_prepared_txn=True) == prepared

        kept = await second.init_transactions(keep_prepared_txn=True)

        assert kept == prepared
        with pytest.raises(ProducerFencedError):
            await first.complete_transaction(prepared, commit=False)
        await second.complete_transaction(kept)
        await first.close()
        await second.close()
        assert await phases.settle() == "CompleteCommit"


@virtual_time
async def test_a_keeper_that_is_closed_leaves_the_transaction_open() -> None:
    async with two_phases() as phases:
        prepared = await phases.prepare()
        keeper = phases.keeper()
        await keeper.init_transactions(keep_prepared_txn=True)
        await keeper.close()

        successor = phases.keeper()
        assert await successor.init_transactions(keep_prepared_txn=True) == prepared
        await successor.complete_transaction(prepared)
        await successor.close()
        assert await phases.settle() == "CompleteCommit"


@virtual_time
async def test_where_nothing_is_open_nothing_is_kept() -> None:
    async with two_phases() as phases:
        keeper = phases.keeper()

        assert await keeper.init_transactions(keep_prepared_txn=True) is None
        assert await keeper.init_transactions(keep_prepared_txn=True) is None

        await write(keeper, b"y")
        await keeper.close()
        assert await phases.committed(1) == [b"y"]


@virtual_time
async def test_a_producer_that_was_started_cannot_keep_anything_any_more() -> None:
    async with two_phases() as phases, phases.keeper() as keeper:
        with pytest.raises(StateError, match=r"before start\(\)"):
            await keeper.init_transactions(keep_prepared_txn=True)

        await write(keeper, b"y")


@virtual_time
async def test_keeping_needs_two_phases() -> None:
    async with two_phases() as phases:
        producer = phases.producer(transactional_id=ID)
        with pytest.raises(StateError, match="transaction_two_phase_commit_enable=True"):
            await producer.init_transactions(keep_prepared_txn=True)

        await producer.init_transactions()
        await write(producer, b"y")
        await producer.close()


@virtual_time
async def test_a_broker_that_forbids_two_phases_says_how_to_allow_them() -> None:
    async with two_phases(**{"transaction.two.phase.commit.enable": "false"}) as phases:
        keeper = phases.keeper()
        with pytest.raises(KafkaError, match=r"transaction\.two\.phase\.commit\.enable") as refused:
            await keeper.init_transactions(keep_prepared_txn=True)
        await keeper.close()

        assert refused.value.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@virtual_time
async def test_a_cluster_without_the_records_for_it_cannot_keep_a_transaction() -> None:
    async with two_phases() as phases:
        await phases.use_version(0)
        keeper = phases.keeper()
        with pytest.raises(UnsupportedVersionError, match=r"transaction\.version 1 or 2"):
            await keeper.init_transactions(keep_prepared_txn=True)
        await keeper.close()
