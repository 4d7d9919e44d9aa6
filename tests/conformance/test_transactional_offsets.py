"""Offsets that transactions commit for groups, request by request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer, TopicPartition
from pyk.protocol.errors import ErrorCode
from support.brokers import Kafka
from support.raw_transactions import RawTransactions


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
async def offsets(
    kafka: Kafka, topic: str, group: str, request: pytest.FixtureRequest
) -> AsyncIterator[RawTransactions]:
    """A transactional producer of each version, and the offsets of a group."""
    async with RawTransactions(kafka.bootstrap, topic, group, request.param) as offsets:
        yield offsets


@pytest.mark.parametrize(("is_commit", "expected"), [(True, 5), (False, 1)])
async def test_an_offset_of_a_transaction_is_unstable_until_its_end(
    offsets: RawTransactions, is_commit: bool, expected: int
) -> None:
    await offsets.commit_outside(1)

    assert await offsets.commit(5) is ErrorCode.NONE
    assert await offsets.is_unstable()
    assert await offsets.committed() == 1
    await offsets.end(is_commit=is_commit)

    assert await offsets.stable() == expected


async def test_an_offset_that_was_committed_later_stays(offsets: RawTransactions) -> None:
    await offsets.commit(5)
    await offsets.commit_outside(2)
    assert await offsets.is_unstable()
    assert await offsets.committed() == 2

    await offsets.end(is_commit=True)

    assert await offsets.stable() == 2


async def test_transactions_follow_each_other(offsets: RawTransactions) -> None:
    for offset, is_commit, expected in ((5, True, 5), (6, False, 5), (7, True, 7)):
        await offsets.commit(offset)
        await offsets.end(is_commit=is_commit)

        assert await offsets.stable() == expected


async def test_a_deleted_offset_does_not_come_back_at_the_end(offsets: RawTransactions) -> None:
    await offsets.commit(5)

    assert await offsets.delete_offset() is ErrorCode.NONE
    assert not await offsets.is_unstable()
    await offsets.end(is_commit=True)

    assert await offsets.stable() == -1


async def test_a_deleted_group_does_not_come_back_at_the_end(offsets: RawTransactions) -> None:
    await offsets.commit_outside(1)
    await offsets.commit(5)

    assert await offsets.delete_group() is ErrorCode.NONE
    assert not await offsets.is_unstable()
    await offsets.end(is_commit=True)

    assert await offsets.stable() == -1


async def test_the_next_producer_of_a_transactional_id_aborts_the_transaction(
    offsets: RawTransactions,
) -> None:
    await offsets.commit_outside(1)
    await offsets.commit(5)

    await offsets.init()

    assert await offsets.stable() == 1


async def test_members_that_the_group_does_not_have_cannot_commit(
    offsets: RawTransactions,
) -> None:
    stranger = {"member_id": "stranger", "generation_id_or_member_epoch": 3}
    assert await offsets.commit(5, **stranger) is ErrorCode.ILLEGAL_GENERATION

    await offsets.commit_outside(1)
    assert await offsets.commit(5, **stranger) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await offsets.commit(5, member_id="stranger") is ErrorCode.NONE
    assert await offsets.commit(5, group_instance_id="one") is ErrorCode.NONE


async def test_a_commit_without_a_group_is_refused(offsets: RawTransactions) -> None:
    await offsets.commit(5)

    assert await offsets.commit(6, group_id="") is ErrorCode.INVALID_GROUP_ID


async def test_a_consumer_of_committed_records_begins_where_the_transaction_ended(
    kafka: Kafka, topic: str, group: str, offsets: RawTransactions
) -> None:
    async with AsyncProducer(kafka.bootstrap) as producer:
        for number in range(8):
            await producer.send_and_wait(topic, b"%d" % number, partition=0)
    await offsets.commit_outside(1)
    await offsets.commit(5)
    first = TopicPartition(topic, 0)

    async with AsyncConsumer(
        kafka.bootstrap, group_id=group, isolation_level="read_committed"
    ) as consumer:
        consumer.assign([first])
        reading = asyncio.create_task(anext(consumer))
        assert await read_uncommitted(kafka, group, first) == 1
        assert not reading.done()
        await offsets.end(is_commit=True)

        record = await asyncio.wait_for(reading, 20)

    assert (record.offset, record.value) == (5, b"5")


async def read_uncommitted(kafka: Kafka, group: str, partition: TopicPartition) -> int:
    """Return the committed offset as a consumer sees it that does not wait for transactions."""
    async with AsyncConsumer(kafka.bootstrap, group_id=group) as consumer:
        committed = (await consumer.committed([partition]))[partition]
    assert committed is not None
    return committed.offset
