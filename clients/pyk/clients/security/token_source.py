"""Keep a token while it is valid, and fetch the next one before it ends.

Logins ask for a token, on event loops and in threads. The first that finds it due fetches the next
one; the others wait for that. While the old token is valid, a failure to replace it is a warning.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NoReturn

from pyk.clients.security.exchange import CredentialsError
from pyk.clients.security.token_answers import Token, TokenError
from pyk.clients.security.token_life import RefreshWindow, Retries
from pyk.runtime import slotted
from pyk.runtime.clock import Clock
from pyk.runtime.secret import Secret

log = logging.getLogger(__name__)

# How long a token is used after an attempt to replace it failed, and at least if brokers refuse it.
REFRESH_BACKOFF = 10.0
# How long a login waits for the next token while the old one is valid.
PATIENCE = 2.0


@slotted.frozen
class HeldToken:
    """A token in use; times are in seconds of the epoch, as its own end is."""

    value: Secret
    fetched_at: float
    refresh_at: float
    expires_at: float


class TokenSource:
    """The tokens that ``fetch`` returns, each until shortly before its end.

    It may be called from any thread. ``wait`` takes seconds. A login on an event loop waits
    ``patience`` seconds for the next token while the old one is valid.
    """

    def __init__(
        self,
        fetch: Callable[[], Token],
        window: RefreshWindow,
        retries: Retries,
        *,
        clock: Clock,
        random: random.Random,
        wait: Callable[[float], object],
        patience: float = PATIENCE,
    ) -> None:
        self._fetch = fetch
        self._window = window
        self._retries = retries
        self._clock = clock
        self._random = random
        self._wait = wait
        self._patience = patience
        self._process = os.getpid()
        self._lock = threading.Lock()
        """Guards ``_held`` and ``_coming``."""
        self._held: HeldToken | None = None
        self._coming: Future[HeldToken | TokenError] | None = None
        self.problem = ""
        """Why the last fetch failed, while another one is to follow."""

    def __deepcopy__(self, memo: object) -> TokenSource:
        return self  # copies of credentials share their tokens

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("tokens cannot be pickled: create their credentials in each process")

    def token(self) -> Secret:
        """Return a token that is valid now; it may block.

        Raises :class:`CredentialsError` if there is none.
        """
        held, coming, is_mine = self._begin()
        if coming is None:
            return _value_of(held)
        if is_mine:
            self._complete(coming, held)
        return _value_of(coming.result())

    async def token_on_loop(self) -> Secret:
        """Return the same without blocking an event loop.

        The fetch has a thread of its own, not one of the loop's: those look up names of brokers,
        and the end of a program waits for them.
        """
        held, coming, is_mine = self._begin()
        if coming is None:
            return _value_of(held)
        if is_mine:
            self._complete_in_thread(coming, held)
        is_valid = held is not None and self._now() < held.expires_at
        try:
            async with asyncio.timeout(self._patience if is_valid else None):
                return _value_of(await _told_on_loop(coming))
        except TimeoutError:
            # A session would be lost if its renewal waited for a provider that does not answer.
            return _value_of(held)

    @property
    def is_fetching(self) -> bool:
        """Whether the next token is being fetched."""
        return self._coming is not None

    def forget(self, value: Secret) -> None:
        """Replace a token before it is used again, because a broker has refused it.

        One that has just been fetched stays for a while: the provider is not asked with each login.
        """
        self._notice_fork()
        with self._lock:
            held = self._held
            if held is None or held.value != value:
                return
            due_at = held.fetched_at + REFRESH_BACKOFF
            is_due = self._now() >= due_at
            refresh_at = min(held.refresh_at, due_at)
            self._held = None if is_due else slotted.evolve(held, refresh_at=refresh_at)

    def _begin(self) -> tuple[HeldToken | None, Future[HeldToken | TokenError] | None, bool]:
        """Return the token in use, the next one where it is due, and whether to fetch that."""
        self._notice_fork()
        with self._lock:
            held = self._held
            if held is not None and self._now() < held.refresh_at:
                return held, None, False
            is_mine = self._coming is None
            self._coming = self._coming or Future()
            return held, self._coming, is_mine

    def _notice_fork(self) -> None:
        """Give up what a thread of the parent process was doing when this one was forked."""
        if self._process != os.getpid():
            self._process, self._lock, self._coming = os.getpid(), threading.Lock(), None

    def _complete(self, coming: Future[HeldToken | TokenError], held: HeldToken | None) -> None:
        """Fetch the next token for all that wait for it."""
        outcome: HeldToken | TokenError = TokenError("no token, because of a bug in pyk")
        try:
            outcome = self._next(held)
        except TokenError as error:
            outcome = error
        finally:
            self._finish(coming, outcome)

    def _complete_in_thread(
        self, coming: Future[HeldToken | TokenError], held: HeldToken | None
    ) -> None:
        thread = threading.Thread(
            target=self._complete, args=(coming, held), name="pyk-token", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            self._finish(coming, TokenError("no token: no thread can be started"))

    def _finish(
        self, coming: Future[HeldToken | TokenError], outcome: HeldToken | TokenError
    ) -> None:
        with self._lock:
            if isinstance(outcome, HeldToken):
                self._held = outcome
            self._coming, self.problem = None, ""
        coming.set_result(outcome)

    def _next(self, held: HeldToken | None) -> HeldToken:
        if held is None or self._now() >= held.expires_at:
            return self._fetched_with_retries()
        try:
            return self._fetched()
        except TokenError as error:
            now = self._now()
            if now >= held.expires_at:
                raise
            left = held.expires_at - now
            log.warning("Cannot replace a token that is valid for %.0f s more: %s", left, error)
            return slotted.evolve(held, refresh_at=now + min(REFRESH_BACKOFF, left / 2))

    def _fetched_with_retries(self) -> HeldToken:
        began, attempts = self._clock.now(), 0
        while True:
            try:
                return self._fetched()
            except TokenError as error:
                attempts += 1
                delay = self._retries.wait(attempts, self._clock.now() - began)
                if not error.is_retriable or delay is None:
                    raise
                level = logging.WARNING if attempts == 1 else logging.DEBUG
                text = "No token in attempt %d, next one in %.1f s: %s"
                log.log(level, text, attempts, delay, error)
                self.problem = str(error)
            self._wait(delay)

    def _fetched(self) -> HeldToken:
        asked_at = self._now()
        token = self._fetch()
        refresh_in = self._window.refresh_in(token.lifetime, self._random.random())
        log.debug("Fetched a token that is valid for %.0f s", token.lifetime)
        expires_at = asked_at + token.lifetime
        return HeldToken(token.value, asked_at, asked_at + refresh_in, expires_at)

    def _now(self) -> float:
        return self._clock.time_ms() / 1000


def _value_of(outcome: HeldToken | TokenError | None) -> Secret:
    if isinstance(outcome, HeldToken):
        return outcome.value
    raise CredentialsError(str(outcome))


def _told_on_loop(coming: Future[HeldToken | TokenError]) -> asyncio.Future[HeldToken | TokenError]:
    """Return a future of this loop for the same; if it is cancelled, the other one is not."""
    loop = asyncio.get_running_loop()
    told: asyncio.Future[HeldToken | TokenError] = loop.create_future()

    def tell(outcome: HeldToken | TokenError) -> None:
        if not told.done():
            told.set_result(outcome)

    def when_done(done: Future[HeldToken | TokenError]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed, so nobody waits
            loop.call_soon_threadsafe(tell, done.result())

    coming.add_done_callback(when_done)
    return told
