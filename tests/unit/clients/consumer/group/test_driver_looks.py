"""The driver of a membership looks at it when something is due, and at once after each event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from pyk.clients.consumer.group.actions import Revoke
from pyk.clients.consumer.group.membership import MetadataNeeds
from pyk.clients.consumer.group.membership_driver import MembershipDriver
from pyk.protocol.messages.leave_group import LeaveGroupRequest
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import running
from support.idle_membership import IdleMembership
from support.scripted_broker import SILENCE, ScriptedCluster


@asynccontextmanager
async def driven() -> AsyncIterator[tuple[ScriptedCluster, IdleMembership, MembershipDriver]]:
    """Run a driver until it waits; the application works on records meanwhile."""
    async with running() as (cluster, client):
        membership = IdleMembership()
        driver = MembershipDriver(
            client,
            "g",
            membership,
            on_event=lambda _: None,
            on_failure=lambda: None,
            activity=lambda: 1,
            look_interval=1.0,
        )
        client.supervisor.spawn("drive the membership", driver.run())
        await asyncio.sleep(1)
        yield cluster, membership, driver


EVENTS: list[Callable[[MembershipDriver], object]] = [
    lambda driver: driver.subscribe({"orders"}),
    lambda driver: driver.revoked(Revoke(frozenset())),
    lambda driver: driver.notice_application(),
    lambda driver: driver.retry(),
    lambda driver: driver.end_membership("closed"),
]


@pytest.mark.parametrize("event", EVENTS)
@virtual_time
async def test_the_driver_looks_at_once_after_each_event(
    event: Callable[[MembershipDriver], object],
) -> None:
    async with driven() as (_, membership, driver):
        looks = membership.looks
        await asyncio.sleep(10)
        assert membership.looks == looks

        event(driver)
        await asyncio.sleep(0.001)

        assert membership.looks == looks + 1


@virtual_time
async def test_a_member_is_told_of_the_metadata_that_the_client_has_already() -> None:
    async with driven() as (_, membership, _):
        assert [set(image.nodes) for image in membership.images] == [{1}]


@virtual_time
async def test_a_member_is_told_when_the_application_asks_for_records() -> None:
    async with driven() as (_, membership, driver):
        membership.polls.clear()

        driver.notice_application()

        assert membership.polls == [current_clock().now()]


@virtual_time
async def test_metadata_are_requested_again_as_long_as_the_member_needs_them() -> None:
    async with driven() as (cluster, membership, driver):
        before = len(cluster.requests(MetadataRequest))

        membership.needs = MetadataNeeds(is_incomplete=True)
        driver.retry()
        await asyncio.sleep(5)
        requested = len(cluster.requests(MetadataRequest))
        assert requested > before + 2

        membership.needs = MetadataNeeds()
        await asyncio.sleep(5)
        requested = len(cluster.requests(MetadataRequest))
        await asyncio.sleep(5)
        assert len(cluster.requests(MetadataRequest)) == requested


@virtual_time
async def test_leaving_is_given_up_when_the_coordinator_is_silent_for_three_seconds() -> None:
    async with driven() as (cluster, _, driver):
        cluster.on(LeaveGroupRequest, SILENCE)
        begun = current_clock().now()

        await driver.tell_coordinator(driver.end_membership("closed"), begun + 100)

        assert current_clock().now() == pytest.approx(begun + 3)
