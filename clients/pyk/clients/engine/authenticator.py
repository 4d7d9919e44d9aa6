"""Drive a login on a connection: send its requests, do its work, note how long it holds."""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
import secrets
from collections.abc import Callable
from typing import Any

from pyk.clients.engine.connection import NEVER, Connection, new_pending
from pyk.clients.engine.login_threads import LoginThreads
from pyk.clients.errors import UnsupportedVersionError
from pyk.clients.security.exchange import Credentials, CredentialsError, Login, Work
from pyk.clients.security.login import log_in
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import UnsupportedVersionError as NoCommonVersionError
from pyk.protocol.schema import Message
from pyk.protocol.versions import ALL_VERSIONS, LAST_VERSION, VersionRange
from pyk.runtime import slotted
from pyk.runtime.clock import Clock

log = logging.getLogger(__name__)

# After a handshake of version 0, tokens would follow as frames of their own (KIP-152).
HANDSHAKE_VERSIONS = VersionRange(1, LAST_VERSION)
NONCE_BYTES = 24


@slotted.frozen
class BegunLogin:
    """A login of which nothing was sent yet."""

    login: Login
    step: Any = slotted.field(repr=False)
    """Its first request."""


class Authenticator:
    """Logs in with ``credentials`` on one connection after the other, all under TLS or none."""

    def __init__(
        self, credentials: Credentials, clock: Clock, random: random.Random, *, has_tls: bool
    ) -> None:
        self.credentials = credentials
        self._has_tls = has_tls
        self._clock = clock
        self._random = random
        self._threads = LoginThreads()

    async def authenticate(
        self, connection: Connection, timeout: float, waits_for: Callable[[Work | None], None]
    ) -> None:
        """Log in within ``timeout`` seconds; raise as :meth:`begin` and :meth:`complete`."""
        async with asyncio.timeout(timeout):
            begun = await self.begin(connection, waits_for)
            await self.complete(connection, begun, waits_for)

    async def begin(
        self, connection: Connection, waits_for: Callable[[Work | None], None]
    ) -> BegunLogin:
        """Do the work in front of the first request, such as fetching a token.

        Nothing is sent: a session that the connection has goes on. ``waits_for`` is told when the
        login waits for work of the client itself, and when it does not any more. Raises
        :class:`AuthenticationError`.
        """
        # Unpredictable, as SCRAM needs it; so not from the random numbers of the client.
        nonce = secrets.token_urlsafe(NONCE_BYTES)
        node = connection.node
        login = log_in(self.credentials, nonce, str(node), node.host, has_tls=self._has_tls)
        return BegunLogin(login, await self._worked(login, next(login), waits_for))

    async def complete(
        self, connection: Connection, begun: BegunLogin, waits_for: Callable[[Work | None], None]
    ) -> None:
        """Log in; again, if the connection has been logged in before.

        From the first request until the end, the connection is paused. Raises
        :class:`AuthenticationError`, or what ended the connection.
        """
        login, step, asked_at = begun.login, begun.step, self._clock.now()
        try:
            while not isinstance(step, float):
                asked_at = self._clock.now()
                answer = await self._answer(connection, step)
                step = await self._worked(login, _next_step(login, answer), waits_for)
        finally:
            connection.is_paused = False
        log.debug(
            "Logged in to %s with %s for %s",
            connection.node,
            self.credentials.mechanism,
            f"{step:g} s" if step else "as long as the connection lasts",
        )
        # The session begins before the answer is here, which may be late: so count from the token.
        connection.session_began(asked_at, step, self._random.random())

    async def _worked(
        self, login: Login, step: Any, waits_for: Callable[[Work | None], None]
    ) -> Any:
        """Return the next request of a login, or how it ends, once its work is done."""
        while isinstance(step, Work):
            waits_for(step)  # also after a timeout, to say who was waited for
            try:
                outcome = await self._done(step)
            except CredentialsError as error:
                step = login.throw(error)
            else:
                step = _next_step(login, outcome)
            waits_for(None)
        return step

    async def _answer(self, connection: Connection, request: Message) -> Any:
        """Return the response to a request of the login, which goes before all that waits."""
        connection.is_paused = True
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        is_handshake = request.api_key is ApiKey.SASL_HANDSHAKE
        versions = HANDSHAKE_VERSIONS if is_handshake else ALL_VERSIONS
        pending = new_pending(request, answer, versions, 0.0, NEVER)
        try:
            version = connection.version_of(pending)
        except NoCommonVersionError as error:
            raise UnsupportedVersionError(
                f"{connection.node} is older than Kafka 1.0, or has no SASL: {error}"
            ) from error
        connection.write(pending, version, self._clock.now())
        return await answer

    async def _done(self, work: Work) -> Any:
        outcome = await self._threads.call(work.function) if work.is_long else work.function()
        return await outcome if inspect.isawaitable(outcome) else outcome


def _next_step(login: Login, outcome: Any) -> Any:
    """Return what a login wants done next; or, at its end, how many seconds the session holds."""
    try:
        return login.send(outcome)
    except StopIteration as end:
        return end.value
