"""One consumer on its event loop: its parts, put together, and their life."""

from __future__ import annotations

import random as randomness
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_reader import FetchReader
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.faces.application_events import ApplicationEvents
from pyk.clients.consumer.faces.async_commits import AsyncCommits
from pyk.clients.consumer.faces.closing import before
from pyk.clients.consumer.faces.commit_calls import CommitCalls
from pyk.clients.consumer.faces.limits import CallLimits
from pyk.clients.consumer.faces.position_calls import PositionCalls
from pyk.clients.consumer.faces.reading_core import ReadingCore
from pyk.clients.consumer.faces.standing import Standing
from pyk.clients.consumer.faces.subscription_calls import SubscriptionCalls
from pyk.clients.consumer.faces.transaction_calls import TransactionCalls
from pyk.clients.consumer.fetching.fetch_loop import FetchLoop
from pyk.clients.consumer.fetching.fetcher import Fetcher
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes import MetadataChanges
from pyk.clients.consumer.positions.offset_lookup import OffsetLookup
from pyk.clients.consumer.positions.position_resolver import PositionResolver
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.consumer.positions.subscriptions import named_topics
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.engine.client import Client
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network

if TYPE_CHECKING:
    from pyk.clients.consumer.group.actions import ApplicationEvent
    from pyk.clients.consumer.group.consumer_group import ConsumerGroup


class ConsumerCore(ReadingCore):
    """One consumer: its client, its partitions, and the tasks that keep records coming.

    What the application calls is divided by what it is about: ``subscription_calls``,
    ``position_calls``, ``commit_calls``, ``transaction_calls``, ``standing``; ``events`` are its
    events.
    """

    config: ConsumerConfig
    buffer: FetchBuffer
    reader: FetchReader
    subscription_calls: SubscriptionCalls

    def __init__(
        self,
        config: ConsumerConfig,
        topics: Iterable[str] | None,
        *,
        on_data: Callable[[], object],
        on_records: Callable[[Callable[[], None]], object],
        on_room: Callable[[Callable[[], None]], object],
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
    ) -> None:
        self.config = config
        self._topics = None if topics is None else named_topics(topics)
        client = Client(
            config,
            clock=clock,
            network=network,
            random=random,
            allow_auto_topic_creation=config.allow_auto_create_topics,
        )
        buffer = FetchBuffer(on_data, lambda: on_room(self._fetch), on_records)
        deserializers = Deserializers(config.key_deserializer, config.value_deserializer)
        reader = FetchReader(buffer, deserializers, config.max_poll_records)
        super().__init__(client, buffer, reader, CallLimits(config, client.clock))
        self.writer = FetchWriter(buffer)
        self.positions = Positions(
            self.writer,
            config.auto_offset_reset,
            self.client.retry_backoff,
            self.client.random.random,
        )
        self.partitions = AssignedPartitions(self.writer, self.positions)
        self.group = self._create_group() if config.group_id is not None else None
        self._create_fetching()
        self._create_calls()
        self._create_reports()

    def _create_group(self) -> ConsumerGroup:
        from pyk.clients.consumer.group.consumer_group import ConsumerGroup

        return ConsumerGroup(
            self.client,
            self.config,
            self.partitions,
            self.writer,
            self.reader,
            on_assigned=self._look,
        )

    def _create_fetching(self) -> None:
        """Create what resolves positions and fetches, and the calls about positions."""
        lookup = OffsetLookup(self.client, read_committed=self.config.reads_committed)
        resolver = PositionResolver(
            self.client,
            self.partitions,
            self.positions,
            self.writer,
            lookup,
            fetch_committed=(None if self.group is None else self.group.commits.fetch_beginnings),
            resets=self.config.auto_offset_reset != "none",
        )
        changes = MetadataChanges(self.partitions, self.positions)
        fetcher = Fetcher(
            self.client,
            self.config,
            self.partitions,
            self.positions,
            self.writer,
            metadata_changes=changes,
            rejoin=None if self.group is None else self.group.rejoin,
        )
        self._fetch_loop = FetchLoop(self.client, self.partitions, changes, resolver, fetcher)
        self.position_calls = PositionCalls(
            self.client,
            self.writer,
            self.partitions,
            self.positions,
            lookup,
            resolver=resolver,
            limits=self.limits,
            look=self._look,
            check=self.check,
            ready=self.ready,
            has_unheard_loss=(
                (lambda _: False) if self.group is None else self.group.has_unheard_loss
            ),
        )

    def _create_calls(self) -> None:
        """Create the other calls of the application, and its events."""
        self.subscription_calls = SubscriptionCalls(
            self.client,
            self.partitions,
            self.buffer,
            self.group,
            limits=self.limits,
            excludes_internal_topics=self.config.exclude_internal_topics,
            group_resolves=self.group is not None and self.config.group_protocol == "consumer",
            look=self._look,
            check=self.check,
        )
        background = AsyncCommits(self.client, self.buffer)
        self.commit_calls = CommitCalls(
            self.group, self.limits, background=background, check=self.check, ready=self.ready
        )
        self.transaction_calls = TransactionCalls(
            self.client,
            self.group,
            self.partitions,
            self.positions,
            commits_by_itself=self.config.enable_auto_commit,
            reads_committed=self.config.reads_committed,
            look=self._look,
            check=self.check,
        )

    def _create_reports(self) -> None:
        """Create what tells the application of events, and of the health of the consumer."""
        self.events = ApplicationEvents(
            self.group,
            self.buffer,
            take_error=self.subscription_calls.take_error,
            check=self.check,
        )
        self.standing = Standing(
            self.client,
            self.partitions,
            self.buffer,
            self.reader,
            self.group,
            topic_errors=self.subscription_calls.topic_errors,
            handler_problems=self.handler_problems,
        )

    # -- life --------------------------------------------------------------------------------------

    def _spawn(self) -> None:
        spawn = self.client.supervisor.spawn
        spawn("resolve positions and fetch", self._fetch_loop.run())
        if self.group is not None:
            spawn("be a member of the group", self.group.driver.run())
            spawn("commit what is finished", self.group.commits.run())
        self.subscription_calls.start(self._topics)

    def _fetch(self) -> None:
        """Fetch into the room that the application has made by reading."""
        if not self._is_closed:
            self._fetch_loop.fetch()

    def _look(self) -> None:
        """Look for partitions to fetch or to resolve, because something has changed."""
        self._fetch_loop.look()

    async def begin_leaving(self, deadline: float) -> list[ApplicationEvent]:
        """Commit what is finished; return the last event for the application before it leaves."""
        return [] if self._is_closed else await self.events.at_the_end(deadline)

    async def close(self, deadline: float, leave_group: bool | None = None) -> None:
        """Leave the group and end, before the deadline; :meth:`begin_leaving` comes first."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self.group is not None:
                leave_deadline = before(deadline, 1, self.client.clock.now())
                leave = self.group.leave("consumer was closed", leave_group)
                await self.group.driver.tell_coordinator(leave, leave_deadline)
        finally:
            await self._end_client(deadline)

    @property
    def is_member(self) -> bool:
        return self.group is not None

    async def abandon(self, timeout: float | None = None) -> None:
        """Commit what is finished, leave and end."""
        deadlines = self.limits.closing(timeout)
        try:
            await self.begin_leaving(deadlines.commit)
        finally:
            await self.close(deadlines.end)
