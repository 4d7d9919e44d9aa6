"""The cluster as producers, consumers and admin clients see it."""

from __future__ import annotations

import asyncio
import logging
import random as randomness
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from pyk.clients.arguments import checked_timeout
from pyk.clients.config import ClientConfig
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.engine.connection_pool import ConnectionPool
from pyk.clients.engine.coordinators import Coordinators, CoordinatorType
from pyk.clients.engine.dialer import Dialer
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.metadata import MetadataImage, Node, TopicMetadata
from pyk.clients.engine.metadata_keeper import Endpoint, MetadataKeeper, because
from pyk.clients.engine.node_connection import Environment, Lane
from pyk.clients.engine.reachability import UnreachableNode
from pyk.clients.engine.reconnect import ConnectLimiter
from pyk.clients.engine.request_path import RequestPath
from pyk.clients.engine.topic_names import checked_topics
from pyk.clients.errors import (
    ClosedError,
    KafkaError,
    KafkaTimeoutError,
    StateError,
    error_for,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.connection import OutgoingRequest
from pyk.protocol.errors import ErrorCode
from pyk.protocol.negotiation import PeerVersions
from pyk.protocol.schema import Message
from pyk.protocol.versions import ALL_VERSIONS, LAST_VERSION, VersionRange
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network, SystemNetwork
from pyk.runtime.supervisor import Supervisor
from pyk.runtime.system_clock import SystemClock

R = TypeVar("R")

log = logging.getLogger(__name__)


class Client(RequestPath):
    """Connections to all nodes, metadata, coordinators, and the tasks that keep them going.

    Belongs to one event loop, on which all of it is called. Making one does nothing yet;
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
    ) -> None:
        self.config = config
        self.clock = clock or SystemClock()
        self.random = random or randomness.Random()  # noqa: S311 - jitter, not secrets
        self.supervisor = Supervisor(self.clock, self._task_failed, ClosedError)
        self.retry_backoff = Backoff(
            config.retry_backoff_ms / 1000, config.retry_backoff_max_ms / 1000
        )
        self._network = network or SystemNetwork()
        shared = Environment(
            config,
            self.clock,
            self.random,
            Dialer(config, self.clock, self._network),
            self.supervisor,
            ConnectLimiter(),
        )
        super().__init__(
            ForkGuard("client"), ConnectionPool(shared), config.request_timeout_ms / 1000
        )
        self._metadata = MetadataKeeper(
            shared,
            self._pool,
            allow_auto_topic_creation=allow_auto_topic_creation,
            has_records_for=has_records_for,
        )
        self._coordinators = Coordinators(self)
        self.on_failure: Callable[[], object] | None = None
        """Called when there is a ``failure``."""

    # -- life --------------------------------------------------------------------------------------

    async def start(self, timeout: float | None = None) -> None:
        """Connect to one of the bootstrap servers and learn of the cluster.

        Raises :class:`BootstrapError`, which says of every address how far it came, as soon as all
        of them have failed, at the latest after ``timeout`` seconds (``request_timeout_ms``).
        """
        seconds = checked_timeout(timeout)
        if self.is_started:
            return
        self._check_usable(may_be_unstarted=True)
        default = self.config.request_timeout_ms / 1000
        await self._metadata.bootstrap(default if seconds is None else seconds)
        if not self.is_started:  # by a second call, meanwhile
            self.supervisor.spawn("keep metadata", self._metadata.run())
            self._loop = asyncio.get_running_loop()

    async def close(self, timeout: float = 5.0) -> None:
        """End all tasks and connections; returns within ``timeout`` seconds, whatever happens."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.guard.is_forked or (self._loop is not None and self._loop.is_closed()):
            return  # connections and tasks are the parent's, or ended with their loop
        deadline = self.clock.now() + timeout
        reason = ClosedError("the client was closed")
        self._metadata.fail(reason)
        try:
            await self.supervisor.close(deadline)
        finally:
            await self._pool.close(reason, deadline)

    def abort(self) -> None:
        """End all connections at once, for a loop that ends; its end cancels the tasks."""
        if self.is_closed or self.guard.is_forked:
            return
        self.is_closed = True
        reason = ClosedError("the client was closed")
        self._metadata.fail(reason)
        self._pool.abort(reason)

    @property
    def is_started(self) -> bool:
        return self._loop is not None

    # -- metadata ----------------------------------------------------------------------------------

    @property
    def metadata(self) -> MetadataImage:
        """Return what is known of the cluster now."""
        return self._metadata.image

    def use_topics(self, user: str, topics: Iterable[str]) -> None:
        """Keep metadata of these topics for a user of the client, and of no others for it.

        Those that are unknown are asked for at once. Raises :class:`InvalidTopicError` for a name
        that no topic can have.
        """
        self._metadata.use(user, checked_topics(topics))

    def also_use_topics(self, user: str, topics: Iterable[str]) -> None:
        """Keep metadata of these topics beside the others of a user; raises as above."""
        self._metadata.also_use(user, checked_topics(topics))

    def using_topics(self, topics: Iterable[str]) -> AbstractContextManager[None]:
        """Keep metadata of these topics for as long as a call lasts."""
        return self._metadata.waiting_for(checked_topics(topics))

    def use_all_topics(self, *, enabled: bool = True) -> None:
        """Keep metadata of every topic of the cluster."""
        self._metadata.use_all(enabled=enabled)

    def request_metadata_update(self) -> None:
        """Ask for metadata soon, because they seem to be wrong."""
        self._metadata.request()

    async def metadata_updated(self, since_version: int, deadline: float) -> MetadataImage:
        """Return an image newer than a version, or raise :class:`KafkaTimeoutError`."""
        self._check_usable()
        return await self._metadata.updated(since_version, deadline)

    def metadata_trouble(self) -> str:
        """Return "; last error: …" while metadata cannot be had, else nothing."""
        return because(self._metadata.last_error)

    def add_metadata_listener(self, listener: Callable[[MetadataImage], object]) -> None:
        """Have a function called with each new image, on the loop; it must not wait."""
        self._metadata.add_listener(listener)

    def update_leaders(
        self,
        current_leaders: Mapping[TopicPartition, tuple[int, int]],
        node_endpoints: Iterable[Endpoint] = (),
    ) -> set[TopicPartition]:
        """Take leaders as news that came with a produce or fetch error (KIP-951).

        ``current_leaders`` are ``(leader id, leader epoch)`` by partition. Returns those of them
        that have another leader now; what names a leader of an old epoch is no news. Metadata are
        asked for all the same.
        """
        return self._metadata.update_leaders(current_leaders, node_endpoints)

    async def topic(self, name: str, deadline: float) -> TopicMetadata:
        """Return a topic that exists, from memory or by asking until the deadline.

        Raises what a broker answers to this call where asking again is of no use, and otherwise
        :class:`KafkaTimeoutError` that names the last answer. An error that was answered to an
        earlier call is asked about again, with backoff: what was denied may be granted by now.
        """
        with self.using_topics([name]):
            answers = self._metadata.answers
            while True:
                image = self.metadata
                topic = image.topic(name)
                if topic is not None and topic.error_code == ErrorCode.NONE:
                    return topic
                error = error_for(topic.error_code, topic=name) if topic is not None else None
                if error is not None:
                    if not error.retriable and self._metadata.answers > answers:
                        raise error
                    self.request_metadata_update()
                try:
                    await self.metadata_updated(image.version, deadline)
                except KafkaTimeoutError as timed_out:
                    reason = error or self._metadata.last_error or timed_out
                    raise _no_topic(name, reason) from reason

    # -- nodes -------------------------------------------------------------------------------------

    def any_node(self) -> int:
        """Return the node that is best asked for what every node knows."""
        return self._pool.candidates()[0]

    def controller(self) -> int | None:
        """Return the node to which administrative requests go, None while there is none."""
        return self.metadata.controller_id

    def knows_node(self, node_id: int) -> bool:
        """Say whether the address of a node is known."""
        return self._pool.knows(node_id)

    def learn_node(self, node: Node) -> None:
        """Take note of a node that an answer named, before metadata do."""
        self._pool.learn(node)

    def unreachable(self, node_id: int) -> UnreachableNode | None:
        """Return since when and why a node cannot be reached, None if nothing is known of that."""
        return self._pool.unreachable(node_id)

    def unreachable_nodes(self) -> tuple[UnreachableNode, ...]:
        """Return the nodes of the cluster that could not be connected to when last tried."""
        return self._pool.unreachable_nodes()

    def api_versions(self, node_id: int) -> PeerVersions | None:
        """Return what a node offers, None before it was first connected to."""
        return self._pool.versions(node_id)

    async def coordinator(self, kind: CoordinatorType, key: str, deadline: float) -> int:
        """Return the node that coordinates a group or transactional id."""
        self._check_usable()
        return await self._coordinators.find(kind, key, deadline)

    def forget_coordinator(self, kind: CoordinatorType, key: str) -> None:
        """Ask for a coordinator again when it is next needed."""
        self._coordinators.forget(kind, key)

    # -- requests ----------------------------------------------------------------------------------

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
        """Send a request to a node and return its response; None where there is none (acks 0).

        Requests of one lane leave in the order of the calls. Raises :class:`NodeUnavailableError`
        (not connected, so certainly not applied), :class:`NodeDisconnectedError` and
        :class:`RequestTimeoutError` (look at ``.definite``), :class:`MalformedResponseError`, and
        :class:`UnsupportedVersionError`. Who gives up waiting does not undo the request.
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
            await self._pool.connection(node_id, lane).drain()
        return response

    async def send_to_any(self, request: Message | VersionedRequest, deadline: float) -> Any:
        """Send a request to whichever node is best asked; raises as :meth:`send`."""
        remaining_ms = max(1, int((deadline - self.clock.now()) * 1000))
        timeout_ms = min(self.config.request_timeout_ms, remaining_ms)
        return await self.send(self.any_node(), request, timeout_ms=timeout_ms)

    async def retry(self, attempt: Callable[[], Awaitable[R]], deadline: float, what: str) -> R:
        """Return what an attempt returns, repeated after errors that pass, until the deadline.

        Raises an error that does not pass as it is, and :class:`KafkaTimeoutError` ("could not
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
                because = f": {last_error}" if last_error is not None else ""
                raise KafkaTimeoutError(f"could not {what} in time{because}") from last_error
            await asyncio.sleep(wait)

    # -- inside ------------------------------------------------------------------------------------

    def _task_failed(self, name: str, error: BaseException) -> None:
        """Refuse to go on half alive: whoever calls from now on is told."""
        self.failure = StateError(f"task {name!r} failed because of a bug in pyk: {error!r}")
        self.failure.__cause__ = error
        self._metadata.fail(self.failure)
        if self.on_failure is not None:
            self.on_failure()


def _no_topic(name: str, reason: KafkaError) -> KafkaError:
    """Return the error of a topic that could not be found before the deadline."""
    if not reason.retriable:
        return copy_to_raise(reason)
    return KafkaTimeoutError(f"no metadata of topic {name!r} in time: {reason}", topic=name)
