"""Drive a member of a group: send what it wants sent, and tell it what came of that.

Its requests have a connection of their own (the lane ``group``), where a JoinGroup may wait for
other members as long as it likes. Nothing here waits for the application: what it has to do for a
rebalance is left in ``events``, and the heartbeats go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Any

from pyk.clients.consumer.group.actions import (
    Action,
    ApplicationEvent,
    Assign,
    Divide,
    ForgetCoordinator,
    Heartbeat,
    Join,
    Leave,
    Lose,
    Revoke,
    Sync,
    Wait,
)
from pyk.clients.consumer.group.classic.member_state import MemberState
from pyk.clients.consumer.group.classic.membership import NO_GENERATION, Membership
from pyk.clients.consumer.group.classic.requests import MemberOptions
from pyk.clients.consumer.group.classic.subscription import TopicLayout
from pyk.clients.consumer.group.classic.topic_layouts import TopicLayouts
from pyk.clients.engine.client import Client
from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import KafkaError, KafkaTimeoutError, RequestTimeoutError
from pyk.clients.offsets import Identity

log = logging.getLogger(__name__)

# The first version that takes the reason why, and several members.
FIRST_LEAVE_VERSION = 3
LEAVE_SECONDS = 3.0
LAYOUT_SECONDS = 5.0
FIND_SECONDS = 5.0
REBALANCING = frozenset(
    {MemberState.REVOKING, MemberState.JOINING, MemberState.DIVIDING, MemberState.SYNCING}
)


class GroupCoordinator:
    """Runs the membership of one consumer in its group.

    ``on_event`` is told, on the loop, what the application has to hear or do; ``on_failure`` is
    called when the membership has an ``error``. ``activity`` returns a number that grows whenever
    the application comes for records, None while it waits for some.
    """

    def __init__(
        self,
        client: Client,
        options: MemberOptions,
        on_event: Callable[[ApplicationEvent], None],
        on_failure: Callable[[], None],
        activity: Callable[[], int | None],
    ) -> None:
        self._client = client
        self._options = options
        self._on_event = on_event
        self._on_failure = on_failure
        self._activity = activity
        self._seen_activity = -1
        self._asking: asyncio.Task[Any] | None = None
        self._wake = asyncio.Event()
        self._layouts = TopicLayouts()
        self.membership = Membership(options, client.random.random, client.clock.now())
        client.add_metadata_listener(self._metadata_changed)

    # -- what the consumer asks --------------------------------------------------------------------

    def subscribe(self, topics: Collection[str]) -> None:
        """Want these topics from now on."""
        self.membership.subscribe(frozenset(topics), self._client.clock.now())
        self._wake.set()

    def revoked(self, event: Revoke) -> None:
        """Take note that the application has given up the partitions of an event."""
        self.membership.revoked(event)
        self._wake.set()

    def notice_application(self) -> None:
        """Take note that the application has come for records."""
        self.membership.application_polled(self._client.clock.now())
        self._wake.set()

    def retry(self) -> None:
        """Try to join once more after an error."""
        self.membership.retry(self._client.clock.now())
        self._wake.set()

    def identity(self) -> Identity | None:
        """Return as whom to commit, None before the first generation and between lives."""
        if self.membership.state is MemberState.UNSUBSCRIBED:
            return Identity()
        if self.membership.generation_id == NO_GENERATION:
            return None
        return Identity(
            self.membership.generation_id,
            self.membership.member_id,
            self._options.group_instance_id,
        )

    @property
    def is_rebalancing(self) -> bool:
        """Tell whether the member is on its way into another generation."""
        return self.membership.state in REBALANCING

    def end_membership(self, reason: str) -> Leave | None:
        """Be no member any more at once; return what is left to tell the coordinator."""
        action = self.membership.leave(reason)
        if self._asking is not None:
            self._asking.cancel()
        self._wake.set()
        return action

    async def tell_coordinator(self, action: Leave | None, deadline: float) -> None:
        """Tell the coordinator that the member has left, if there is time.

        A caller that is cancelled meanwhile does not keep it from being told.
        """
        if action is not None:
            leaving = self._client.supervisor.spawn(
                "leave group", self._send_leave(action, deadline)
            )
            await asyncio.wait({leaving})

    # -- the loop ----------------------------------------------------------------------------------

    async def run(self) -> None:
        while True:
            self._observe_application()
            self._forget_topics()
            action = self.membership.next_action(self._client.clock.now())
            if isinstance(action, Wait):
                await self._wait_until(action.until)
            else:
                await self._do(action)
                self._tell_failures()

    def _tell_failures(self) -> None:
        """Let the log and the application know what keeps the member out of its group."""
        now, membership = self._client.clock.now(), self.membership
        warning = membership.failures.take_warning(now)
        if warning is not None:
            log.warning(
                "Cannot join group %s for %.0f seconds, will go on trying: %s",
                self._options.group_id,
                membership.failures.seconds(now),
                warning,
            )
        if membership.error is not None or membership.failures.must_raise(now):
            self._on_failure()

    def _observe_application(self) -> None:
        activity = self._activity()
        if activity is None or activity != self._seen_activity:
            self._seen_activity = -1 if activity is None else activity
            self.membership.application_polled(self._client.clock.now())

    async def _wait_until(self, until: float | None) -> None:
        try:
            async with asyncio.timeout_at(until):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    async def _do(self, action: Action) -> None:
        match action:
            case Join():
                response = await self._request(action.request, action.timeout_ms)
                if response is not None:
                    self.membership.joined(response, self._client.clock.now())
            case Sync():
                response = await self._request(action.request, action.timeout_ms)
                if response is not None:
                    self.membership.synced(response, self._client.clock.now())
            case Heartbeat():
                response = await self._request(action.request, action.timeout_ms)
                if response is not None:
                    self.membership.heartbeat_answered(response, self._client.clock.now())
            case Divide():
                self.membership.divided(await self._find_layouts(action))
            case ForgetCoordinator():
                self._client.forget_coordinator(CoordinatorType.GROUP, self._options.group_id)
            case Leave():
                deadline = self._client.clock.now() + LEAVE_SECONDS
                leaving = self._send_leave(action, deadline)
                self._client.supervisor.spawn("leave group", leaving)
            case Assign() | Revoke() | Lose():
                self._on_event(action)

    async def _request(self, request: Any, timeout_ms: int) -> Any | None:
        """Return the coordinator's answer, None if there is none or it is not wanted any more."""
        state = self.membership.state
        asking = self._asking = self._client.supervisor.spawn(
            f"ask coordinator of {self._options.group_id}", self._ask(request, timeout_ms)
        )
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=self._options.heartbeat_interval)
                self._observe_application()
                if self.membership.is_absent(self._client.clock.now()):
                    asking.cancel()
        finally:
            asking.cancel()
        if asking.cancelled() or self.membership.state is not state:
            return None
        outcome = asking.result()
        if isinstance(outcome, KafkaError):
            log.info("Coordinator of group %s: %s", self._options.group_id, outcome)
            self.membership.request_failed(outcome, self._client.clock.now())
            return None
        return outcome

    async def _ask(self, request: Any, timeout_ms: int) -> Any:
        deadline = self._client.clock.now() + timeout_ms / 1000
        try:
            group_id = self._options.group_id
            # Not until the deadline: what keeps the coordinator from being found must be told.
            find_deadline = min(deadline, self._client.clock.now() + FIND_SECONDS)
            node = await self._client.coordinator(CoordinatorType.GROUP, group_id, find_deadline)
            left_ms = int((deadline - self._client.clock.now()) * 1000)
            if left_ms <= 0:
                raise RequestTimeoutError(f"no time left to ask the coordinator of {group_id!r}")
            return await self._client.send(node, request, timeout_ms=left_ms, lane="group")
        except KafkaError as error:
            return error

    async def _send_leave(self, action: Leave, deadline: float) -> None:
        """Tell the coordinator on another lane: behind a JoinGroup that waits it would wait too.

        A courtesy, which the session's end makes up for: an outage is not waited out for it.
        """
        deadline = min(deadline, self._client.clock.now() + LEAVE_SECONDS)
        try:
            async with asyncio.timeout_at(deadline):
                group_id = self._options.group_id
                node = await self._client.coordinator(CoordinatorType.GROUP, group_id, deadline)
                await self._client.send(node, action.request, min_version=FIRST_LEAVE_VERSION)
        except (KafkaError, TimeoutError) as error:
            log.info("Could not leave group %s: %s", self._options.group_id, error)

    # -- topics ------------------------------------------------------------------------------------

    async def _find_layouts(self, action: Divide) -> dict[str, TopicLayout]:
        """Return the layouts of the topics that are known, or become known soon."""
        self._watch(action.topics, uses_racks=action.uses_racks)
        deadline = self._client.clock.now() + LAYOUT_SECONDS
        while any(self._client.metadata.topic(topic) is None for topic in action.topics):
            try:
                await self._client.metadata_updated(self._client.metadata.version, deadline)
            except KafkaTimeoutError:
                break
        return self._layouts.observe(self._client.metadata, self._client.clock.now())

    def _watch(self, topics: frozenset[str], *, uses_racks: bool = False) -> None:
        self._client.use_topics("group leader", topics)
        self._layouts.watch(topics, uses_racks=uses_racks)

    def _forget_topics(self) -> None:
        """Stop watching the topics of all members once another member leads the group."""
        if self._layouts.topics and not self.membership.is_leader:
            self._watch(frozenset())

    def _metadata_changed(self, image: MetadataImage) -> None:
        if self.membership.is_leader:
            if image.awaits(self._layouts.topics):
                self._client.request_metadata_update()
            layouts = self._layouts.observe(image, self._client.clock.now())
            self.membership.layouts_changed(layouts)
            self._wake.set()
