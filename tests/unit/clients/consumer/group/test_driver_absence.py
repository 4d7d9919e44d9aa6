"""A member whose application comes back just when its request is given up for its absence."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients.consumer.group.classic.assignors import CooperativeStickyAssignor
from pyk.clients.consumer.group.classic.membership import ClassicMembership
from pyk.clients.consumer.group.classic.requests import MemberOptions as ClassicOptions
from pyk.clients.consumer.group.membership_driver import MembershipDriver
from pyk.clients.consumer.group.modern.heartbeats import MemberOptions
from pyk.clients.consumer.group.modern.membership import ModernMembership
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.protocol.messages.sync_group import SyncGroupRequest
from pyk.runtime.virtual_time import eventually, virtual_time
from support.engine_parts import running
from support.scripted_broker import SILENCE
from support.scripted_groups import ClassicGroup, HeartbeatGroup

P0 = TopicPartition("orders", 0)


def modern() -> ModernMembership:
    options = MemberOptions(group_id="g", member_id="me", max_poll_interval=6.0)
    return ModernMembership(options, lambda: 0.5, 0.0)


def classic() -> ClassicMembership:
    options = ClassicOptions(
        group_id="g",
        assignors=(CooperativeStickyAssignor(),),
        heartbeat_interval=1.0,
        max_poll_interval=6.0,
    )
    return ClassicMembership(options, lambda: 0.5, 0.0)


class ComesBack:
    """Tells that a member is absent; its application comes back in the next turn of the loop."""

    def __init__(self, membership: Any, come_back: Any) -> None:
        self._is_absent = membership.is_absent
        self._come_back = come_back
        self.has_come = False

    def __call__(self, now: float) -> bool:
        is_absent: bool = self._is_absent(now)
        if is_absent and not self.has_come:
            self.has_come = True
            asyncio.get_running_loop().call_soon(self._come_back)
        return is_absent


@pytest.mark.parametrize(
    ("group_of", "membership_of", "request_type"),
    [
        (HeartbeatGroup, modern, ConsumerGroupHeartbeatRequest),
        (ClassicGroup, classic, SyncGroupRequest),
    ],
    ids=["consumer", "classic"],
)
@virtual_time
async def test_the_member_asks_again(group_of, membership_of, request_type):
    async with running(nodes=3) as (cluster, client):
        cluster.add_topic("orders", [1, 2, 3])
        group = group_of(cluster)
        group.membership = membership = membership_of()
        group.assign(P0)
        events: list[Any] = []
        driver = MembershipDriver(
            client,
            "g",
            membership,
            on_event=events.append,
            on_failure=lambda: None,
            activity=lambda: 1,
            look_interval=1.0,
        )
        client.topics.use("subscription", {"orders"})
        answer = cluster._handlers[request_type.api_key]
        cluster.on(request_type, SILENCE)

        requests: list[Any] = []

        def note_and_answer(request: Any) -> Any:
            requests.append(request)
            return answer(request)

        def come_back() -> None:
            driver.notice_application()
            cluster.on(request_type, note_and_answer)

        membership.is_absent = ComesBack(membership, come_back)
        driver.subscribe({"orders"})
        client.supervisor.spawn("drive", driver.run())
        await eventually(lambda: membership.is_absent.has_come, timeout=30)

        async def poll() -> None:
            while True:
                driver.notice_application()
                await asyncio.sleep(1)

        client.supervisor.spawn("poll", poll())
        await eventually(lambda: bool(events), timeout=30)
        assert membership.error is None
        if group_of is HeartbeatGroup:  # nothing of the lost heartbeat counts as told
            assert requests[0].subscribed_topic_names == ["orders"]
