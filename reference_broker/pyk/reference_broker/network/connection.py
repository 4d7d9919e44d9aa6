"""One client's connection: take frames, handle requests one after the other, send responses.

Like Kafka, a connection handles its next request when the last is answered. So pipelined requests
stay in order, and a client that does not read its responses is not read from. Waiting frames are
bounded by count and by a budget that all connections share.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from pyk.protocol.connection import Request, RequestError, ServerConnection
from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.protocol.schema import Message
from pyk.reference_broker.deferred import Deferred, HandlerResult
from pyk.reference_broker.errors import ConnectionClosedError
from pyk.reference_broker.security.distinguished_names import UnmappedNameError
from pyk.reference_broker.security.principal import ANONYMOUS, Principal
from pyk.reference_broker.storage.file_records import FileRecords
from pyk.runtime.clock import Clock
from pyk.runtime.network import FileRegion, FrameSizeError, FrameTransport

from .client_mistakes import LOGIN_APIS, explain_frame, explain_request
from .limits import ByteBudget, LogLimiter, Progress
from .listener_settings import ListenerSettings

if TYPE_CHECKING:
    from pyk.reference_broker.handlers.authorization.access import Access
    from pyk.reference_broker.quotas.request_usage import RequestUsage

log = logging.getLogger(__name__)

MAX_WAITING_FRAMES = 16
SECONDS_IN_A_TURN = 0.001
SEND_BUFFER_BYTES = 256 * 1024
SENT_FROM_FILES = (FileRegion, FileRecords)


class RequestHandler(Protocol):
    """The handler that a connection hands requests to."""

    def handle(self, request: Request, connection: Connection) -> HandlerResult:
        """Carry a request out; raise :class:`ConnectionClosedError` to close the connection."""

    def failed(self, request: Request, error: Exception) -> Message | None:
        """Return the response to a request whose own failed, None if none is expected."""

    def requests_begin(self) -> None:
        """Prepare: requests of a connection are going to be handled."""

    def requests_end(self) -> None:
        """Finish: they are handled, and those that do not wait are answered."""

    def refuse(self, error: RequestError) -> Message | None:
        """Return the response to a request that cannot be taken, None to close the connection."""

    def outgoing(self, request: Request, connection: Connection, parts: list[Any]) -> list[Any]:
        """Return the parts of a response as they are to be sent."""


class Connection:
    """Drives one connection; a :class:`~pyk.runtime.network.frame_reader.FrameReceiver`."""

    principal = ANONYMOUS
    """Who the client is, as far as it has shown."""
    local_host = ""
    software = ("unknown", "unknown")
    """Name and version of the client's software, once its ApiVersions request has told them."""
    access: Access | None = None
    """What the client may do; the handler sets it where there is an authorizer."""
    usage: RequestUsage | None = None
    """What the request being handled uses of quotas; the handler sets it."""

    _waiting_for: Deferred[Message] | None = None
    _sending: asyncio.Task[None] | None = None
    _next_turn: asyncio.Handle | None = None
    _throttle: asyncio.TimerHandle | None = None
    _max_waiting_frames = MAX_WAITING_FRAMES

    def __init__(
        self,
        connection_id: int,
        handler: RequestHandler,
        protocol: ServerConnection,
        *,
        host: str,
        settings: ListenerSettings,
        max_frame_bytes: int,
        budget: ByteBudget,
        log_limiter: LogLimiter,
        clock: Clock,
        on_made: Callable[[Connection], None],
        on_lost: Callable[[Connection], None],
    ) -> None:
        self.connection_id = connection_id
        self.host = host
        """The address of the client, also where it has gone before it is connected."""
        self.client_host = f"/{host}"
        """As Kafka shows it for group members: a slash and the address."""
        self.listener = settings.name
        self.sasl = None if settings.new_sasl is None else settings.new_sasl(self._authenticated)
        """The authentication of this connection, None on a listener without SASL."""
        self._settings = settings
        self._max_frame_bytes = max_frame_bytes
        self.transport = _ServerTransport(self, max_frame_bytes=max_frame_bytes)
        self.progress = Progress(clock.now())
        self._handler = handler
        self._protocol = protocol
        self._budget = budget
        self._log_limiter = log_limiter
        self._clock = clock
        self._on_made = on_made
        self._on_lost = on_lost
        self._when_lost: list[Callable[[], object]] = []
        self._frames: deque[memoryview] = deque()
        self._handled_bytes = self._arriving_bytes = self._sending_bytes = 0
        self._is_paused = self._is_silent = False
        if self.sasl is not None:
            self._serve_only_logins()

    def _serve_only_logins(self) -> None:
        self._served = self._protocol.supported
        # Bodies of other requests are not even decoded.
        self._protocol.supported = {key: self._served[key] for key in LOGIN_APIS}
        self.transport.limit_frames(min(self._max_frame_bytes, self._settings.max_login_bytes))
        self._max_waiting_frames = 1  # whoever it is, also while a refusal is held back

    @property
    def port(self) -> str:
        """The port of the client."""
        return self.transport.peer.rpartition(":")[2]

    @property
    def request_bytes(self) -> int:
        """The size of the request that is being handled."""
        return self._handled_bytes

    def when_lost(self, listener: Callable[[], object]) -> None:
        """Call ``listener`` once the connection is closed, by either side."""
        self._when_lost.append(listener)

    def is_overdue(self, now: float, max_idle: float) -> str | None:
        """Return why the connection should be closed, None if it is well."""
        if self._throttle is not None:
            return None  # it has to wait
        return self.progress.overdue(
            now,
            max_idle=max_idle,
            receiving_bytes=self.transport.receiving_bytes,
            is_handling=self._waiting_for is not None,
        )

    def fall_silent(self) -> None:
        """Take and answer nothing more, but keep the connection open."""
        self._is_silent = True

    def close(self) -> None:
        """Close after what was written."""
        self.transport.close()

    # -- what the transport calls ----------------------------------------------------------------

    def connection_made(self) -> None:
        self.local_host = self.transport.local_host
        self._on_made(self)
        if self._settings.principal_of is not None:
            try:
                self.principal = self._settings.principal_of(self.transport.peer_certificate)
            except UnmappedNameError as error:
                self._log_limiter.warning("Closed connection of %s: %s", self.host, error)
                self.transport.abort()

    def frame_arriving(self, held_bytes: int) -> None:
        """Count the memory of the frame that is arriving."""
        self._budget.take(held_bytes - self._arriving_bytes)
        self._arriving_bytes = held_bytes
        if self._budget.is_overdrawn:
            self._log_limiter.warning("Cut off %s: too much is arriving at once", self.host)
            self.transport.abort()

    def frame_received(self, frame: memoryview) -> None:
        self.progress.received(self._clock.now())
        self._budget.give_back(self._arriving_bytes)
        self._arriving_bytes = 0
        self._frames.append(frame)
        self._budget.take(len(frame))

    def frames_received(self) -> None:
        """Handle the frames that have arrived together."""
        if self._frames and self._is_idle:
            self._handle_waiting()
        is_full = len(self._frames) >= self._max_waiting_frames or self._budget.is_exhausted
        if self._frames and is_full:
            self._is_paused = True
            self.transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if isinstance(error, FrameSizeError):
            reason = explain_frame(error, self.listener, self._settings.security_protocol)
            self._log_limiter.warning("Closed connection of %s: %s", self.host, reason)
        if self._waiting_for is not None:
            self._waiting_for.abandon()
        if self._sending is not None:
            self._sending.cancel()
        for timer in (self._next_turn, self._throttle):
            if timer is not None:
                timer.cancel()
        held_bytes = self._arriving_bytes + self._handled_bytes + self._sending_bytes
        self._budget.give_back(held_bytes + sum(map(len, self._frames)))
        self._frames.clear()
        self._arriving_bytes = self._handled_bytes = self._sending_bytes = 0
        self._on_lost(self)
        listeners, self._when_lost = self._when_lost, []
        for listener in listeners:
            listener()

    # -- requests --------------------------------------------------------------------------------

    @property
    def _is_idle(self) -> bool:
        return (
            self._waiting_for is None
            and self._sending is None
            and self._next_turn is None
            and self._throttle is None
        )

    def _handle_waiting(self) -> None:
        """Handle requests for a moment, and what still waits then in the next turn of the loop.

        One client may have written any number of them: others have their turn in between.
        """
        until = self._clock.now() + SECONDS_IN_A_TURN
        self._handler.requests_begin()
        try:
            while self._frames and self._is_idle and not self.transport.is_closing:
                frame = self._frames.popleft()
                self._handled_bytes = len(frame)
                if not self._is_silent:
                    self._take(frame)
                if self._is_idle:
                    self._request_done()
                    if self._frames and self._clock.now() >= until:
                        self._continue_in_next_turn()
        finally:
            self._handler.requests_end()
        if self._is_paused and not self._frames:
            self._is_paused = False
            self.transport.resume_reading()

    def _continue_in_next_turn(self) -> None:
        self._next_turn = asyncio.get_running_loop().call_soon(self._resume)

    def _request_done(self) -> None:
        self._budget.give_back(self._handled_bytes)
        self._handled_bytes = 0

    def _take(self, frame: memoryview) -> None:
        try:
            request = self._protocol.receive(frame)
        except RequestError as error:
            self._refuse(error)
            return
        except ProtocolError as error:
            self._fail(error)
            return
        if not self._allows(request.api_key):
            self._fail(self._without_login(request.api_key))
            return
        try:
            result = self._handler.handle(request, self)
        except ConnectionClosedError:
            self.transport.close()
            return
        if self.sasl is not None and self.sasl.is_refused:
            result = self._refuse_login(result)
        if isinstance(result, Deferred):
            self._wait_for(request, result)
        else:
            self._respond(request, result)

    def _wait_for(self, request: Request, result: Deferred[Message]) -> None:
        def answer(response: Message | None) -> None:
            self._waiting_for = None
            if not self._is_silent:
                self._respond(request, response)
            if not (self._is_idle and was_waiting):
                return
            if self._frames or self._is_paused:
                # Not now: the code that completes the response may be in the middle of something.
                self._continue_in_next_turn()
            else:
                self._request_done()

        was_waiting = False
        self._waiting_for = result
        result.when_done(answer)
        result.when_failed(lambda error: answer(self._handler.failed(request, error)))
        was_waiting = True

    # -- quotas ----------------------------------------------------------------------------------

    def _charge(self, request: Request, response: Message | None) -> None:
        """Charge a request to the quotas of its client, and throttle the client if it must wait.

        It is answered at once, and the next request is handled when the time is over (KIP-219).
        """
        from pyk.reference_broker.quotas.request_usage import set_throttle_time

        usage, self.usage = self.usage, None
        assert usage is not None
        throttle_ms = usage.answered(request.api_key, has_response=response is not None)
        if throttle_ms > 0:
            set_throttle_time(response, throttle_ms)
            # It is read from until it sends: otherwise nobody would notice its end.
            self._max_waiting_frames = 1
            loop = asyncio.get_running_loop()
            self._throttle = loop.call_later(throttle_ms / 1000, self._end_throttle)

    def _end_throttle(self) -> None:
        self._throttle = None
        self._max_waiting_frames = MAX_WAITING_FRAMES
        self.progress.resumed(self._clock.now())
        self._resume()

    # -- logins ----------------------------------------------------------------------------------

    def _allows(self, api_key: int) -> bool:
        return self.sasl is None or self.sasl.allows(api_key, self._clock.time_ms())

    def _without_login(self, api_key: int) -> ProtocolError:
        has_logged_in = self.sasl is not None and self.sasl.principal is not None
        protocol = self._settings.security_protocol
        reason = explain_request(api_key, self.listener, protocol, has_logged_in=has_logged_in)
        return ProtocolError(reason)

    def _authenticated(self, principal: Principal) -> None:
        self.principal = principal
        self._protocol.supported = self._served
        self.transport.limit_frames(self._max_frame_bytes)
        self._max_waiting_frames = MAX_WAITING_FRAMES

    def _refuse_login(self, result: HandlerResult) -> Deferred[Any]:
        """Return the answer to a failed login: it comes late, and nothing after it."""
        assert self.sasl is not None
        code = getattr(result, "error_code", ErrorCode.SASL_AUTHENTICATION_FAILED)
        told = getattr(result, "error_message", None)
        reason = self.sasl.refusal_reason or told or ErrorCode(code).name
        self._log_limiter.warning("Failed authentication of %s: %s", self.host, reason)
        late: Deferred[Any] = Deferred()
        answered: Deferred[Any] = late.then(lambda response: response)
        answered.when_abandoned(late.abandon)
        loop = asyncio.get_running_loop()
        loop.call_later(self._settings.failed_login_delay, late.complete, result)
        late.when_done(lambda _: self.close())
        return answered

    def _resume(self) -> None:
        self._next_turn = None
        if self._is_idle:
            self._request_done()
            self._handle_waiting()

    def _refuse(self, error: RequestError) -> None:
        may_know = self._allows(error.header.request_api_key)
        response = self._handler.refuse(error) if may_know and error.request is not None else None
        if response is None or error.request is None:
            key = error.header.request_api_key
            self._fail(error if may_know else self._without_login(key))
        else:
            self._respond(error.request, response)

    def _fail(self, error: ProtocolError) -> None:
        self._log_limiter.warning("Closed connection of %s: %s", self.host, error)
        self.transport.abort()

    # -- responses -------------------------------------------------------------------------------

    def _respond(self, request: Request, response: Message | None) -> None:
        if self.transport.is_closing:
            return
        if self.usage is not None:
            self._charge(request, response)
        try:
            parts = self._protocol.respond(request, response)
            parts = self._handler.outgoing(request, self, parts)
        except ConnectionClosedError:
            self.transport.close()
            return
        except Exception:  # whatever it is: the client would wait for a response
            log.exception("Could not send the response to %s", request.api_key.api_name)
            self.transport.abort()
            return
        for part in parts:
            if isinstance(part, SENT_FROM_FILES):
                self._send_in_task(parts)
                return
        self.transport.write(parts)
        if self.transport.unsent_bytes > SEND_BUFFER_BYTES:
            self._send_in_task([])

    def _send_in_task(self, parts: list[Any]) -> None:
        """Send ``parts`` after earlier responses; take the next request when the peer has them.

        Until then, what is in memory counts against the budget.
        """
        unsent = self.transport.unsent_bytes
        self.progress.sending(self._clock.now(), unsent + sum(map(len, parts)))
        files = sum(len(part) for part in parts if isinstance(part, SENT_FROM_FILES))
        self._sending_bytes = unsent + sum(map(len, parts)) - files
        self._budget.take(self._sending_bytes)
        if self._budget.is_overdrawn:
            self._log_limiter.warning("Cut off %s: too much waits to be sent at once", self.host)
            self.transport.abort()
            return
        self._sending = asyncio.get_running_loop().create_task(self._send(parts))

    async def _send(self, parts: list[Any]) -> None:
        try:
            waiting: list[Any] = []
            for part in parts:
                if not isinstance(part, FileRecords):
                    waiting.append(part)
                    continue
                await self.transport.send(waiting)
                waiting = []
                for chunk in part.chunks(SEND_BUFFER_BYTES):
                    await self.transport.send([chunk])
            await self.transport.send(waiting)
        except OSError as error:
            self.transport.abort(error)
        finally:
            self._sending = None
            self._budget.give_back(self._sending_bytes)
            self._sending_bytes = 0
            self.progress.sent(self._clock.now())
        self._resume()


class _ServerTransport(FrameTransport):
    """Tells its connection when it is connected, and how much it holds of an incomplete frame."""

    def __init__(self, connection: Connection, *, max_frame_bytes: int) -> None:
        super().__init__(connection, max_frame_bytes=max_frame_bytes)
        self._connection = connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connection.connection_made()

    def buffer_updated(self, nbytes: int) -> None:
        super().buffer_updated(nbytes)
        self._connection.frames_received()

    def get_buffer(self, sizehint: int) -> memoryview:
        buffer = super().get_buffer(sizehint)
        if self.held_bytes:
            self._connection.frame_arriving(self.held_bytes)
        return buffer
