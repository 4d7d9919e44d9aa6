"""The base of administrative calls: connecting, deadlines, sending."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from pyk.clients.admin.routes import Route
from pyk.clients.admin.settling import Ask, settle
from pyk.clients.arguments import checked_timeout
from pyk.clients.config import AdminConfig
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, NodeUnavailableError, error_for
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse


class Calls:
    """Carries out the calls of one admin client."""

    def __init__(self, client: Client, config: AdminConfig) -> None:
        self.client = client
        self._config = config
        self._starting = asyncio.Lock()

    async def begin(self, timeout: float | None) -> float:
        """Connect if that has not happened yet, and return the deadline of a call."""
        deadline = self.deadline(timeout)
        if not self.client.is_started:
            async with self._starting:
                await self.client.start(self.remaining(deadline))
        self.client.check_place()
        return deadline

    def deadline(self, timeout: float | None) -> float:
        """Return when a call must be over; by default ``default_api_timeout_ms`` from now.

        Raises ``TypeError`` or ``ValueError`` if ``timeout`` is not a number of seconds.
        """
        seconds = checked_timeout(timeout)
        if seconds is None:
            seconds = self._config.default_api_timeout_ms / 1000
        return self.client.clock.now() + seconds

    def remaining(self, deadline: float) -> float:
        """Return the seconds until a deadline."""
        return max(0.0, deadline - self.client.clock.now())

    def remaining_ms(self, deadline: float) -> int:
        """Return the milliseconds that a broker may take, at least one.

        Never more than those after which the request is given up and sent again.
        """
        left = max(1, int(self.remaining(deadline) * 1000))
        return min(self._config.request_timeout_ms, left)

    async def send(
        self,
        node_id: int,
        request: Any,
        deadline: float,
        *,
        min_version: int | None = None,
        max_version: int | None = None,
    ) -> Any:
        """Send a request to a node and return its response."""
        return await self.client.send(
            node_id,
            request,
            timeout_ms=self.client.timeout_ms(deadline),
            min_version=min_version,
            max_version=max_version,
        )

    async def settle(
        self,
        items: Iterable[Any],
        route: Route,
        ask: Ask,
        deadline: float,
    ) -> dict[Any, Any]:
        """Return the result of each item; see :func:`~pyk.clients.admin.settling.settle`."""
        return await settle(self.client, several(items), route, ask, deadline)

    async def change(
        self,
        items: Iterable[Any],
        route: Route,
        ask: Ask,
        deadline: float,
        *,
        already_done: type[KafkaError] | None = None,
    ) -> dict[Any, Any]:
        """Do the same for a call that changes something: its errors say if it may be done."""
        return await settle(
            self.client,
            several(items),
            route,
            ask,
            deadline,
            already_done=already_done,
            is_change=True,
        )

    async def metadata(
        self, names: Sequence[str] | None, timeout: float | None
    ) -> MetadataResponse:
        """Ask a broker for the metadata of these topics, or of all, as it is now."""
        deadline = await self.begin(timeout)

        async def ask() -> MetadataResponse:
            response: MetadataResponse = await self.client.send_to_any(
                metadata_request(names), deadline
            )
            if response.error_code != ErrorCode.NONE:
                raise error_for(response.error_code, api_key=response.api_key)
            if not response.brokers:
                raise NodeUnavailableError("a broker that is starting knows of no broker yet")
            return response

        return await self.client.retry(ask, deadline, "get metadata")


def several(items: Iterable[Any]) -> Iterable[Any]:
    """Return the items; a single str is one name, not a sequence of letters."""
    return (items,) if isinstance(items, str) else items


def metadata_request(names: Sequence[str] | None) -> MetadataRequest:
    return MetadataRequest(
        topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
    )
