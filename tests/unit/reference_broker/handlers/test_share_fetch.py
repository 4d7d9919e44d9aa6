"""ShareFetch and ShareAcknowledge: their responses, and when they wait."""

from __future__ import annotations

import asyncio

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.deferred import Deferred
from pyk.runtime.virtual_time import virtual_time
from support.logs import batch
from support.running_brokers import TOPIC, running_broker
from support.share_groups import (
    ShareMember,
    acknowledge_code,
    acquired,
    code,
    initialize,
    offsets,
)

E = ErrorCode
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


def fill(broker: Broker, *counts: int) -> None:
    for count in counts:
        broker.services.replicas.get(TOPIC, 0).append(batch(*[b"x"] * count))


@virtual_time
async def test_a_member_gets_records_and_the_next_one_those_after_them() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 10, 10)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")

        got = await first.fetch(max_records=10, max_wait_ms=1000)
        assert acquired(got) == [(0, 9, 1)]
        assert offsets(got) == list(range(10))
        assert got.acquisition_lock_timeout_ms == 30_000
        assert acquired(await second.fetch(max_wait_ms=1000)) == [(10, 19, 1)]


@virtual_time
async def test_acknowledged_records_are_stored_and_never_come_again() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 10)
        member = ShareMember(broker)
        await member.fetch(max_wait_ms=1000)

        assert code(await member.acknowledge((0, 9, [ACCEPT]))) == E.NONE
        fill(broker, 5)
        assert acquired(await member.fetch()) == [(10, 14, 1)]


@virtual_time
async def test_a_fetch_carries_acknowledgements() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 4)
        member = ShareMember(broker)
        await member.fetch(max_wait_ms=1000)

        got = await member.fetch(said=[(0, 1, [ACCEPT]), (2, 3, [RELEASE, REJECT])])
        assert acknowledge_code(got) == E.NONE
        assert acquired(await member.fetch()) == [(2, 2, 2)]


@virtual_time
async def test_a_fetch_waits_for_a_record_that_is_appended() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        member = ShareMember(broker)
        waiting = asyncio.ensure_future(member.fetch(max_wait_ms=60_000))
        await asyncio.sleep(5)
        assert not waiting.done()

        fill(broker, 3)
        assert acquired(await waiting) == [(0, 2, 1)]


@virtual_time
async def test_a_fetch_waits_for_a_record_that_another_member_releases() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)
        waiting = asyncio.ensure_future(second.fetch(max_wait_ms=60_000))
        await asyncio.sleep(1)

        await first.acknowledge((0, 2, [RELEASE]))

        assert acquired(await waiting) == [(0, 2, 2)]


@virtual_time
async def test_a_fetch_waits_for_a_lock_to_be_over() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)
        loop = asyncio.get_running_loop()
        begun = loop.time()

        got = await second.fetch(max_wait_ms=60_000)

        assert acquired(got) == [(0, 2, 2)]
        assert 29 < loop.time() - begun < 31


@virtual_time
async def test_a_fetch_is_answered_empty_when_time_is_over() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        member = ShareMember(broker)

        first = await member.fetch(max_wait_ms=500)
        later = await member.fetch(max_wait_ms=500)

        assert (code(first), offsets(first)) == (E.NONE, [])
        assert len(first.responses) == 1
        assert later.responses == []


@virtual_time
async def test_a_session_that_ends_releases_what_its_member_has() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)

        ended = await first.acknowledge((0, 0, [ACCEPT]), share_session_epoch=-1)

        assert code(ended) == E.NONE
        assert acquired(await second.fetch(max_wait_ms=1000)) == [(1, 2, 2)]


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


@virtual_time
async def test_locks_that_are_renewed_last_longer() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        fill(broker, 3)
        first, second = ShareMember(broker, "a"), ShareMember(broker, "b")
        await first.fetch(max_wait_ms=1000)
        await asyncio.sleep(20)

        await first.acknowledge((0, 2, [RENEW]), is_renew_ack=True)
        await asyncio.sleep(20)

        assert acquired(await second.fetch()) == []
        assert code(await first.acknowledge((0, 2, [ACCEPT]))) == E.NONE


@virtual_time
async def test_an_abandoned_fetch_acquires_nothing() -> None:
    async with running_broker() as broker:
        await initialize(broker)
        member = ShareMember(broker, "a")
        waiting = member.send(topics=member.topics(0), max_wait_ms=60_000)
        assert isinstance(waiting, Deferred)
        await asyncio.sleep(1)

        waiting.abandon()
        fill(broker, 3)

        assert acquired(await ShareMember(broker, "b").fetch(max_wait_ms=1000)) == [(0, 2, 1)]
