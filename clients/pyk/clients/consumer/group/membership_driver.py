"""Drive a member of a group: send its requests, and report their outcome to it.

Its requests have a connection of their own (the lane ``group``), where a JoinGroup may wait long
for other members without delaying anything else. Nothing here waits for the application: its part
in a rebalance is left in ``events``, and the heartbeats go on. Nothing here knows which protocol
the group speaks.
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
    ForgetCoordinator,
    Leave,
    Lose,
    Revoke,
    Send,
    Wait,
)
from pyk.clients.consumer.group.membership import Membership, MetadataNeeds
from pyk.clients.engine.client import Client
from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import KafkaError, RequestTimeoutError

log = logging.getLogger(__name__)

METADATA_USER = "group membership"
LEAVE_SECONDS = 3.0
FIND_SECONDS = 5.0


class MembershipDriver:
    """Runs the membership of one consumer in its group.

    ``on_event`` is called on the loop with events for the application; ``on_failure`` is
    called when the membership has an ``error``. ``activity`` returns a number that grows whenever
    the application asks for records, None while it waits for some; it is checked every
    ``look_interval`` seconds while a request is in flight.
    """

    def __init__(
        self,
        client: Client,
        group_id: str,
        membership: Membership,
        *,
        on_event: Callable[[ApplicationEvent], None],
        on_failure: Callable[[], None],
        activity: Callable[[], int | None],
        look_interval: float,
    ) -> None:
        self.membership = membership
        self._client = client
        self._group_id = group_id
        self._on_event = on_event
        self._on_failure = on_failure
        self._activity = activity
        self._look_interval = look_interval
        self._seen_activity = -1
        self._needs = MetadataNeeds()
        self._asking: asyncio.Task[Any] | None = None
        self._wake = asyncio.Event()
        client.metadata_keeper.add_listener(self._metadata_changed)

    # -- what the consumer asks --------------------------------------------------------------------

    def subscribe(self, topics: Collection[str], pattern: str | None = None) -> None:
        """Want these topics, and those that match a pattern of RE2, from now on."""
        self.membership.subscribe(frozenset(topics), self._client.clock.now(), pattern)
        self._wake.set()

    def revoked(self, event: Revoke) -> None:
        """Report that the application has given up the partitions of an event."""
        self.membership.revoked(event)
        self._wake.set()

    def notice_application(self) -> None:
        """Report that the application has asked for records."""
        self.membership.application_polled(self._client.clock.now())
        self._wake.set()

    def rejoin(self, reason: str) -> bool:
        """Ask for a rebalance; return False if the protocol leaves that to the coordinator."""
        self._wake.set()
        return self.membership.rejoin(reason)

    def retry(self) -> None:
        """Try to join once more after an error."""
        self.membership.retry(self._client.clock.now())
        self._wake.set()

    def end_membership(self, reason: str, leave_group: bool | None = None) -> Leave | None:
        """End the membership at once; return what is left to tell the coordinator."""
        action = self.membership.leave(reason, leave_group)
        if self._asking is not None:
            self._asking.cancel()
        self._wake.set()
        return action

    async def tell_coordinator(self, action: Leave | None, deadline: float) -> None:
        """Tell the coordinator that the member has left, if there is time.

        It is told even if the caller is cancelled meanwhile.
        """
        if action is not None:
            leaving = self._client.supervisor.spawn(
                "leave group", self._send_leave(action, deadline)
            )
            await asyncio.wait({leaving})

    # -- the loop ----------------------------------------------------------------------------------

    async def run(self) -> None:
        self._metadata_changed(self._client.metadata)
        while True:
            self._observe_application()
            action = self.membership.next_action(self._client.clock.now())
            self._meet_needs()
            if isinstance(action, Wait):
                await self._wait_until(action.until)
            else:
                await self._do(action)
                self._tell_failures()

    def _tell_failures(self) -> None:
        """Log, and tell the application, why the member is not in its group."""
        now, membership = self._client.clock.now(), self.membership
        warning = membership.failures.take_warning(now)
        if warning is not None:
            log.warning(
                "Cannot join group %s for %.0f seconds, will go on trying: %s",
                self._group_id,
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
        timer = None if until is None else asyncio.get_running_loop().call_at(until, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()
        self._wake.clear()

    async def _do(self, action: Action) -> None:
        match action:
            case Send():
                await self._send(action)
            case ForgetCoordinator():
                self._client.coordinators.forget(CoordinatorType.GROUP, self._group_id)
            case Leave():
                deadline = self._client.clock.now() + LEAVE_SECONDS
                leaving = self._send_leave(action, deadline)
                self._client.supervisor.spawn("leave group", leaving)
            case Assign() | Revoke() | Lose():
                self._on_event(action)

    # -- requests ----------------------------------------------------------------------------------

    async def _send(self, action: Send) -> None:
        """Send a request, and give the member its response; cancel it if the member must leave."""
        asking = self._asking = self._client.supervisor.spawn(
            f"ask coordinator of {self._group_id}", self._ask(action)
        )
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=self._look_interval)
                self._observe_application()
                if self.membership.is_absent(self._client.clock.now()):
                    asking.cancel()
        finally:
            asking.cancel()
        if asking.cancelled():
            # The application may have come back meanwhile: then the member asks once more.
            abandoned = RequestTimeoutError("given up, as the application was absent")
            self.membership.request_failed(action, abandoned, self._client.clock.now())
            return
        outcome, now = asking.result(), self._client.clock.now()
        if isinstance(outcome, KafkaError):
            log.info("Coordinator of group %s: %s", self._group_id, outcome)
            self.membership.request_failed(action, outcome, now)
        else:
            self.membership.answered(action, outcome, now)

    async def _ask(self, action: Send) -> Any:
        """Return the coordinator's response, or the error that came instead of one."""
        deadline = self._client.clock.now() + action.timeout_ms / 1000
        try:
            # Not until the deadline: the reason why the coordinator is not found must be reported.
            find_deadline = min(deadline, self._client.clock.now() + FIND_SECONDS)
            node = await self._coordinator(find_deadline)
            left_ms = int((deadline - self._client.clock.now()) * 1000)
            if left_ms <= 0:
                raise RequestTimeoutError(
                    f"no time left to ask the coordinator of {self._group_id!r}"
                )
            return await self._client.send(
                node,
                action.request,
                timeout_ms=left_ms,
                min_version=action.min_version,
                lane="group",
            )
        except KafkaError as error:
            return error

    async def _send_leave(self, action: Leave, deadline: float) -> None:
        """Tell the coordinator, on a lane where the request does not wait for a JoinGroup.

        This is a courtesy, because the session ends anyway: it does not wait for an outage to end.
        """
        deadline = min(deadline, self._client.clock.now() + LEAVE_SECONDS)
        try:
            async with asyncio.timeout_at(deadline):
                node = await self._coordinator(deadline)
                await self._client.send(
                    node, action.request, min_version=action.min_version, lane=action.lane
                )
        except (KafkaError, TimeoutError) as error:
            reason = str(error) or f"no answer within {LEAVE_SECONDS:g} s"
            log.info("Could not leave group %s: %s", self._group_id, reason)

    async def _coordinator(self, deadline: float) -> int:
        return await self._client.coordinators.find(CoordinatorType.GROUP, self._group_id, deadline)

    # -- metadata ----------------------------------------------------------------------------------

    def _metadata_changed(self, image: MetadataImage) -> None:
        self.membership.metadata_changed(image, self._client.clock.now())
        if self.membership.needs.is_incomplete:
            self._client.metadata_keeper.request_update()
        self._wake.set()

    def _meet_needs(self) -> None:
        """Request the metadata that the member needs, as long as it needs it.

        While it is incomplete, each response leads to the next request.
        """
        known, self._needs = self._needs, self.membership.needs
        if self._needs.topics != known.topics:
            self._client.topics.use(METADATA_USER, self._needs.topics)
        if self._needs.is_incomplete and not known.is_incomplete:
            self._client.metadata_keeper.request_update()
