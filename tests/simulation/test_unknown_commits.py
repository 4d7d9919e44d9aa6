"""A consumer after a commit of unknown outcome: no record is lost or doubled."""

from __future__ import annotations

import asyncio
import contextlib
from random import Random

import pytest

from pyk.clients import PartitionState, TopicPartition
from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    StateError,
    TransactionAbortableError,
)
from pyk.reference_broker import AsyncCluster
from pyk.runtime.virtual_time import virtual_time
from support.billing import ONCE, Billing, all_billed, bill_the_rest, billing, bills

BOTH = pytest.mark.parametrize("version", [1, 2])
P0 = TopicPartition("orders", 0)


# -- the commit goes on after its block ------------------------------------------------------------


@BOTH
@virtual_time
async def test_a_commit_that_succeeds_after_its_block_timed_out_doubles_nothing(version):
    async with billing(version) as (cluster, instance):
        with (
            cluster.faults.on("EndTxn").drop_before_apply(),
            pytest.raises(KafkaTimeoutError, match="call it again"),
        ):
            await instance.bill()
        positions = await instance.positions()
        with pytest.raises(ZeroDivisionError):
            await fail_in_a_block(instance)

        assert await instance.positions() == positions
        assert await bill_the_rest(cluster, instance) == ONCE


async def fail_in_a_block(instance: Billing) -> None:
    async with instance.producer.transaction(instance.consumer):
        await instance.consumer.poll(1.0)
        raise ZeroDivisionError


@BOTH
@virtual_time
async def test_a_commit_that_fails_after_its_block_timed_out_loses_nothing(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            await asyncio.sleep(20)  # the coordinator aborts the transaction meanwhile

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_records_that_expire_after_the_block_timed_out_are_read_again(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("Produce", topic="bills").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            await asyncio.sleep(5)

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_no_record_is_handed_out_while_the_outcome_is_unknown(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()

            assert await instance.consumer.poll(0.5) == []
            health = instance.consumer.health()
            assert {one.state for one in health.partitions.values()} == {PartitionState.IN_DOUBT}
            with pytest.raises(KafkaTimeoutError, match="outcome of a transaction"):
                await instance.consumer.position(P0, timeout=0.1)

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_the_next_block_waits_for_the_commit_of_the_one_before(version):
    async with billing(version) as (cluster, instance):
        rule = cluster.faults.on("EndTxn").drop_before_apply()
        with pytest.raises(KafkaTimeoutError):
            await instance.bill()
        entering = asyncio.ensure_future(
            instance.producer.transaction(instance.consumer).__aenter__()
        )
        await asyncio.sleep(0.2)
        assert not entering.done()
        rule.remove()

        await entering
        await instance.producer.abort_transaction()
        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_a_block_without_consumers_does_not_begin_before_the_outcome_is_known(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            with pytest.raises(StateError, match=r"call (it|commit_transaction\(\)) again"):
                await instance.producer.transaction().__aenter__()

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_nothing_is_committed_by_hand_while_the_outcome_is_unknown(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            before = await instance.consumer.committed([P0])
            await instance.consumer.commit()

            assert await instance.consumer.committed([P0]) == before

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_a_seek_ends_the_doubt_about_its_partition(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            instance.consumer.seek(P0, 1)
        await instance.producer.commit_transaction()

        assert await instance.consumer.position(P0) == 1


@BOTH
@virtual_time
async def test_a_paused_partition_stays_paused_through_a_doubt(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            instance.consumer.pause(P0)
        await instance.producer.commit_transaction()

        assert instance.consumer.paused() == {P0}


# -- a commit that is waited for later -------------------------------------------------------------


@BOTH
@virtual_time
async def test_a_commit_that_is_waited_for_later_doubles_nothing(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply(), pytest.raises(KafkaTimeoutError):
            await instance.bill()
        await instance.producer.commit_transaction()

        with pytest.raises(ZeroDivisionError):
            await fail_in_a_block(instance)
        assert await bill_the_rest(cluster, instance) == ONCE


@virtual_time
async def test_a_commit_that_fails_while_it_is_waited_for_can_be_aborted_by_hand():
    async with billing(2) as (cluster, instance):
        with cluster.faults.on("Produce", topic="bills").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            with pytest.raises(TransactionAbortableError):
                await instance.producer.commit_transaction(timeout=10)
        await instance.producer.abort_transaction()

        assert await bill_the_rest(cluster, instance) == ONCE


@pytest.mark.parametrize("fault", ["drop_before_apply", "apply_then_lose_response"])
@BOTH
@virtual_time
async def test_a_producer_that_is_closed_during_a_commit_leaves_it_to_the_group(version, fault):
    async with billing(version) as (cluster, instance):
        rule = getattr(cluster.faults.on("EndTxn"), fault)()
        with rule:
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            await instance.producer.close(0.2)
        await instance.replace_producer()

        assert await bill_the_rest(cluster, instance) == ONCE


@pytest.mark.parametrize("fault", ["drop_before_apply", "apply_then_lose_response"])
@BOTH
@virtual_time
async def test_a_producer_that_is_replaced_during_its_commit_leaves_it_to_the_group(version, fault):
    async with billing(version) as (cluster, instance):
        rule = getattr(cluster.faults.on("EndTxn"), fault)()
        with rule:
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            former, instance.producer = instance.producer, instance._make_producer()
            await instance.producer.start()
        with contextlib.suppress(KafkaError):
            await former.commit_transaction()

        assert await bill_the_rest(cluster, instance) == ONCE
        await former.close()


@pytest.mark.parametrize("milliseconds", range(0, 40, 4))
@BOTH
@virtual_time
async def test_a_block_that_is_cancelled_anywhere_loses_and_doubles_nothing(version, milliseconds):
    async with billing(version) as (cluster, instance):
        task = asyncio.ensure_future(instance.bill())
        await asyncio.sleep(milliseconds / 1000)
        task.cancel()
        await asyncio.wait([task])

        assert await bill_the_rest(cluster, instance) == ONCE


# -- seeds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@BOTH
@virtual_time
async def test_nothing_is_lost_or_doubled_whatever_goes_wrong(version, seed):
    random = Random(seed)
    async with billing(version) as (cluster, instance):
        trouble = asyncio.ensure_future(make_trouble(cluster, random))

        async with asyncio.timeout(300):
            await instance.go_on(all_billed(cluster))
        await trouble
        await asyncio.sleep(10)

        assert await bills(cluster) == ONCE


@pytest.mark.parametrize("seed", range(3))
@BOTH
@virtual_time
async def test_two_instances_share_the_work_whatever_goes_wrong(version, seed):
    random = Random(seed)
    async with billing(version) as (cluster, first):
        second = Billing(cluster, name="billing-2")
        await second.replace_producer()
        trouble = asyncio.ensure_future(make_trouble(cluster, random))

        async with asyncio.timeout(300):
            await asyncio.gather(
                first.go_on(all_billed(cluster)), second.go_on(all_billed(cluster))
            )
        await trouble
        await asyncio.sleep(10)

        assert await bills(cluster) == ONCE
        await second.close()


async def make_trouble(cluster: AsyncCluster, random: Random) -> None:
    """Lose requests and answers about transactions, and restart the broker, for a while."""
    for _ in range(8):
        await asyncio.sleep(random.uniform(0, 0.4))
        api = random.choice(["EndTxn", "EndTxn", "Produce", "TxnOffsetCommit", "InitProducerId"])
        fault = random.choice(["drop_before_apply", "apply_then_lose_response", "kill"])
        if fault == "kill":
            await cluster.kill()
            await asyncio.sleep(random.uniform(0, 2))
            await cluster.start()
            continue
        with getattr(cluster.faults.on(api), fault)():
            await asyncio.sleep(random.uniform(0.1, 6))
