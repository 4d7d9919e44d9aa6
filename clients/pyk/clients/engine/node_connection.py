"""The connection to one node on one lane: connects on demand, and again after a failure."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from typing import Literal

from pyk.clients.config import ClientConfig
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.connection import (
    NEVER,
    Connection,
    PendingRequest,
    ResponseWaiter,
    VersionedRequest,
    new_pending,
)
from pyk.clients.engine.dialer import NO_PROOF, Dialer, Progress
from pyk.clients.engine.metadata import Node
from pyk.clients.engine.reachability import Reachability
from pyk.clients.engine.reconnect import ConnectLimiter, Reconnect, next_attempt
from pyk.clients.engine.refusals import Refusals
from pyk.clients.errors import (
    AuthenticationError,
    ClosedError,
    IllegalSaslStateError,
    KafkaError,
    MalformedResponseError,
    NodeDisconnectedError,
    NodeUnavailableError,
    RequestTimeoutError,
    UnsupportedVersionError,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.protocol.connection import OutgoingRequest
from pyk.protocol.errors import UnsupportedVersionError as NoCommonVersionError
from pyk.protocol.negotiation import PeerVersions
from pyk.protocol.versions import VersionRange
from pyk.runtime import slotted
from pyk.runtime.clock import Clock
from pyk.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)

WARNING_INTERVAL_SECONDS = 60.0

Lane = Literal["main", "fetch", "group"]


@slotted.frozen
class Environment:
    """The environment that all connections of a client share."""

    config: ClientConfig
    clock: Clock
    random: random.Random
    dialer: Dialer
    supervisor: Supervisor
    limiter: ConnectLimiter
    reachability: Reachability = slotted.field(factory=Reachability)
    refusals: Refusals = slotted.field(factory=Refusals)


class NodeConnection:
    """Sends requests to a node in the order in which they are given, over one connection at a time.

    A request waits here while the connection is being made, backs off, or is throttled (KIP-219). A
    request that was never written fails with a definite error: it was not applied.
    """

    def __init__(self, node: Node, lane: Lane, shared: Environment) -> None:
        config = shared.config
        self.node = node
        self.lane = lane
        self.progress = Progress(node.address)
        self.versions: PeerVersions | None = None
        self._shared = shared
        self._now = shared.clock.now
        self._reconnect = Reconnect(
            Backoff(config.reconnect_backoff_ms / 1000, config.reconnect_backoff_max_ms / 1000),
            Backoff(
                config.socket_connection_setup_timeout_ms / 1000,
                config.socket_connection_setup_timeout_max_ms / 1000,
            ),
        )
        self._waiting: deque[PendingRequest] = deque()
        self._connection: Connection | None = None
        self._closing: dict[Connection, None] = {}
        self._connecting: asyncio.Task[None] | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._throttle_timer: asyncio.TimerHandle | None = None
        self._login_timer: asyncio.TimerHandle | None = None
        self._logging_in: asyncio.Task[None] | None = None
        self._expiry_timer: asyncio.TimerHandle | None = None
        self._expires_at = NEVER
        """When the timer fires that looks for expired requests."""
        self._closed: ClosedError | None = None
        self._warn_again_at = 0.0

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    @property
    def is_backing_off(self) -> bool:
        """Return whether the node could not be reached lately."""
        return self._connection is None and self._reconnect.failures > 0

    @property
    def throttled_until(self) -> float:
        """Return when the throttle of the node ends (KIP-219)."""
        return 0.0 if self._connection is None else self._connection.throttled_until

    @property
    def load(self) -> int:
        """Return how many requests are pending here or in flight."""
        in_flight = self._connection.in_flight_count if self._connection else 0
        return in_flight + len(self._waiting)

    @property
    def is_unused(self) -> bool:
        """Return whether nothing here is worth keeping."""
        is_idle = self._connection is None and not self._waiting and self._connecting is None
        return is_idle and not self._closing

    def submit(
        self,
        request: OutgoingRequest | VersionedRequest,
        timeout: float,
        within: VersionRange,
        waiter: ResponseWaiter,
    ) -> None:
        """Send a request and tell ``waiter`` its outcome; ``timeout`` is in seconds from now."""
        now, connection = self._now(), self._connection
        pending = new_pending(request, waiter, within, timeout, now + timeout)
        if self._closed is not None:
            pending.fail(copy_to_raise(self._closed))
            return
        if pending.deadline < self._expires_at:
            self._watch_deadline(pending.deadline)
        if (
            connection is not None
            and not self._waiting
            and connection.throttled_until <= now
            and not connection.is_paused
        ):
            self._write(connection, pending, now)
        else:
            self._waiting.append(pending)
            self._proceed()

    async def drain(self) -> None:
        """Wait until the node has taken enough of what was written to it."""
        if self._connection is not None:
            await self._connection.drain()

    def move_to(self, node: Node) -> None:
        """Set the node's address; a connection to an older one ends once nothing is in flight.

        It may work, and lead to another node all the same.
        """
        connection, reconnect = self._connection, self._reconnect
        if node.address != self.node.address:
            reconnect.moved(self._now())
        elif connection is None:
            pass
        elif connection.node.address == node.address:
            connection.node = node
        elif not connection.in_flight_count and reconnect.has_settled(self._now()):
            connection.close(NodeDisconnectedError(f"{self.node} has another address now"))
        self.node = node

    def close(self, reason: ClosedError) -> None:
        """End the connection for good; pending requests fail with ``reason``."""
        self._closed = reason
        self._fail_waiting(reason)
        self._cancel_timers()
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
        for task in (self._connecting, self._logging_in):
            if task is not None:
                task.cancel()
        if self._connection is not None:
            self._connection.close(reason)

    def reconnect(self, reason: KafkaError) -> None:
        """End the present connection, whose requests fail with ``reason``."""
        if self._connection is not None:
            self._connection.abort(reason)

    async def wait_closed(self) -> None:
        """Wait until no socket is open any more, after :meth:`close`."""
        if self._closing:
            await asyncio.wait([connection.lost for connection in self._closing])

    def abort(self) -> None:
        """Close the sockets at once, whatever was not written yet."""
        for connection in list(self._closing):
            connection.abort(ClosedError("closed"))

    # -- sending -----------------------------------------------------------------------------------

    def _proceed(self) -> None:
        """Start what the pending requests need: a connection, or a timer for the end of a
        throttle."""
        if self._connection is None:
            if self._connecting is None and self._closed is None:
                self._begin_connecting()
        elif self._connection.is_paused:
            self._begin_login(self._connection)
        elif self._connection.throttled_until > self._now():
            if self._throttle_timer is None:
                when = self._connection.throttled_until
                loop = asyncio.get_running_loop()
                self._throttle_timer = loop.call_at(when, self._end_throttle)
        else:
            self._flush(self._connection)

    def _flush(self, connection: Connection) -> None:
        while self._waiting and connection.is_open:
            pending = self._waiting.popleft()
            if not pending.waiter.done():  # otherwise it was given up
                self._write(connection, pending, self._now())

    def _write(self, connection: Connection, pending: PendingRequest, now: float) -> None:
        try:
            version = connection.version_of(pending)
        except NoCommonVersionError as error:
            pending.fail(
                UnsupportedVersionError(f"{self.node}: {error}", node_id=self.node.node_id)
            )
            return
        connection.write(pending, version, now)

    def _watch_deadline(self, deadline: float) -> None:
        """Set the timer that looks for expired requests: one timer, not one for each."""
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
        loop = asyncio.get_running_loop()
        self._expiry_timer = loop.call_at(deadline, self._expire, deadline)
        self._expires_at = deadline

    def _expire(self, now: float) -> None:
        """Expire requests, whether a caller still waits for them or not."""
        self._expiry_timer = None
        self._expires_at = NEVER
        connection = self._connection
        if connection is not None:
            overdue = next((p for p in connection.in_flight() if p.deadline <= now), None)
            if overdue is not None:
                connection.time_out(overdue)
        for pending in [pending for pending in self._waiting if pending.deadline <= now]:
            self._waiting.remove(pending)
            pending.fail(self._unsent(pending))
        in_flight = self._connection.in_flight() if self._connection else []
        deadlines = [pending.deadline for pending in (*in_flight, *self._waiting)]
        if deadlines and self._closed is None:
            self._watch_deadline(min(deadlines))

    def _unsent(self, pending: PendingRequest) -> RequestTimeoutError:
        what, node_id = pending.api_key.api_name, self.node.node_id
        text = f"{what} could not be sent to {self.node} within {pending.timeout:g} s"
        text += self._shared.reachability.reason(node_id)
        return RequestTimeoutError(text, node_id=node_id, definite=True)

    def _end_throttle(self) -> None:
        self._throttle_timer = None
        self._proceed()

    def _fail_waiting(self, error: KafkaError) -> None:
        while self._waiting:
            self._waiting.popleft().fail(copy_to_raise(error))

    # -- connecting --------------------------------------------------------------------------------

    def _begin_connecting(self) -> None:
        """Connect in a task of the client; where that ends, so does what waits for it."""
        try:
            self._connecting = self._shared.supervisor.spawn(
                f"connect to {self.node} ({self.lane})", self._connect()
            )
        except ClosedError as error:
            self._fail_waiting(error)

    async def _connect(self) -> None:
        """Connect, or fail the pending requests; go on as long as there are any."""
        shared, reconnect = self._shared, self._reconnect
        try:
            while self._waiting and self._connection is None:
                await asyncio.sleep(reconnect.due_in(shared.clock.now()))
                await asyncio.sleep(shared.limiter.due_in(shared.clock.now()))
                has_worked = self.versions is not None
                self.progress = Progress(self.node.address, has_worked=has_worked)
                timeout = reconnect.setup_timeout_for(shared.random.random())
                try:
                    await self._wait_after_refusals()
                    node = self.node
                    connection = await self._dial(node, timeout)
                except (NodeUnavailableError, AuthenticationError) as error:
                    reconnect.failed(shared.clock.now(), shared.random.random())
                    self._tell_unreachable(error)
                    self._fail_waiting(error)
                else:
                    if node.address == self.node.address:
                        self._take(connection)
                    else:  # the node has moved meanwhile, perhaps to another cluster
                        connection.abort(ClosedError("closed"))
        finally:
            self._connecting = None

    async def _dial(self, node: Node, timeout: float) -> Connection:
        shared = self._shared
        try:
            connection = await shared.dialer.dial(node, timeout, self.progress)
        except AuthenticationError as error:
            shared.refusals.refused(node.node_id, error, shared.clock.now())
            raise
        shared.refusals.accepted(node.node_id)
        return connection

    async def _wait_after_refusals(self) -> None:
        """Wait until the client may try again; raise what another connection met meanwhile."""
        refusals, node_id = self._shared.refusals, self.node.node_id
        count = refusals.count(node_id)
        while (wait := refusals.due_in(node_id, self._now())) > 0:
            await asyncio.sleep(wait)
            error = refusals.error(node_id)
            if error is not None and refusals.count(node_id) > count:
                raise copy_to_raise(error)
        refusals.begin(node_id, self._now())

    def _tell_unreachable(self, error: KafkaError) -> None:
        """Record that the node cannot be reached, and log that now and then."""
        now, node_id = self._now(), self.node.node_id
        is_told = node_id >= 0 and self._shared.reachability.failed(node_id, error, now)
        level = logging.WARNING if is_told else logging.DEBUG
        log.log(level, "Will go on trying: %s", error)

    def _take(self, connection: Connection) -> None:
        if self._closed is not None or not connection.is_open:
            connection.abort(self._closed or ClosedError("closed"))
            self._reconnect.failed(self._now(), self._shared.random.random())
            return
        self._connection = connection
        self._shared.reachability.reached(self.node.node_id)
        self.versions = connection.versions
        connection.on_end = self._ended
        connection.on_first_response = self._reconnect.proved
        self._watch_idleness()
        self._watch_session(connection)
        self._proceed()

    def _ended(self, connection: Connection) -> None:
        self._connection = None
        if not connection.lost.done():
            self._closing[connection] = None
            connection.lost.add_done_callback(lambda _: self._closing.pop(connection, None))
        now, chance = self._now(), self._shared.random.random()
        if connection.was_of_use:
            self._reconnect.lost(now, chance)
        else:
            self._reconnect.failed(now, chance)
        self._cancel_timers()
        self._end_login()
        if self._closed is None:
            level = self._level_of(connection.reason, now)
            log.log(level, "The connection to %s ended: %s", self.node, connection.reason)
            if self._waiting:
                self._proceed()

    def _cancel_timers(self) -> None:
        """Cancel the timers of a connection."""
        for timer in (self._idle_timer, self._throttle_timer, self._login_timer):
            if timer is not None:
                timer.cancel()
        self._idle_timer = self._throttle_timer = self._login_timer = None

    # -- logging in again (KIP-368) ----------------------------------------------------------------

    def _watch_session(self, connection: Connection) -> None:
        """Set the timer for the next login."""
        if connection.authenticate_at < NEVER:
            loop = asyncio.get_running_loop()
            self._login_timer = loop.call_at(
                connection.authenticate_at, self._session_ends, connection
            )

    def _session_ends(self, connection: Connection) -> None:
        """Log in again if the connection is in use; otherwise before the next request."""
        self._login_timer = None
        if connection is not self._connection:
            return
        if connection.in_flight_count or self._waiting:
            self._begin_login(connection)
        else:
            connection.is_paused = True

    def _begin_login(self, connection: Connection) -> None:
        if self._logging_in is not None:
            return
        try:
            self._logging_in = self._shared.supervisor.spawn(
                f"log in to {self.node} again ({self.lane})", self._log_in_again(connection)
            )
        except ClosedError as error:
            self._fail_waiting(error)

    def _end_login(self) -> None:
        """Give up the login of a connection that has ended, so that the next one can have its own.

        If it is the login that ends the connection, it comes to its end by itself.
        """
        task, self._logging_in = self._logging_in, None
        if task is not None and task is not asyncio.current_task(task.get_loop()):
            task.cancel()

    async def _log_in_again(self, connection: Connection) -> None:
        """Log in on a connection that is in use.

        Brokers answer in order, so all that was in flight is answered before the login is: nothing
        is lost if it fails. What was not written waits.
        """
        authenticator, config = self._shared.dialer.authenticator, self._shared.config
        assert authenticator is not None
        waits_for, begun = self.progress.waits_for, None
        timeout_ms = min(config.request_timeout_ms, config.socket_connection_setup_timeout_ms)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                begun = await authenticator.begin(connection, waits_for)
                await authenticator.complete(connection, begun, waits_for)
        except IllegalSaslStateError as error:
            # Brokers take a login once a second only: go on with a new connection.
            connection.close(error)
        except AuthenticationError as error:
            if begun is not None or not self._keeps_session(connection, error):
                self._shared.refusals.refused(self.node.node_id, error, self._now())
                self._tell_unreachable(error)
                self._fail_waiting(error)
                connection.abort(error)
        except (KafkaError, TimeoutError) as error:
            if begun is not None or not self._keeps_session(connection, error):
                silence = NO_PROOF if self.progress.work else "no answer"
                text = f"{self.node} did not let the client log in again: {str(error) or silence}"
                connection.abort(NodeDisconnectedError(text, node_id=self.node.node_id))
        else:
            self._watch_session(connection)
        finally:
            if self._connection is connection:  # otherwise the next one may be logging in
                self._logging_in = None
        if self._connection is connection:
            self._proceed()

    def _keeps_session(self, connection: Connection, error: Exception) -> bool:
        """Return whether a session goes on, though there is nothing to log in with at the moment.

        The broker was not told of the login, so requests are answered until the end of the session.
        The next attempt is made before that.
        """
        now = self._now()
        again_at = next_attempt(now, connection.session_ends_at)
        if again_at is None or not connection.is_open:
            return False
        log.warning(
            "Cannot log in again to %s, whose session ends in %.0f s: %s",
            self.node,
            connection.session_ends_at - now,
            str(error) or NO_PROOF,
        )
        connection.authenticate_at = again_at
        connection.is_paused = False
        self._watch_session(connection)
        return True

    def _level_of(self, reason: KafkaError | None, now: float) -> int:
        """Return at which level to log why a connection ended: what somebody has to mend, such as
        an option that is too small for the node's responses, is a warning once a minute.
        """
        if not isinstance(reason, MalformedResponseError) or now < self._warn_again_at:
            return logging.INFO
        self._warn_again_at = now + WARNING_INTERVAL_SECONDS
        return logging.WARNING

    def _watch_idleness(self) -> None:
        """Close the connection once it was not used for long; look again when that may be."""
        connection = self._connection
        if connection is None:
            return
        max_idle = self._shared.config.connections_max_idle_ms / 1000
        idle_from = connection.last_used + max_idle
        if connection.in_flight_count == 0 and self._now() >= idle_from:
            log.debug("Closing the connection to %s, which is idle", self.node)
            connection.close()
            return
        loop = asyncio.get_running_loop()
        again_at = max(idle_from, self._now() + max_idle / 10)
        self._idle_timer = loop.call_at(again_at, self._watch_idleness)
