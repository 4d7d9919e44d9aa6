"""What a consumer is, on its event loop; the blocking and the asyncio face stand on it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random as randomness
import re
from collections.abc import Callable, Iterable

from pyk.clients.arguments import checked_count, checked_timeout
from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.buffer.fetch_buffer import CLOSED, EVENT, FORKED, FetchBuffer
from pyk.clients.consumer.buffer.fetch_reader import FetchReader
from pyk.clients.consumer.commits.offsets_argument import OffsetsToCommit
from pyk.clients.consumer.faces.closing import ClosingDeadlines, before, run_unattended
from pyk.clients.consumer.faces.health import (
    ConsumerHealth,
    ConsumerStats,
    partition_health,
)
from pyk.clients.consumer.faces.position_calls import PositionCalls
from pyk.clients.consumer.faces.rebalance_listener import RebalanceListener, check_listener
from pyk.clients.consumer.fetching.fetch_loop import FetchLoop
from pyk.clients.consumer.fetching.fetcher import Fetcher
from pyk.clients.consumer.group.actions import ApplicationEvent
from pyk.clients.consumer.group.consumer_group import ConsumerGroup
from pyk.clients.consumer.positions.offset_lookup import OffsetLookup
from pyk.clients.consumer.positions.position_resolver import PositionResolver
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.consumer.positions.subscriptions import (
    SubscriptionKind,
    Subscriptions,
    checked_partitions,
    named_topics,
)
from pyk.clients.consumer.positions.topic_watch import TopicWatch
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.engine.client import Client
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.engine.reachability import UnreachableNode
from pyk.clients.errors import ClosedError, StateError
from pyk.clients.topic_partition import (
    OffsetAndMetadata,
    TopicPartition,
)
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network

log = logging.getLogger(__name__)

SUBSCRIPTION = "subscription"


class ConsumerCore:
    """One consumer: its client, its partitions, and the tasks that keep records coming.

    Everything here is called on the loop of the client, but the ``reader``, with which the
    application takes records in its own thread.
    """

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
        self.client = Client(
            config,
            clock=clock,
            network=network,
            random=random,
            allow_auto_topic_creation=config.allow_auto_create_topics,
        )
        self.buffer = FetchBuffer(on_data, lambda: on_room(self._fetch), on_records)
        self.reader = FetchReader(
            self.buffer,
            Deserializers(config.key_deserializer, config.value_deserializer),
            config.max_poll_records,
        )
        self.listener: RebalanceListener | None = None
        self._topic_watch = TopicWatch()
        self.subscriptions = Subscriptions(excludes_internal_topics=config.exclude_internal_topics)
        self.positions = Positions(
            self.buffer,
            config.auto_offset_reset,
            self.client.retry_backoff,
            self.client.random.random,
        )
        self.lookup = OffsetLookup(self.client, read_committed=config.reads_committed)
        self.group = self._create_group() if config.group_id is not None else None
        self._create_fetching()
        self.client.on_failure = lambda: self.buffer.call_attention(EVENT)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False

    def _create_fetching(self) -> None:
        """Make what resolves positions and fetches, and the calls that ask about positions."""
        resolver = PositionResolver(
            self.client,
            self.positions,
            self.lookup,
            self.group.commits.fetch_beginnings if self.group is not None else None,
        )
        fetcher = Fetcher(self.client, self.config, self.positions, self.buffer)
        self._fetch_loop = FetchLoop(self.client, self.positions, resolver, fetcher)
        self.position_calls = PositionCalls(
            self.client,
            self.buffer,
            self.positions,
            self.lookup,
            resolver,
            look=self._look,
            check=self.check,
            ready=self.ready,
            deadline=self.deadline,
        )

    def _create_group(self) -> ConsumerGroup:
        return ConsumerGroup(
            self.client,
            self.config,
            self.positions,
            self.buffer,
            self.reader,
            on_assigned=self._look,
        )

    # -- life --------------------------------------------------------------------------------------

    async def start(self, timeout: float | None = None) -> None:
        """Connect, and begin with what was asked for so far."""
        async with self._starting:
            self.check()
            if self.is_started:
                return
            await self.client.start(timeout)
            self.client.metadata_keeper.add_listener(self._metadata_changed)
            if self._topics is not None and self.subscriptions.kind is SubscriptionKind.NONE:
                self.subscribe(self._topics, None, None)
            self._loop = asyncio.get_running_loop()
            spawn = self.client.supervisor.spawn
            spawn("resolve positions and fetch", self._fetch_loop.run())
            if self.group is not None:
                spawn("be a member of the group", self.group.driver.run())
                spawn("commit what is finished", self.group.commits.run())
            if self.subscriptions.has_topics:
                self._metadata_changed(self.client.metadata)

    @property
    def is_started(self) -> bool:
        return self._loop is not None

    async def ready(self) -> None:
        """Start, unless that was done; raise if the consumer cannot be used."""
        if not self.is_started:
            await self.start()
        self.check()

    def _fetch(self) -> None:
        """Fetch into the room that the application has made by reading."""
        if not self._is_closed:
            self._fetch_loop.fetch()

    def _look(self) -> None:
        """Look what there is to fetch, or to find out, now that something has changed."""
        self._fetch_loop.look()

    async def close(self, deadline: float) -> None:
        """Leave the group and end, before the deadline; :meth:`begin_leaving` comes first."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self.group is not None and self.group.is_member:
                leave_deadline = before(deadline, 1, self.client.clock.now())
                leave = self.group.leave("consumer was closed")
                await self.group.driver.tell_coordinator(leave, leave_deadline)
        finally:
            self.buffer.call_attention(CLOSED)
            left = max(0.0, deadline - self.client.clock.now())
            await self.client.close(left)

    async def abandon(self) -> None:
        """Commit what is finished, leave and end, because nobody has the consumer any more."""
        deadlines = self.closing(None)
        try:
            await self.begin_leaving(deadlines.commit)
        finally:
            await self.close(deadlines.end)

    def abandon_soon(self) -> None:
        """Have the consumer abandoned on its event loop; any thread may call it."""
        if self._loop is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(run_unattended, self.abandon)

    def closing(self, timeout: float | None) -> ClosingDeadlines:
        """Return how long a close that begins now may take."""
        return ClosingDeadlines.of(self.client.clock.now(), checked_timeout(timeout))

    def hurried_closing(self) -> ClosingDeadlines:
        """Return how long a close may still take that is cancelled now."""
        return ClosingDeadlines.hurried(self.client.clock.now())

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def check(self) -> None:
        """Raise if the consumer cannot be used."""
        self.client.guard.check()
        if self._is_closed:
            raise ClosedError("the consumer is closed")
        failure = self.client.failure
        if failure is not None:
            raise StateError(str(failure)) from failure.__cause__

    def check_reading(self) -> None:
        """Raise if the consumer cannot be used, or if no record could ever come."""
        self.check()
        if self.subscriptions.kind is SubscriptionKind.NONE:
            raise StateError("the consumer was not told what to read: subscribe or assign first")

    def forked(self) -> None:
        """Have the application notice, in a process forked off, whose consumer this is."""
        self.buffer.call_attention(FORKED)

    # -- what to read ------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] | None,
        pattern: str | re.Pattern[str] | None,
        listener: RebalanceListener | None,
    ) -> None:
        self.check()
        check_listener(listener)
        self.subscriptions.subscribe(topics, pattern)
        self._topic_watch = TopicWatch()
        self.listener = listener
        if self.subscriptions.kind is SubscriptionKind.PATTERN:
            self.client.topics.use_all()
            self.client.metadata_keeper.request_update()
            self.subscriptions.match(self.client.metadata)
        else:
            self.client.topics.use_all(enabled=False)
        self.positions.keep_topics(self.subscriptions.topics)
        self._follow_topics(is_first=True)

    def _metadata_changed(self, image: MetadataImage) -> None:
        gone = self._topic_watch.gone(self.client.clock.now())
        has_changed = self.subscriptions.match(image, gone)
        self._watch_topics(image)
        if has_changed or (self.group is None and self.subscriptions.has_topics):
            self._follow_topics(is_first=False)

    def _watch_topics(self, image: MetadataImage) -> None:
        """Notice wanted topics that cannot be read, and ask for them until they can."""
        subscriptions, watch = self.subscriptions, self._topic_watch
        assigned = {partition.topic for partition in self.positions.partitions}
        topics = subscriptions.topics if subscriptions.has_topics else assigned
        now = self.client.clock.now()
        watch.observe(topics, subscriptions.pattern, image, now, self.positions.partitions)
        for error in watch.due_warnings(now):
            log.warning("%s", error)
        if watch.has_error:
            self.buffer.call_attention(EVENT)
        if image.awaits(topics) or watch.has_error:
            self.client.metadata_keeper.request_update()

    def _follow_topics(self, *, is_first: bool) -> None:
        """Take part in reading the topics; without a group, read all of their partitions."""
        subscribed, now = self.subscriptions.topics, self.client.clock.now()
        self.client.topics.use(SUBSCRIPTION, subscribed)
        if self.group is not None:
            self.group.driver.subscribe(subscribed)
            return
        found = map(self.client.metadata.topic, sorted(subscribed - self._topic_watch.gone(now)))
        topics = {topic.name: topic for topic in found if topic is not None}
        partitions = [
            TopicPartition(name, partition.partition)
            for name, topic in topics.items()
            for partition in topic.partitions
        ]
        unwanted = sorted(self.positions.partitions.difference(partitions))
        if is_first:
            self.positions.unassign(unwanted)
        self.positions.set_aside(unwanted)
        topic_ids = {name: topic.topic_id for name, topic in topics.items()}
        self.positions.assign(
            partitions, now, has_group=False, topic_ids=topic_ids, has_grown=not is_first
        )
        self._look()

    async def unsubscribe(self) -> None:
        """Leave the group, and read nothing more; :meth:`begin_leaving` comes first."""
        self.check()
        leave = None
        if self.group is not None and self.group.is_member:
            leave = self.group.leave("unsubscribed")
        self.positions.unassign(self.positions.partitions)
        self.positions.keep_topics(())
        self.client.topics.use_all(enabled=False)
        self.client.topics.use(SUBSCRIPTION, ())
        self.subscriptions.clear()
        self._topic_watch = TopicWatch()
        self.listener = None
        if self.group is not None:
            await self.group.driver.tell_coordinator(leave, self.deadline(None))

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        self.check()
        wanted = checked_partitions(partitions)
        self.subscriptions.assign()
        self._topic_watch = TopicWatch()
        self.client.topics.use_all(enabled=False)
        self.client.topics.use(SUBSCRIPTION, {partition.topic for partition in wanted})
        unwanted = sorted(self.positions.partitions.difference(wanted))
        if self.group is not None:
            self.group.commits.commit_before_dropping(unwanted)
        self.positions.unassign(unwanted)
        now = self.client.clock.now()
        self.positions.assign(wanted, now, has_group=self.group is not None)
        if self.group is not None:
            self.group.commits.hear(wanted)
        self._look()

    # -- rebalances --------------------------------------------------------------------------------

    async def begin_event(self, deadline: float | None) -> ApplicationEvent | None:
        """Return what the application has to hear now, None if there is nothing.

        Attention is called for again unless there is nothing: the application may be kept from
        hearing the rest by an error, of its listener for instance, or by a signal.
        """
        self.check()
        self.buffer.clear_attention(EVENT)
        has_nothing = False
        try:
            error = self._topic_watch.take_error()
            if error is not None:
                raise error
            event = None if self.group is None else await self.group.begin_event(deadline)
            has_nothing = event is None
            return event
        finally:
            if not has_nothing:
                self.buffer.call_attention(EVENT)

    def finish_event(self, event: ApplicationEvent) -> None:
        if self.group is not None:
            self.group.finish_event(event)

    async def begin_leaving(self, deadline: float) -> list[ApplicationEvent]:
        """Commit what is finished, and return what the application has to hear before it leaves."""
        if self.group is None or self._is_closed:
            return []
        await self.group.commits.commit_finished(None, deadline)
        return self.group.events_at_the_end()

    # -- offsets -----------------------------------------------------------------------------------

    async def commit(self, wanted: OffsetsToCommit | None, timeout: float | None) -> None:
        await self.ready()
        group = self._needed_group("commit")
        if wanted is None:
            await group.commits.commit_all(self.deadline(timeout))
        elif wanted.offsets:
            await group.commits.commit(wanted, self.deadline(timeout))

    async def committed(
        self, partitions: Iterable[tuple[str, int]], timeout: float | None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        await self.ready()
        group = self._needed_group("read committed offsets")
        return await group.commits.fetch_committed(
            checked_partitions(partitions), self.deadline(timeout)
        )

    def _needed_group(self, call: str) -> ConsumerGroup:
        self.check()
        if self.group is None:
            raise StateError(f"cannot {call} without a group: give the consumer a group_id")
        return self.group

    # -- how it stands -----------------------------------------------------------------------------

    def stats(self) -> ConsumerStats:
        return ConsumerStats(
            records=self.reader.taken + self.reader.polled,
            assigned_partitions=len(self.positions.partitions),
            paused_partitions=sum(assigned.buffer.is_paused for assigned in self.positions),
            buffered_bytes=self.buffer.buffered_bytes,
        )

    def health(self) -> ConsumerHealth:
        now, image = self.client.clock.now(), self.client.metadata
        partitions = {
            assigned.topic_partition: partition_health(
                assigned,
                now,
                has_leader=image.leader(assigned.topic_partition) is not None,
            )
            for assigned in self.positions
        }
        member = self.group.membership if self.group is not None and self.group.is_member else None
        return ConsumerHealth(
            unreachable_nodes=tuple(node.told(now) for node in self._needed_but_unreachable()),
            group_state=member.standing.state if member is not None else None,
            group_error=self.client.failure or (self.group.problem(now) if self.group else None),
            partitions=partitions,
            topics=self._topic_watch.errors,
        )

    def _needed_but_unreachable(self) -> list[UnreachableNode]:
        """Return the unreachable nodes that lead what is assigned; all, while nothing is."""
        image = self.client.metadata
        leaders = {image.leader(assigned.topic_partition) for assigned in self.positions}
        return [
            node
            for node in self.client.pool.unreachable_nodes()
            if not leaders or node.node_id in leaders
        ]

    def deadline(self, timeout: float | None) -> float:
        """Return when a call must end; without a limit of its own after the default for calls."""
        seconds = checked_timeout(timeout)
        if seconds is None:
            seconds = self.config.default_api_timeout_ms / 1000
        return self.client.clock.now() + seconds

    def poll_deadline(self, timeout: float | None) -> float | None:
        """Return when a poll must end, None if it has no limit."""
        seconds = checked_timeout(timeout)
        return None if seconds is None else self.client.clock.now() + seconds

    def poll_limit(self, max_records: int | None) -> int:
        """Return how many records a poll may return."""
        if max_records is None:
            return self.config.max_poll_records
        return checked_count(max_records, "max_records")
