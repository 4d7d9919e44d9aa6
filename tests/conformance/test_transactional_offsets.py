"""Offsets that transactions commit for groups, request by request."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

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
