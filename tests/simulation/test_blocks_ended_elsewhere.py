"""A block whose transaction is ended by another call: its consumer follows what really happened."""

from __future__ import annotations

import contextlib

import pytest

from pyk.clients.errors import ClosedError, KafkaError, ProducerFencedError, StateError
from pyk.runtime.virtual_time import virtual_time
from support.billing import ONCE, bill_the_rest, billing

BOTH = pytest.mark.parametrize("version", [1, 2])
MOMENT = pytest.mark.parametrize("moment", ["before_offsets", "after_offsets"])


@MOMENT
@BOTH
@virtual_time
async def test_an_abort_by_another_call_takes_the_consumer_back(version, moment):
    async with billing(version) as (cluster, instance):
        with pytest.raises(StateError):
            await instance.bill(**{moment: instance.producer.abort_transaction})

        assert await bill_the_rest(cluster, instance) == ONCE


@virtual_time
async def test_a_block_that_was_aborted_by_another_call_does_not_end_as_if_it_had_committed():
    async with billing(2) as (_, instance):
        with pytest.raises(StateError, match="was aborted by another call before the end of its"):
            await instance.bill(after_offsets=instance.producer.abort_transaction)


@MOMENT
@BOTH
@virtual_time
async def test_a_commit_by_another_call_doubles_nothing(version, moment):
    async with billing(version) as (cluster, instance):
        with pytest.raises(StateError):
            await instance.bill(**{moment: instance.producer.commit_transaction})

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_an_error_of_a_block_after_a_commit_by_another_call_doubles_nothing(version):
    async with billing(version) as (cluster, instance):

        async def commit_and_fail() -> None:
            await instance.producer.commit_transaction()
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await instance.bill(after_offsets=commit_and_fail)

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_a_block_never_ends_the_transaction_after_its_own(version):
    async with billing(version) as (cluster, instance):
        producer = instance.producer

        async def begin_another() -> None:
            await producer.abort_transaction()
            await producer.begin_transaction()

        with pytest.raises(StateError, match="was aborted by another call"):
            await instance.bill(after_offsets=begin_another)
        await producer.abort_transaction()

        assert await bill_the_rest(cluster, instance) == ONCE


@MOMENT
@BOTH
@virtual_time
async def test_a_producer_that_is_closed_in_the_block_takes_the_consumer_back(version, moment):
    async with billing(version) as (cluster, instance):
        with pytest.raises(ClosedError):
            await instance.bill(**{moment: instance.producer.close})
        await instance.replace_producer()

        assert await bill_the_rest(cluster, instance) == ONCE


@MOMENT
@BOTH
@virtual_time
async def test_a_producer_that_is_fenced_in_the_block_takes_the_consumer_back(version, moment):
    async with billing(version) as (cluster, instance):
        later = instance._make_producer()
        with pytest.raises(ProducerFencedError):
            await instance.bill(**{moment: later.start})
        await later.close()
        await instance.replace_producer()

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_a_consumer_that_is_closed_in_the_block_hides_no_error(version):
    async with billing(version) as (_, instance):
        with pytest.raises(ClosedError, match="the consumer is closed"):
            await instance.bill(before_offsets=instance.consumer.close)
        with contextlib.suppress(KafkaError):
            await instance.producer.commit_transaction()
