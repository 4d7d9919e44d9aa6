"""ShareFetch and ShareAcknowledge: which requests are refused, and which get no records."""

from __future__ import annotations

import asyncio

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.broker import Broker
from pyk.runtime.virtual_time import virtual_time
from support.logs import batch
from support.running_brokers import TOPIC, running_broker
from support.share_groups import Said, ShareMember, code, initialize, offsets

E = ErrorCode
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


def fill(broker: Broker, count: int) -> None:
    broker.services.replicas.get(TOPIC, 0).append(batch(*[b"x"] * count))


@virtual_time
async def test_requests_outside_of_a_session_are_refused() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        member = ShareMember(broker)

        assert code(await member.fetch(share_session_epoch=1)) == E.SHARE_SESSION_NOT_FOUND
        assert code(await member.fetch(share_session_epoch=-1)) == E.SHARE_SESSION_NOT_FOUND
        await member.fetch(0, share_session_epoch=0, max_wait_ms=1000)
        assert code(await member.fetch(share_session_epoch=7)) == E.INVALID_SHARE_SESSION_EPOCH
        refused = await member.acknowledge((0, 0, [ACCEPT]), share_session_epoch=0)
        assert code(refused) == E.INVALID_SHARE_SESSION_EPOCH


@pytest.mark.parametrize(
    "nobody", [{"group_id": None}, {"member_id": ""}, {"member_id": None}, {"member_id": "x" * 37}]
)
@virtual_time
async def test_requests_that_name_no_member_are_refused(nobody: dict[str, str | None]) -> None:
    async with running_broker() as broker:
        await initialize(broker)

        assert code(await ShareMember(broker).fetch(**nobody)) == E.INVALID_REQUEST
        assert code(await ShareMember(broker, "x" * 36).fetch()) == E.NONE


@virtual_time
async def test_a_partition_that_its_topic_does_not_have_is_unknown() -> None:
    async with running_broker() as broker:
        await initialize(broker)

        refused = await ShareMember(broker).fetch(1, max_wait_ms=60_000)

        assert code(refused) == E.UNKNOWN_TOPIC_OR_PARTITION


ACKNOWLEDGEMENTS = [
    ([(0, 2, [ACCEPT])], E.NONE),
    ([(0, 2, [ACCEPT, RELEASE, REJECT])], E.NONE),
    ([(0, 0, [ACCEPT]), (1, 2, [ACCEPT])], E.NONE),
    ([(0, 1, [ACCEPT]), (1, 2, [ACCEPT])], E.INVALID_RECORD_STATE),
    ([(0, 2, [])], E.INVALID_REQUEST),
    ([(0, 2, [ACCEPT, ACCEPT])], E.INVALID_REQUEST),
    ([(2, 1, [ACCEPT])], E.INVALID_REQUEST),
    ([(-2, 2, [ACCEPT])], E.INVALID_REQUEST),
    ([(1, 2, [ACCEPT]), (0, 0, [ACCEPT])], E.INVALID_REQUEST),
    ([(0, 2, [-1])], E.INVALID_REQUEST),
    ([(0, 2, [5])], E.INVALID_REQUEST),
    ([(0, 2, [RENEW])], E.INVALID_REQUEST),
]


@pytest.mark.parametrize(("said", "expected"), ACKNOWLEDGEMENTS)
@virtual_time
async def test_acknowledgements_that_make_no_sense_are_refused(
    said: list[Said], expected: ErrorCode
) -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        member = ShareMember(broker)
        await member.fetch(max_wait_ms=1000)

        assert code(await member.acknowledge(*said)) == expected


NO_RECORDS = {"max_bytes": 0, "min_bytes": 0, "max_records": 0, "max_wait_ms": 0}


@pytest.mark.parametrize("limit", [None, *NO_RECORDS])
@virtual_time
async def test_a_fetch_renews_locks_if_it_asks_for_no_records(limit: str | None) -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        member = ShareMember(broker)
        await member.fetch(max_wait_ms=1000)
        limits = NO_RECORDS if limit is None else {**NO_RECORDS, limit: 1}

        answer = await member.fetch(said=[(0, 2, [RENEW])], is_renew_ack=True, **limits)

        assert code(answer) == (E.NONE if limit is None else E.INVALID_REQUEST)


@virtual_time
async def test_a_request_that_asks_for_no_records_or_is_refused_is_answered_at_once() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        member = ShareMember(broker)
        begun = asyncio.get_running_loop().time()

        empty = await member.fetch(max_records=0, max_wait_ms=60_000)
        refused = await member.fetch(share_session_epoch=7, max_wait_ms=60_000)

        assert (code(empty), code(refused)) == (E.NONE, E.INVALID_SHARE_SESSION_EPOCH)
        assert asyncio.get_running_loop().time() - begun < 1


@virtual_time
async def test_too_many_sessions_are_refused_late() -> None:
    async with running_broker(group_share_max_share_sessions=1) as broker:
        await initialize(broker)
        await ShareMember(broker, "a").fetch(max_wait_ms=1000)
        loop = asyncio.get_running_loop()
        begun = loop.time()

        at_once = await ShareMember(broker, "b").fetch(max_wait_ms=0)
        assert (code(at_once), loop.time()) == (E.SHARE_SESSION_LIMIT_REACHED, begun)

        refused = await ShareMember(broker, "b").fetch(max_wait_ms=2000)

        assert code(refused) == E.SHARE_SESSION_LIMIT_REACHED
        assert loop.time() - begun == pytest.approx(2, abs=0.1)


@virtual_time
async def test_the_limit_of_records_is_that_of_all_partitions_together() -> None:
    async with running_broker(partitions=2) as broker:
        await initialize(broker, partitions=2)
        member = ShareMember(broker)
        await member.fetch(0, 1, max_wait_ms=1000)
        for number in range(2):
            broker.services.replicas.get(TOPIC, number).append(batch(b"x", b"x", b"x"))

        got = await member.fetch(max_records=3, max_wait_ms=1000)

        assert len(offsets(got)) == 3
