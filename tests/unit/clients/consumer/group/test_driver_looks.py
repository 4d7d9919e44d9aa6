"""The driver of a membership looks at it when something is due, and at once after each event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients.consumer.group.actions import Action, Leave, Revoke, Send, Wait
from pyk.clients.consumer.group.join_failures import JoinFailures
from pyk.clients.consumer.group.membership import MetadataNeeds, Standing
from pyk.clients.consumer.group.membership_driver import MembershipDriver
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import KafkaError
from pyk.clients.offsets import Identity
from pyk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import running
from support.scripted_broker import SILENCE, ScriptedCluster


class IdleMembership:
    """A member for which nothing is ever due, and that counts how often it is looked at."""

    standing = Standing(
        state="idle", identity=Identity(), is_member=True, is_joining=False, is_rebalancing=False
    )

    def __init__(self) -> None:
        self.error: KafkaError | None = None
        self.failures = JoinFailures(30.0)
        self.needs = MetadataNeeds()
        self.looks = 0
        self.images: list[MetadataImage] = []
        self.polls: list[float] = []

    def next_action(self, now: float) -> Action:
        self.looks += 1
        return Wait(None)

    def application_polled(self, now: float) -> None:
        self.polls.append(now)

    def metadata_changed(self, image: MetadataImage, now: float) -> None:
        self.images.append(image)

    def leave(self, reason: str) -> Leave | None:
        return Leave(LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="me")]))

    def subscribe(self, topics: frozenset[str], now: float) -> None: ...
    def revoked(self, revoke: Revoke) -> None: ...
    def retry(self, now: float) -> None: ...
    def answered(self, sent: Send, response: Any, now: float) -> None: ...
    def request_failed(self, sent: Send, error: KafkaError, now: float) -> None: ...
    def is_absent(self, now: float) -> bool:
        return False


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
