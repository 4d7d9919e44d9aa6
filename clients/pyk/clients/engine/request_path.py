"""``submit``, from the client to the connection: the part of a client that runs once per request.

It is the base class of :class:`~pyk.clients.engine.client.Client`.
"""

from __future__ import annotations

import asyncio

from pyk.clients.engine.connection import ResponseWaiter, VersionedRequest
from pyk.clients.engine.connection_pool import ConnectionPool
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.node_connection import Lane
from pyk.clients.errors import ClosedError, StateError
from pyk.protocol.connection import OutgoingRequest
from pyk.protocol.versions import ALL_VERSIONS, VersionRange

_running_loop = asyncio._get_running_loop
_MAIN: Lane = "main"


class RequestPath:
    """Hands requests to the connections of ``pool`` while its client is usable.

    ``request_timeout`` is in seconds.
    """

    def __init__(self, guard: ForkGuard, pool: ConnectionPool, request_timeout: float) -> None:
        self.guard = guard
        self.pool = pool
        self._request_timeout = request_timeout
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_closed = False
        self.failure: StateError | None = None
        """A bug in pyk that ended a task that the client cannot work without."""

    def submit(  # noqa: PLR0917 - keywords would cost as much as the rest of the call
        self,
        node_id: int,
        request: OutgoingRequest | VersionedRequest,
        waiter: ResponseWaiter,
        timeout_ms: int | None = None,
        within: VersionRange = ALL_VERSIONS,
        lane: Lane = _MAIN,
    ) -> None:
        """Send a request and tell ``waiter`` of the outcome: no task, no turn of the loop.

        Call it on the client's loop only; this is not checked. Requests without acknowledgements
        must use :meth:`Client.send`, which waits while the node takes no more, and which lists the
        errors that ``waiter`` may get.
        """
        self._check_open()
        timeout = self._request_timeout if timeout_ms is None else timeout_ms / 1000
        self.pool.connection(node_id, lane).submit(request, timeout, within, waiter)

    def throttled_until(self, node_id: int, lane: Lane = _MAIN) -> float:
        """Return when the throttle of a node ends (KIP-219).

        A request that is sent earlier waits until then, while its timeout runs.
        """
        return self.pool.throttled_until(node_id, lane)

    def _check_usable(self, may_be_unstarted: bool = False) -> None:
        """Raise if no request can be sent here and now."""
        self._check_open(may_be_unstarted)
        self.check_place()

    def _check_open(self, may_be_unstarted: bool = False) -> None:
        """Raise if no request can be sent now."""
        if self.guard.is_forked:
            self.guard.check()
        if self.is_closed:
            raise ClosedError("the client is closed")
        if self.failure is not None:
            raise self.failure
        if self._loop is None and not may_be_unstarted:
            raise StateError("the client is not started: use it as a context manager")

    def check_place(self) -> None:
        """Raise if this is not the process and the event loop of the client."""
        if self.guard.is_forked:
            self.guard.check()
        running = _running_loop()
        if self._loop is None or self._loop is running:
            return
        if running is None:
            raise StateError(
                "the client belongs to an event loop, and was called outside of it: call it in a "
                "coroutine there (from another thread with asyncio.run_coroutine_threadsafe)"
            )
        if self._loop.is_closed():
            raise StateError(
                "the client belongs to another event loop, which has ended: make a client in each"
            )
        raise StateError("the client belongs to another event loop: make a client in each")
