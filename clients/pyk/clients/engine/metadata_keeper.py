"""Keep the metadata image up to date: drive :mod:`.metadata` and :mod:`.metadata_refresh`.

Requests go out by :mod:`.metadata_source`, which chooses the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from pyk.clients.config.client_config import REBOOTSTRAP
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.connection_pool import ConnectionPool
from pyk.clients.engine.metadata import MetadataImage, MetadataUpdate, Node
from pyk.clients.engine.metadata_refresh import MetadataRefresh
from pyk.clients.engine.metadata_source import MetadataSource
from pyk.clients.engine.node_connection import Environment
from pyk.clients.engine.race import NoResponseError
from pyk.clients.engine.topic_interest import TopicInterest
from pyk.clients.errors import (
    AuthenticationError,
    BootstrapError,
    KafkaError,
    KafkaTimeoutError,
    NodeUnavailableError,
    RebootstrapRequiredError,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import because
from pyk.protocol.errors import ErrorCode, MalformedMessageError

log = logging.getLogger(__name__)


class Endpoint(Protocol):
    """The address of a node, as produce and fetch responses name it."""

    node_id: int
    host: str
    port: int
    rack: str | None


class MetadataKeeper:
    """Requests metadata when it is due, from any broker that answers, and tells listeners."""

    def __init__(
        self,
        shared: Environment,
        pool: ConnectionPool,
        *,
        allow_auto_topic_creation: bool,
        has_records_for: Callable[[str], bool],
    ) -> None:
        config = shared.config
        self.image = MetadataImage()
        self.interest = TopicInterest()
        self.answers = 0
        """How many responses of brokers were accepted."""
        self.last_error: KafkaError | None = None
        self._shared = shared
        self._pool = pool
        self._source = MetadataSource(
            shared,
            pool,
            self.interest,
            allow_auto_topic_creation=allow_auto_topic_creation,
            has_records_for=has_records_for,
            has_partitions=self._has_partitions,
        )
        self._refresh = MetadataRefresh(
            max_age=config.metadata_max_age_ms / 1000,
            backoff=Backoff(config.retry_backoff_ms / 1000, config.retry_backoff_max_ms / 1000),
        )
        self._failure: KafkaError | None = None
        self._listeners: list[Callable[[MetadataImage], object]] = []
        self._waiters: dict[asyncio.Future[None], None] = {}
        self._wanted = asyncio.Event()

    # -- asking for an update ----------------------------------------------------------------------

    def request_update(self) -> None:
        """Ask soon, because the image seems to be wrong; more requests until then are one."""
        self._refresh.request()
        self._wanted.set()

    def request_missing(self) -> None:
        """Ask soon for the topics that are needed and that nothing but an error is known of."""
        self._refresh.request_missing()
        self._wanted.set()

    def request_update_at_once(self) -> None:
        """Ask for these without waiting for a backoff, because something unknown is needed."""
        self._refresh.request_at_once()
        self._wanted.set()

    # -- listeners ---------------------------------------------------------------------------------

    def add_listener(self, listener: Callable[[MetadataImage], object]) -> None:
        """Call ``listener`` with each new image, on the loop; it must not wait."""
        self._listeners.append(listener)

    async def updated(self, since_version: int, deadline: float) -> MetadataImage:
        """Return an image that is newer than a version; raise :class:`KafkaTimeoutError`.

        Raises what :meth:`fail` was told, if no image will come, and :class:`AuthenticationError`
        if a broker does not let the client in.
        """
        if self._failure is not None:
            raise copy_to_raise(self._failure)
        try:
            async with asyncio.timeout_at(deadline):
                while self.image.version <= since_version:
                    await self._next_image()
        except TimeoutError:
            raise KafkaTimeoutError(
                f"no newer metadata in time{because(self.last_error)}"
            ) from self.last_error
        return self.image

    def fail(self, error: KafkaError) -> None:
        """Tell all waiters, and those to come, that no image will come."""
        self._failure = error
        self._tell_waiters(error)

    def _tell_waiters(self, error: KafkaError) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(copy_to_raise(error))

    async def _next_image(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = None
        try:
            await waiter
        finally:
            del self._waiters[waiter]

    # -- asking ------------------------------------------------------------------------------------

    async def bootstrap(self, timeout: float) -> None:
        """Get the first image from one of the bootstrap servers; ask all of them if need be.

        Raises :class:`BootstrapError`, as soon as all have failed or when the time is over, and
        :class:`AuthenticationError` if one side does not accept the other.
        """
        errors: list[KafkaError] = []
        self._refresh.asked(self._shared.clock.now())
        try:
            async with asyncio.timeout(timeout):
                self._accept(await self._source.ask_bootstrap_servers())
        except NoResponseError as error:
            errors = error.errors
        except TimeoutError:
            pass
        else:
            return
        refused = next((one for one in errors if isinstance(one, AuthenticationError)), None)
        if refused is not None:
            raise refused
        raise BootstrapError(
            "none of the bootstrap servers led to the cluster",
            attempts=self._source.attempts(errors, timeout),
        )

    async def run(self) -> None:
        """Request metadata whenever it is due, for as long as the client lives."""
        while True:
            await self._until_due()
            asks_for_all = self._refresh.asked(self._shared.clock.now())
            try:
                self._accept(await self._ask_anybody(None if asks_for_all else self._missing()))
            except KafkaError as error:
                self.last_error = error
                if isinstance(error, AuthenticationError):
                    self._tell_waiters(error)  # time alone does not repair it
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

    def _missing(self) -> list[str]:
        """Return the topics that are needed and that nothing but an error is known of."""
        known = self.image.topics
        return [
            name
            for name in self.interest.topics
            if (topic := known.get(name)) is None or topic.error_code != ErrorCode.NONE
        ]

    async def _ask_anybody(self, missing: list[str] | None) -> MetadataUpdate:
        """Ask the nodes of the cluster, or the bootstrap servers if none can be reached.

        ``missing`` are the topics to ask for instead of all that are needed, if there are any.
        """
        if self._is_sent_away:
            self._pool.leave_nodes("a broker sends its clients back to their bootstrap servers")
        if self._is_sent_away or self._must_rebootstrap():
            return await self._rebootstrapped()
        try:
            return await self._source.ask_nodes(missing)
        except NoResponseError as error:
            all_are_gone = all(isinstance(one, NodeUnavailableError) for one in error.errors)
            if not (all_are_gone and self._may_rebootstrap):
                raise error.errors[0] from None
        return await self._rebootstrapped()

    async def _rebootstrapped(self) -> MetadataUpdate:
        """Start again from the bootstrap servers, as a new client does (KIP-899)."""
        # Once a failure, like the warning that follows.
        level = logging.DEBUG if self._refresh.failing_since else logging.INFO
        log.log(level, "No known broker answers: beginning again at the bootstrap servers")
        try:
            return await self._source.ask_bootstrap_servers()
        except NoResponseError as error:
            raise error.errors[0] from None

    def _has_partitions(self, topic: str) -> bool:
        known = self.image.topic(topic)
        return known is not None and bool(known.partitions)

    @property
    def _may_rebootstrap(self) -> bool:
        return self._shared.config.metadata_recovery_strategy == REBOOTSTRAP

    @property
    def _is_sent_away(self) -> bool:
        """Whether a broker has answered that the client is to begin again (KIP-1102)."""
        return self._may_rebootstrap and isinstance(self.last_error, RebootstrapRequiredError)

    def _must_rebootstrap(self) -> bool:
        """Return whether no known node has answered for too long (KIP-1102)."""
        trigger = self._shared.config.metadata_recovery_rebootstrap_trigger_ms / 1000
        since = self._refresh.failing_since
        return (
            self._may_rebootstrap
            and since is not None
            and self._shared.clock.now() - since >= trigger
        )

    # -- answers -----------------------------------------------------------------------------------

    def update_leaders(
        self,
        leaders: Mapping[TopicPartition, tuple[int, int]],
        endpoints: Iterable[Endpoint] = (),
    ) -> set[TopicPartition]:
        """Use the leaders that came with an error (KIP-951); request metadata in any case.

        Returns the partitions whose leader changed: only those have another leader to ask now.
        """
        nodes = [Node(end.node_id, end.host, end.port, end.rack) for end in endpoints]
        before = self.image
        try:
            self._set_image(before.with_leaders(leaders, nodes))
        except MalformedMessageError as error:
            log.warning("Ignoring leaders that came with an error: %s", error)
        self.request_update()
        return {one for one in leaders if self.image.leader(one) != before.leader(one)}

    def _accept(self, answer: MetadataUpdate) -> None:
        """Make a response the new image."""
        before, now = self.image, self._shared.clock.now()
        self.answers += 1
        image = before.updated(answer, self.interest.topics, now)
        is_of_another_cluster = before.is_of_another_cluster(answer)
        if is_of_another_cluster:
            log.warning(
                "Was connected to cluster %r, now to %r", before.cluster_id, image.cluster_id
            )
            self._pool.leave_nodes("it is of another cluster than the metadata are")
        if self._refresh.failing_since is not None:
            log.info("Metadata recovered after %.1f s", now - self._refresh.failing_since)
        self.last_error = None
        self._refresh.answered(
            now, self._shared.random.random(), has_news=image.differs_from(before)
        )
        # This answer may be of some topics only.
        if is_of_another_cluster or image.has_claimed_ids:
            self._refresh.request()
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
