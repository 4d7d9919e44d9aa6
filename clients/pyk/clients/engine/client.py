"""The cluster as producers, consumers and admin clients see it."""

from __future__ import annotations

import asyncio
import logging
import random as randomness
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pyk.clients.arguments import checked_timeout
from pyk.clients.config import ClientConfig
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.engine.connection_pool import ConnectionPool
from pyk.clients.engine.coordinators import Coordinators
from pyk.clients.engine.dialer import Dialer
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.engine.metadata_keeper import MetadataKeeper
from pyk.clients.engine.node_connection import Environment, Lane
from pyk.clients.engine.reconnect import ConnectLimiter
from pyk.clients.engine.request_path import RequestPath
from pyk.clients.engine.topics_in_use import TopicsInUse
from pyk.clients.errors import (
    ClosedError,
    KafkaError,
    KafkaTimeoutError,
    StateError,
)
from pyk.protocol.connection import OutgoingRequest
from pyk.protocol.schema import Message
from pyk.protocol.versions import ALL_VERSIONS, LAST_VERSION, VersionRange
from pyk.runtime.clock import Clock
from pyk.runtime.current_host import current_host
from pyk.runtime.network import Network, SystemNetwork
from pyk.runtime.supervisor import Supervisor
from pyk.runtime.system_clock import SystemClock

R = TypeVar("R")

# A clock and a loop that belong together differ by roundings at most.
MOST_SECONDS_APART = 1.0

SHORTEST_TIMEOUT_MS = 1_000
"""How long the requests of a call have at least, also when the call itself has less time left."""

log = logging.getLogger(__name__)


class Client(RequestPath):
    """The metadata of a cluster, and the connections to send requests to it.

    Its parts: ``pool`` has the connections, ``metadata_keeper`` the metadata, ``topics`` says of
    which topics, ``coordinators`` finds those of groups, ``supervisor`` owns the tasks.
    Belongs to one event loop, on which all methods are called. The constructor does nothing yet;
    :meth:`start` connects.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
        allow_auto_topic_creation: bool = False,
        has_records_for: Callable[[str], bool] = lambda _: False,
        sends_records: bool = False,
    ) -> None:
        self.config = config
        host = current_host()
        if host is not None:
            clock, network = clock or host.clock, network or host.network
            random = random or host.random
        self.clock = clock or SystemClock()
        self._is_clock_given = clock is not None
        self.random = random or randomness.Random()  # noqa: S311 - jitter, not secrets
        self.supervisor = Supervisor(self.clock, self._task_failed, ClosedError)
        self.retry_backoff = Backoff(
            config.retry_backoff_ms / 1000, config.retry_backoff_max_ms / 1000
        )
        self.network = network or SystemNetwork(ends_silent=not sends_records)
        shared = Environment(
            config,
            self.clock,
            self.random,
            Dialer(config, self.clock, self.network, self.random),
            self.supervisor,
            ConnectLimiter(),
        )
        super().__init__(
            ForkGuard("client"), ConnectionPool(shared), config.request_timeout_ms / 1000
        )
        self.metadata_keeper = MetadataKeeper(
            shared,
            self.pool,
            allow_auto_topic_creation=allow_auto_topic_creation,
            has_records_for=has_records_for,
        )
        self.topics = TopicsInUse(self.metadata_keeper)
        self.coordinators = Coordinators(self)
        self.on_failure: Callable[[], object] | None = None
        """Called when there is a ``failure``."""

    # -- life --------------------------------------------------------------------------------------

    async def start(self, timeout: float | None = None) -> None:
        """Connect to one of the bootstrap servers and get metadata of the cluster.

        Raises :class:`AuthenticationError` if one side does not accept the other, and
        :class:`BootstrapError`, which says for every address how far it came, as soon as all
        of them have failed, at the latest after ``timeout`` seconds (``request_timeout_ms``).
        """
        seconds = checked_timeout(timeout)
        if self.is_started:
            return
        self._check_usable(may_be_unstarted=True)
        self._check_clock()
        default = self.config.request_timeout_ms / 1000
        await self.metadata_keeper.bootstrap(default if seconds is None else seconds)
        if not self.is_started:  # by a second call, meanwhile
            self.supervisor.spawn("keep metadata", self.metadata_keeper.run())
            self._loop = asyncio.get_running_loop()

    def _check_clock(self) -> None:
        """Raise unless the clock is that of the event loop, on which all deadlines are timers.

        Only for a clock that was passed in: tools that freeze time freeze that of the loop, too.
        """
        if not self._is_clock_given:
            return
        loop = asyncio.get_running_loop()
        before, now, after = loop.time(), self.clock.now(), loop.time()
        if not before - MOST_SECONDS_APART <= now <= after + MOST_SECONDS_APART:
            raise StateError(
                "the clock of this client is not that of its event loop, as if it were given one "
                "of a simulated world: a blocking client runs in real time, so use its asyncio "
                "twin there"
            )

    async def close(self, timeout: float = 5.0) -> None:
        """End all tasks and connections; returns within ``timeout`` seconds, whatever happens."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.guard.is_forked or (self._loop is not None and self._loop.is_closed()):
            return  # connections and tasks are the parent's, or ended with their loop
        deadline = self.clock.now() + timeout
        reason = ClosedError("the client was closed")
        self.metadata_keeper.fail(reason)
        try:
            await self.supervisor.close(deadline)
        finally:
            await self.pool.close(reason, deadline)

    def abort(self, failure: StateError | None = None) -> None:
        """End all connections at once, for a loop that ends; its end cancels the tasks.

        ``failure`` says why it ends if it does not work any more.
        """
        if self.is_closed or self.guard.is_forked:
            return
        self.is_closed = True
        reason = ClosedError("the client was closed")
        self.metadata_keeper.fail(failure or reason)
        self.pool.abort(reason)
        if failure is not None:
            self._fail(failure)

    @property
    def is_started(self) -> bool:
        return self._loop is not None

    @property
    def metadata(self) -> MetadataImage:
        """Return what is known of the cluster now."""
        return self.metadata_keeper.image

    # -- requests ----------------------------------------------------------------------------------

    def any_node(self) -> int:
        """Return the best node for a question that every node can answer."""
        return self.pool.candidates()[0]

    async def send(
        self,
        node_id: int,
        request: OutgoingRequest | VersionedRequest,
        *,
        timeout_ms: int | None = None,
        min_version: int | None = None,
        max_version: int | None = None,
        lane: Lane = "main",
    ) -> Any:
        """Send a request to a node and return its response; None with acks 0.

        Requests of one lane leave in the order of the calls. Raises :class:`NodeUnavailableError`
        (not connected, so certainly not applied), :class:`NodeDisconnectedError` and
        :class:`RequestTimeoutError` (look at ``.definite``), :class:`MalformedResponseError`, and
        :class:`UnsupportedVersionError`. Giving up the wait does not undo the request.
        """
        self._check_usable()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        within = ALL_VERSIONS
        if min_version is not None or max_version is not None:
            within = VersionRange(
                0 if min_version is None else min_version,
                LAST_VERSION if max_version is None else max_version,
            )
        self.submit(node_id, request, answer, timeout_ms=timeout_ms, within=within, lane=lane)
        response = await answer
        if response is None:
            await self.pool.connection(node_id, lane).drain()
        return response

    async def send_to_any(self, request: Message | VersionedRequest, deadline: float) -> Any:
        """Send a request to the node that is the best choice at the moment; raise as
        :meth:`send`."""
        return await self.send(self.any_node(), request, timeout_ms=self.timeout_ms(deadline))

    def timeout_ms(self, deadline: float) -> int:
        """Return how long a request of a call may take that has a deadline of its own.

        A request that times out ends its connection, with the requests of other calls. When little
        time is left to a call, its request times out later than the call: that a node has not
        answered for some milliseconds does not say that the connection is dead.
        """
        remaining_ms = int((deadline - self.clock.now()) * 1000)
        return min(self.config.request_timeout_ms, max(remaining_ms, SHORTEST_TIMEOUT_MS))

    async def retry(self, attempt: Callable[[], Awaitable[R]], deadline: float, what: str) -> R:
        """Return the result of an attempt, retrying after retriable errors until the deadline.

        Raises an error that is not retriable as it is, and :class:`KafkaTimeoutError` ("could not
        ``what`` in time") with the last one as its cause.
        """
        failures, last_error = 0, None
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await attempt()
            except KafkaError as error:
                if not error.retriable:
                    raise
                last_error = error
            except TimeoutError:
                pass
            failures += 1
            wait = self.retry_backoff.delay(failures, self.random.random())
            if self.clock.now() + wait >= deadline:
                raise KafkaTimeoutError(
                    f"could not {what} in time{self._because(last_error)}"
                ) from last_error
            await asyncio.sleep(wait)

    def _because(self, last_error: KafkaError | None) -> str:
        """Return why nothing came of a call: its last error, otherwise a node that is away."""
        if last_error is None and (unreachable := self.pool.unreachable_nodes()):
            last_error = unreachable[0].error
        return f": {last_error}" if last_error is not None else ""

    # -- inside ------------------------------------------------------------------------------------

    def _task_failed(self, name: str, error: BaseException) -> None:
        """Record the failure: every later call raises it, so the client does not go on half
        alive."""
        if self.failure is not None:
            return  # the first one, of which the others may be consequences
        failure = StateError(f"task {name!r} failed because of a bug in pyk: {error!r}")
        failure.__cause__ = error
        self.metadata_keeper.fail(failure)
        self._fail(failure)

    def _fail(self, failure: StateError) -> None:
        self.failure = self.failure or failure
        if self.on_failure is not None:
            self.on_failure()
