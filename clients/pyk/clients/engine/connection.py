"""One connection to one broker: write requests, match responses, end in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol, final

from pyk.clients.engine.metadata import Node
from pyk.clients.engine.protocol_sniffer import FIRST_CORRELATION_ID, explain
from pyk.clients.engine.reconnect import times_of_session
from pyk.clients.errors import (
    ClosedError,
    KafkaError,
    MalformedResponseError,
    NodeDisconnectedError,
    RequestTimeoutError,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import ClientConnection, OutgoingRequest, expects_response
from pyk.protocol.errors import ProtocolError
from pyk.protocol.negotiation import TRANSACTION_V2, PeerVersions
from pyk.protocol.schema import Message
from pyk.protocol.throttling import client_must_wait
from pyk.protocol.versions import VersionRange
from pyk.runtime import slotted
from pyk.runtime.clock import Clock
from pyk.runtime.network import FrameSizeError, FrameTransport

log = logging.getLogger(__name__)

# The longest throttle time that is believed; a broker that asks for more is ignored.
LONGEST_THROTTLE_MS = 60_000
LONGEST_CAUSE = 256
_DEBUG = logging.DEBUG
NEVER = float("inf")


@final
@slotted.frozen
class VersionedRequest:
    """A request whose content depends on its version."""

    request_class: type[Message]
    build: Callable[[int], Message]

    @property
    def api_key(self) -> int:
        return self.request_class.api_key


class ResponseWaiter(Protocol):
    """The waiter for the outcome of a request: a future, or an object with these methods of one.

    They are called as soon as the outcome is known: an object that is not a future may send
    requests when it takes a result, but not when it takes an exception, which may be one of many.
    """

    def done(self) -> bool:
        """Return whether the waiter has stopped waiting."""

    def set_result(self, result: Any, /) -> None:
        """Take the response, None for a request without one (acks 0)."""

    def set_exception(self, exception: Exception, /) -> None:
        """Learn that there is no response."""


class PendingRequest:
    """A request, from the call until its outcome is known."""

    __slots__ = ("deadline", "request", "timeout", "waiter", "within")

    def _begin(
        self,
        request: OutgoingRequest | VersionedRequest,
        waiter: ResponseWaiter,
        within: VersionRange,
        timeout: float,
        deadline: float,
    ) -> None:
        self.request = request
        self.waiter = waiter
        self.within = within
        self.timeout = timeout
        self.deadline = deadline
        """The time of the event loop's clock at which it has taken ``timeout`` seconds."""

    @property
    def api_key(self) -> ApiKey:
        return ApiKey(self.request.api_key)

    def message(self, version: int) -> OutgoingRequest:
        """Return the request as it is sent in a version."""
        request = self.request
        # Not isinstance, which would ask the type of every other request for its bases.
        return request.build(version) if type(request) is VersionedRequest else request

    def settle(self, reply: Any) -> None:
        """Hand the response to its waiter, if it still waits."""
        if not self.waiter.done():
            self.waiter.set_result(reply)

    def fail(self, error: Exception) -> None:
        """Tell the waiter that there will be no response."""
        if not self.waiter.done():
            self.waiter.set_exception(error)


def new_pending(
    request: OutgoingRequest | VersionedRequest,
    waiter: ResponseWaiter,
    within: VersionRange,
    timeout: float,
    deadline: float,
) -> PendingRequest:
    """Return a request to be sent; compiled, no arguments are parsed on the way."""
    pending = PendingRequest.__new__(PendingRequest)
    pending._begin(request, waiter, within, timeout, deadline)
    return pending


class Connection:
    """A connection that is established; requests are answered in their order.

    ``on_end`` is called once, when the connection has ended for whatever reason: all requests in
    flight have failed by then, and no more can be sent. ``lost`` is done when the socket is really
    closed. ``on_first_response`` is called once, at the first response after those that established
    the connection.
    """

    def __init__(
        self,
        node: Node,
        clock: Clock,
        *,
        client_id: str,
        max_response_bytes: int,
    ) -> None:
        self.node = node
        self.versions = PeerVersions({})
        self.last_used = clock.now()
        self.throttled_until = 0.0
        self.was_of_use = False
        self.authenticate_at = NEVER
        """When its session should be authenticated again (KIP-368)."""
        self.session_ends_at = NEVER
        self.is_paused = False
        """Whether nothing may be written but a login."""
        self.on_first_response: Callable[[], None] | None = None
        self.on_end: Callable[[Connection], None] | None = None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport = FrameTransport(self, max_frame_bytes=max_response_bytes)
        # By API key, the version of the last request: most requests of an API need the same range.
        self._chosen_versions: dict[int, tuple[VersionRange, int]] = {}
        self._now = clock.now
        self._protocol = ClientConnection(client_id, first_correlation_id=FIRST_CORRELATION_ID)
        self._reason: KafkaError | None = None

    @property
    def in_flight_count(self) -> int:
        """Return how many requests are in flight."""
        return self._protocol.in_flight_count

    @property
    def is_open(self) -> bool:
        return not (self.transport.is_closing or self._reason is not None or self.lost.done())

    def in_flight(self) -> list[PendingRequest]:
        """Return the requests in flight, oldest first."""
        return self._protocol.contexts()

    def version_of(self, pending: PendingRequest) -> int:
        """Return the version in which to send a request; raises as ``PeerVersions.version_for``."""
        within, api_key = pending.within, pending.request.api_key
        chosen = self._chosen_versions.get(api_key)
        if chosen is None or chosen[0] is not within:
            # ``within`` says which versions a transaction allows: what the cluster has finalized
            # since it connected is not known to this connection.
            chosen = (
                within,
                self.versions.version_for(
                    pending.api_key, within, transaction_version=TRANSACTION_V2
                ),
            )
            self._chosen_versions[api_key] = chosen
        return chosen[1]

    def write(self, pending: PendingRequest, version: int, now: float) -> None:
        """Send a request ``now``; settle one that is never answered (acks 0) with None.

        A request that its version cannot carry fails, with the caller's error. So does one for a
        connection that has ended, as no response to it would come.
        """
        if self._reason is not None:
            pending.fail(copy_to_raise(self._reason))
            return
        try:
            message = pending.message(version)
            _, parts = self._protocol.send(message, version, context=pending)
        except (ValueError, TypeError, ProtocolError) as error:
            pending.fail(error)
            return
        self.transport.write(parts)
        self.last_used = now
        if log.isEnabledFor(_DEBUG):
            log.debug("Sent %s v%d to %s", pending.api_key.api_name, version, self.node)
        if not expects_response(message):
            pending.settle(None)

    def session_began(self, at: float, lifetime: float, chance: float) -> None:
        """Take note that a session holds for ``lifetime`` seconds, 0.0 without a limit."""
        self.authenticate_at, self.session_ends_at = times_of_session(at, lifetime, chance)

    async def drain(self) -> None:
        """Wait until the broker has taken enough of what was written, or is gone."""
        await self.transport.drain()

    def time_out(self, pending: PendingRequest) -> None:
        """End the connection because of a request that was not answered in time.

        Responses come in order, so no later request would be answered either.
        """
        what = pending.api_key.api_name
        text = f"{self.node} did not answer {what} within {pending.timeout:g} s"
        pending.fail(RequestTimeoutError(text, node_id=self.node.node_id))
        self.abort(
            NodeDisconnectedError(f"{text}: closed its connection", node_id=self.node.node_id)
        )

    def close(self, reason: KafkaError | None = None) -> None:
        """Send what was written, then end; requests in flight fail with ``reason``."""
        self._end(reason or ClosedError(f"closed the connection to {self.node}"))
        self.transport.close()

    def abort(self, reason: KafkaError) -> None:
        """End at once; requests in flight fail with ``reason``."""
        self._end(reason)
        self.transport.abort()

    # -- what the transport calls ------------------------------------------------------------------

    def frame_received(self, frame: memoryview) -> None:
        """Match a frame with the request it answers."""
        try:
            reply = self._protocol.receive(frame)
        except ProtocolError as error:
            self._end(error)
            self.transport.abort()
            return
        self.last_used = self._now()
        if not self.was_of_use:
            self._note_use()
        pending: PendingRequest = reply.context
        throttle_time_ms = getattr(reply.response, "throttle_time_ms", 0)
        if throttle_time_ms > 0 and client_must_wait(pending.api_key, reply.version):
            wait = min(throttle_time_ms, LONGEST_THROTTLE_MS) / 1000
            self.throttled_until = max(self.throttled_until, self.last_used + wait)
        pending.settle(reply.response)

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the requests in flight, and report the end."""
        self._end(error)
        if not self.lost.done():
            self.lost.set_result(None)

    @property
    def reason(self) -> KafkaError | None:
        """Return why the connection has ended."""
        return self._reason

    def _note_use(self) -> None:
        """Report once that the connection works beyond its handshake."""
        if self.on_first_response is not None:
            self.was_of_use = True
            self.on_first_response()

    def _end(self, error: Exception | None) -> None:
        """Fail the requests in flight, with the first error as the reason."""
        if self._reason is not None:
            return
        abandoned: list[PendingRequest] = self._protocol.abandon()
        self._reason = self._explained(error, abandoned)
        for pending in abandoned:
            pending.fail(copy_to_raise(self._reason))
        if self.on_end is not None:
            self.on_end(self)

    def _explained(self, error: Exception | None, abandoned: list[PendingRequest]) -> KafkaError:
        if isinstance(error, KafkaError):
            return error
        during = f" instead of answering {abandoned[0].api_key.api_name}" if abandoned else ""
        if isinstance(error, ProtocolError | FrameSizeError):
            cause = explain(error) if isinstance(error, FrameSizeError) else str(error)
            explained: KafkaError = MalformedResponseError(
                f"{self.node} broke the protocol{during}: {cause[:LONGEST_CAUSE]}",
                node_id=self.node.node_id,
            )
        else:
            cause = f": {error}" if error is not None else ""
            explained = NodeDisconnectedError(
                f"{self.node} closed the connection{during}{cause}", node_id=self.node.node_id
            )
        explained.__cause__ = error
        return explained
