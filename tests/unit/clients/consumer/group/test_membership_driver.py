"""One driver for memberships by the classic protocol and by KIP-848's heartbeats."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import attrs
import pytest

from pyk.clients.consumer.group.actions import ApplicationEvent, Assign, Lose, Revoke
from pyk.clients.consumer.group.membership_driver import MembershipDriver
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.leave_group import LeaveGroupRequest
from pyk.runtime.virtual_time import eventually, virtual_time
from support.engine_parts import running
from support.scripted_broker import SILENCE, ScriptedCluster
from support.scripted_groups import ClassicGroup, HeartbeatGroup, ScriptedGroup

E = TypeVar("E", bound=ApplicationEvent)
P0, P1, P2 = (TopicPartition("orders", number) for number in range(3))

of_both_protocols = pytest.mark.parametrize("protocol", [ClassicGroup, HeartbeatGroup])


@attrs.define
class Application:
    """The events that an application gets from its group."""

    driver: MembershipDriver
    events: list[ApplicationEvent]

    async def hears(self, kind: type[E]) -> E:
        """Return the next event, of this kind."""
        await eventually(lambda: bool(self.events))
        event = self.events.pop(0)
        assert isinstance(event, kind), event
        return event


@asynccontextmanager
async def subscribed(
    protocol: Callable[[ScriptedCluster], ScriptedGroup], *assigned: TopicPartition
) -> AsyncIterator[tuple[ScriptedGroup, Application]]:
    """Run a driver of a member that has subscribed to the topic ``orders`` of three nodes."""
    async with running(nodes=3) as (cluster, client):
        cluster.add_topic("orders", [1, 2, 3])
        group = protocol(cluster)
        group.assign(*assigned)
        events: list[ApplicationEvent] = []
        driver = MembershipDriver(
            client,
            "g",
            group.membership,
            on_event=events.append,
            on_failure=lambda: None,
            activity=lambda: None,
            look_interval=1.0,
        )
        client.topics.use("subscription", {"orders"})
        driver.subscribe({"orders"})
        client.supervisor.spawn("drive the membership", driver.run())
        yield group, Application(driver, events)


@of_both_protocols
@virtual_time
async def test_a_member_gets_its_assignment(protocol: type[ScriptedGroup]) -> None:
    async with subscribed(protocol, P0, P1) as (group, application):
        assigned = await application.hears(Assign)

        assert assigned.added == assigned.owned == {P0, P1}
        await eventually(lambda: group.beats > 2)


@of_both_protocols
@virtual_time
async def test_a_partition_is_given_back_once_the_application_has_stopped_with_it(
    protocol: type[ScriptedGroup],
) -> None:
    async with subscribed(protocol, P0, P1) as (group, application):
        await application.hears(Assign)
        group.assign(P1, P2)

        revoke = await application.hears(Revoke)
        assert revoke.partitions == {P0}
        beats = group.beats
        await eventually(lambda: group.beats > beats + 2)
        assert P2 not in group.owned

        application.driver.revoked(revoke)
        assigned = await application.hears(Assign)
        assert (assigned.added, assigned.owned) == ({P2}, {P1, P2})
        await eventually(lambda: group.owned == {P1, P2})


@of_both_protocols
@virtual_time
async def test_a_fenced_member_loses_its_partitions_and_joins_again(
    protocol: type[ScriptedGroup],
) -> None:
    async with subscribed(protocol, P0) as (group, application):
        await application.hears(Assign)

        group.fence()

        assert (await application.hears(Lose)).partitions == {P0}
        assert (await application.hears(Assign)).owned == {P0}


@of_both_protocols
@virtual_time
async def test_a_member_commits_under_the_latest_member_id(
    protocol: type[ScriptedGroup],
) -> None:
    async with subscribed(protocol, P0) as (group, application):
        assert group.membership.standing.identity is None
        await application.hears(Assign)
        first = group.membership.standing.identity
        group.assign(P0, P1)
        await application.hears(Assign)

        second = group.membership.standing.identity
        assert first is not None
        assert second is not None
        assert (second.member_id, second.generation_id) == ("me", first.generation_id + 1)


@of_both_protocols
@virtual_time
async def test_a_member_that_leaves_tells_its_coordinator(protocol: type[ScriptedGroup]) -> None:
    async with subscribed(protocol, P0) as (group, application):
        await application.hears(Assign)

        leave = application.driver.end_membership("closed")
        await application.driver.tell_coordinator(leave, deadline=100.0)

        assert group.has_left
        assert not group.membership.standing.is_member


@virtual_time
async def test_a_leave_that_the_coordinator_does_not_answer_is_logged_with_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def silent(cluster: ScriptedCluster) -> ClassicGroup:
        group = ClassicGroup(cluster)
        cluster.on(LeaveGroupRequest, SILENCE)
        return group

    caplog.set_level("INFO", "pyk.clients.consumer.group.membership_driver")
    async with subscribed(silent, P0) as (_, application):
        await application.hears(Assign)

        leave = application.driver.end_membership("closed")
        await application.driver.tell_coordinator(leave, deadline=100.0)

        assert "Could not leave group g: no answer within 3 s" in caplog.messages


@virtual_time
async def test_an_assignment_of_a_topic_that_is_not_known_yet_waits_for_metadata() -> None:
    async with running(nodes=3) as (cluster, client):
        cluster.add_topic("orders", [1, 2, 3])
        group = HeartbeatGroup(cluster)
        group.assign(P0)
        events: list[ApplicationEvent] = []
        driver = MembershipDriver(
            client,
            "g",
            group.membership,
            on_event=events.append,
            on_failure=lambda: None,
            activity=lambda: None,
            look_interval=1.0,
        )
        driver.subscribe({"orders"})
        client.supervisor.spawn("drive the membership", driver.run())
        await eventually(lambda: group.beats > 3)
        assert events == []

        client.topics.use("subscription", {"orders"})

        assert (await Application(driver, events).hears(Assign)).owned == {P0}
