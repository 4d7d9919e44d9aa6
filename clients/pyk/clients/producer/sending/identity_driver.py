"""Send the requests of an identity policy to brokers, until it has what it needs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError
from pyk.clients.producer.sending.identity import IdentityPolicy, IdentityRequest

log = logging.getLogger(__name__)


class IdentityAsker(Protocol):
    """Asks brokers what an identity policy needs."""

    @property
    def error(self) -> KafkaError | None:
        """Why it has not been answered yet, None if nothing is asked."""

    def ask_soon(self) -> None:
        """Start to ask a broker if the policy needs something, unless a request is in flight."""


class IdentityDriver:
    """Drives one policy, with at most one request in flight.

    ``on_refusal`` is called with an error that is not retriable, ``on_end`` after each attempt that
    ended with a response or such an error. ``error`` is why there is no producer id yet, while one
    is asked for.
    """

    def __init__(
        self,
        policy: IdentityPolicy,
        client: Client,
        on_refusal: Callable[[KafkaError], object],
        on_end: Callable[[], object],
    ) -> None:
        self.error: KafkaError | None = None
        self._policy = policy
        self._client = client
        self._on_refusal = on_refusal
        self._on_end = on_end
        self._is_asking = False
        self._failures = 0

    def ask_soon(self) -> None:
        """Start to ask a broker if the policy needs something, unless a request is in flight."""
        if self._is_asking:
            return
        request = self._policy.next_request()
        if request is not None:
            self._is_asking = True
            self._client.supervisor.spawn(request.purpose, self._ask(request))

    async def _ask(self, request: IdentityRequest) -> None:
        """Ask until there is a response; batches that wait for it expire by themselves.

        After a refusal it ends, but not before its backoff: the next record asks again.
        """
        client = self._client
        try:
            is_refused = False
            while not is_refused:
                try:
                    timeout = client.config.request_timeout_ms / 1000
                    deadline = client.clock.now() + timeout
                    request.answered(await client.send_to_any(request.message, deadline))
                    self.error, self._failures = None, 0
                    return
                except KafkaError as error:
                    self.error = error
                    is_refused = not error.retriable
                    if is_refused:
                        self._on_refusal(error)
                    log.info("Could not %s: %s", request.purpose, error)
                self._failures += 1
                wait = client.retry_backoff.delay(self._failures, client.random.random())
                await asyncio.sleep(wait)
        finally:
            self._is_asking = False
            self._on_end()
