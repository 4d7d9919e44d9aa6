"""Keeps the metadata image up to date: drives :mod:`.metadata` and :mod:`.metadata_refresh`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from pyk.clients.config.client_config import REBOOTSTRAP
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.connection_pool import ConnectionPool
from pyk.clients.engine.dialer import SILENCE
from pyk.clients.engine.metadata import MetadataAnswer, MetadataImage, Node
from pyk.clients.engine.metadata_refresh import MetadataRefresh
from pyk.clients.engine.node_connection import Surroundings
from pyk.clients.engine.race import NoAnswerError, first_answer
from pyk.clients.errors import (
    BootstrapError,
    BrokerNotAvailableError,
    ConnectionAttempt,
    KafkaError,
    KafkaTimeoutError,
    MalformedResponseError,
    NodeDisconnectedError,
    NodeUnavailableError,
    RebootstrapRequiredError,
    Stage,
    error_for,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode, MalformedMessageError
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from pyk.protocol.versions import ALL_VERSIONS

log = logging.getLogger(__name__)

# How long one server may be silent before the next is asked as well.
HEAD_START = 0.5


class Endpoint(Protocol):
    """Where a node is, as produce and fetch answers name it."""

    node_id: int
    host: str
    port: int
    rack: str | None


class MetadataKeeper:
    """Asks for metadata when they are due, of whichever broker answers, and tells who listens."""

    def __init__(
        self, shared: Surroundings, pool: ConnectionPool, *, allow_auto_topic_creation: bool
    ) -> None:
        config = shared.config
        self.image = MetadataImage()
        self.last_error: KafkaError | None = None
        self._shared = shared
        self._pool = pool
        self._allow_auto_topic_creation = allow_auto_topic_creation
        self._refresh = MetadataRefresh(
            max_age=config.metadata_max_age_ms / 1000,
            backoff=Backoff(config.retry_backoff_ms / 1000, config.retry_backoff_max_ms / 1000),
        )
        self._tracked: set[str] = set()
        self._tracks_all = False
        self._listeners: list[Callable[[MetadataImage], object]] = []
        self._waiters: set[asyncio.Future[None]] = set()
        self._wanted = asyncio.Event()

    # -- what to ask for ---------------------------------------------------------------------------

    def track(self, topics: Iterable[str]) -> None:
        """Ask for these topics as well, at once if one of them is new."""
        new = set(topics) - self._tracked
        if new:
            self._tracked |= new
            self._refresh.request_at_once()
            self._wanted.set()

    def untrack(self, topics: Iterable[str]) -> None:
        """Ask for these topics no more."""
        self._tracked -= set(topics)

    def track_all(self, *, enabled: bool = True) -> None:
        """Ask for every topic of the cluster, or no more for more than those that are tracked."""
        if enabled and not self._tracks_all:
            self._refresh.request_at_once()
            self._wanted.set()
        self._tracks_all = enabled

    def request(self) -> None:
        """Ask soon; more requests until then are one."""
        self._refresh.request()
        self._wanted.set()

    # -- who hears of it ---------------------------------------------------------------------------

    def add_listener(self, listener: Callable[[MetadataImage], object]) -> None:
        """Have a function called with each new image, on the loop; it must not wait."""
        self._listeners.append(listener)

    async def updated(self, since_version: int, deadline: float) -> MetadataImage:
        """Return an image that is newer than a version; raise :class:`KafkaTimeoutError`."""
        try:
            async with asyncio.timeout_at(deadline):
                while self.image.version <= since_version:
                    await self._next_image()
        except TimeoutError:
            raise KafkaTimeoutError(
                f"no newer metadata in time{because(self.last_error)}"
            ) from self.last_error
        return self.image

    def fail(self, error: Exception) -> None:
        """Tell all who wait that no image will come."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(error)

    async def _next_image(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    # -- asking ------------------------------------------------------------------------------------

    async def bootstrap(self, timeout: float) -> None:
        """Get the first image from one of the bootstrap servers, all of which are asked if need be.

        Raises :class:`BootstrapError`, as soon as all have failed or when the time is over.
        """
        errors: list[KafkaError] = []
        self._refresh.asked()
        try:
            async with asyncio.timeout(timeout):
                self._accept(await self._ask_bootstrap_servers())
        except NoAnswerError as error:
            errors = error.errors
        except TimeoutError:
            pass
        else:
            return
        raise BootstrapError(
            "none of the bootstrap servers led to the cluster",
            attempts=self._attempts(errors, timeout),
        )

    async def run(self) -> None:
        """Ask whenever it is due, for as long as the client lives."""
        while True:
            await self._until_due()
            self._refresh.asked()
            try:
                self._accept(await self._ask_anybody())
            except KafkaError as error:
                self.last_error = error
                # Once a failure, not once an attempt: an outage would fill the log.
                level = logging.DEBUG if self._refresh.failing_since else logging.WARNING
                log.log(level, "Could not get metadata, will try again: %s", error)
                self._refresh.failed(self._shared.clock.now(), self._shared.random.random())

    async def _until_due(self) -> None:
        while (wait := self._refresh.due_in(self._shared.clock.now())) > 0:
            self._wanted.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wanted.wait()

    async def _ask_anybody(self) -> MetadataAnswer:
        """Ask the nodes of the cluster, or the bootstrap servers if none can be reached."""
        if self._must_rebootstrap():
            return await self._rebootstrapped()
        try:
            return await first_answer(self._pool.candidates(), self._ask, HEAD_START)
        except NoAnswerError as error:
            all_are_gone = all(isinstance(one, NodeUnavailableError) for one in error.errors)
            if not (all_are_gone and self._may_rebootstrap):
                raise error.errors[0] from None
        return await self._rebootstrapped()

    async def _rebootstrapped(self) -> MetadataAnswer:
        """Begin again, as a client does that knows nothing but its configuration (KIP-899)."""
        # Once a failure, like the warning that follows.
        level = logging.DEBUG if self._refresh.failing_since else logging.INFO
        log.log(level, "No known broker answers: beginning again at the bootstrap servers")
        try:
            return await self._ask_bootstrap_servers()
        except NoAnswerError as error:
            raise error.errors[0] from None

    async def _ask_bootstrap_servers(self) -> MetadataAnswer:
        servers = list(self._pool.bootstrap_nodes)
        self._shared.random.shuffle(servers)
        return await first_answer(servers, self._ask, HEAD_START)

    @property
    def _may_rebootstrap(self) -> bool:
        return self._shared.config.metadata_recovery_strategy == REBOOTSTRAP

    def _must_rebootstrap(self) -> bool:
        """Say whether the known nodes have been of no use for too long (KIP-1102)."""
        if isinstance(self.last_error, RebootstrapRequiredError):
            return True
        trigger = self._shared.config.metadata_recovery_rebootstrap_trigger_ms / 1000
        since = self._refresh.failing_since
        return (
            self._may_rebootstrap
            and since is not None
            and self._shared.clock.now() - since >= trigger
        )

    async def _ask(self, node_id: int) -> MetadataAnswer:
        connection = self._pool.connection(node_id, "main")
        timeout = self._shared.config.request_timeout_ms / 1000
        answer = asyncio.get_running_loop().create_future()
        connection.submit(self._question(), timeout, ALL_VERSIONS, answer)
        response: MetadataResponse = await answer
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code, node_id=node_id)
        if not response.brokers:
            raise BrokerNotAvailableError(
                f"{connection.node} knows of no broker yet, not even of itself: it is starting",
                node_id=node_id,
            )
        try:
            return MetadataAnswer.of(response)
        except MalformedMessageError as error:
            raise MalformedResponseError(
                f"{connection.node} gave metadata that cannot be true: {error}", node_id=node_id
            ) from error

    def _question(self) -> MetadataRequest:
        topics = [MetadataRequestTopic(name=name) for name in sorted(self._tracked)]
        return MetadataRequest(
            topics=None if self._tracks_all else topics,
            allow_auto_topic_creation=self._allow_auto_topic_creation,
        )

    # -- answers -----------------------------------------------------------------------------------

    def update_leaders(
        self,
        leaders: Mapping[TopicPartition, tuple[int, int]],
        endpoints: Iterable[Endpoint] = (),
    ) -> None:
        """Take leaders that came with an error as news (KIP-951); ask for metadata all the same."""
        nodes = [Node(end.node_id, end.host, end.port, end.rack) for end in endpoints]
        try:
            self._set_image(self.image.with_leaders(leaders, nodes))
        except MalformedMessageError as error:
            log.warning("Ignoring leaders that came with an error: %s", error)
        self.request()

    def _accept(self, answer: MetadataAnswer) -> None:
        """Make an answer the new image."""
        before, now = self.image, self._shared.clock.now()
        tracked = None if self._tracks_all else self._tracked
        image = before.updated(answer, tracked, now)
        if before.cluster_id and image.cluster_id != before.cluster_id:
            log.warning(
                "Was connected to cluster %r, now to %r", before.cluster_id, image.cluster_id
            )
        if self._refresh.failing_since is not None:
            log.info("Metadata are there again, %.1f s later", now - self._refresh.failing_since)
        self.last_error = None
        self._refresh.answered(
            now, self._shared.random.random(), has_news=image.differs_from(before)
        )
        self._set_image(image)
        self._pool.adopt_bootstrap()

    def _set_image(self, image: MetadataImage) -> None:
        if image is self.image:
            return
        self.image = image
        self._pool.set_nodes(image.nodes)
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        for listener in self._listeners:
            listener(image)

    def _attempts(self, errors: list[KafkaError], timeout: float) -> list[ConnectionAttempt]:
        """Return how far each bootstrap server came, in the order of the configuration."""
        attempts: list[ConnectionAttempt] = []
        failed = {error.node_id: error for error in errors}
        for node_id in self._pool.bootstrap_nodes:
            progress = self._pool.connection(node_id, "main").progress
            error = failed.get(node_id)
            if isinstance(error, NodeUnavailableError) and error.attempts:
                attempts += error.attempts
            elif error is not None:
                progress.stage = Stage.METADATA
                is_cut_off = isinstance(error, NodeDisconnectedError)
                attempts.append(progress.failed(str(error), CUT_OFF if is_cut_off else ""))
            else:
                hint = SILENCE[progress.stage]
                attempts.append(progress.failed(f"no answer within {timeout:g} s", hint))
        return attempts


CUT_OFF = "a listener that wants SASL ends connections like this"


def because(error: KafkaError | None) -> str:
    return f"; last error: {error}" if error is not None else ""
