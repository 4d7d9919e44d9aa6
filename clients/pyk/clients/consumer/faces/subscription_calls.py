"""The calls of a consumer that say what to read, and what metadata make of that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.faces.limits import CallLimits
from pyk.clients.consumer.faces.rebalance_listener import RebalanceListener, check_listener
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.subscriptions import (
    SubscriptionKind,
    Subscriptions,
    checked_partitions,
)
from pyk.clients.consumer.positions.topic_patterns import AnyPattern
from pyk.clients.consumer.positions.topic_watch import TopicWatch
from pyk.clients.engine.client import Client
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import KafkaError, StateError
from pyk.clients.topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyk.clients.consumer.group.consumer_group import ConsumerGroup

log = logging.getLogger(__name__)

SUBSCRIPTION = "subscription"


class SubscriptionCalls:
    """Topics by name or by pattern, or partitions, and the partitions that follow from them.

    ``look`` makes the fetch loop look at what has changed; ``check`` raises if the consumer cannot
    be used.
    """

    def __init__(
        self,
        client: Client,
        partitions: AssignedPartitions,
        buffer: FetchBuffer,
        group: ConsumerGroup | None,
        *,
        limits: CallLimits,
        excludes_internal_topics: bool,
        group_resolves: bool,
        look: Callable[[], None],
        check: Callable[[], None],
    ) -> None:
        self.listener: RebalanceListener | None = None
        self._client = client
        self._partitions = partitions
        self._buffer = buffer
        self._group = group
        self._limits = limits
        self._look = look
        self._check = check
        self._subscriptions = Subscriptions(
            excludes_internal_topics=excludes_internal_topics, group_resolves=group_resolves
        )
        self._topic_watch = TopicWatch()

    # -- how it stands -----------------------------------------------------------------------------

    @property
    def topics(self) -> frozenset[str]:
        """The topics that were asked for, or that match the pattern now.

        If the group resolves the pattern, those of which this member has partitions.
        """
        if self._subscriptions.remote_pattern is not None:
            return self._assigned_topics()
        return self._subscriptions.topics

    def _assigned_topics(self) -> frozenset[str]:
        return frozenset(partition.topic for partition in self._partitions.topic_partitions)

    def check_reading(self) -> None:
        """Raise if the consumer cannot be used, or if no record could ever come."""
        self._check()
        if self._subscriptions.kind is SubscriptionKind.NONE:
            raise StateError("the consumer has nothing to read: call subscribe() or assign() first")

    def topic_errors(self) -> dict[str, KafkaError]:
        """Return what keeps wanted topics from being read."""
        return self._topic_watch.errors

    def take_error(self) -> KafkaError | None:
        """Return an error of a topic that the application has not got yet."""
        return self._topic_watch.take_error()

    # -- calls -------------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] | None,
        pattern: AnyPattern | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Read topics by name or by pattern instead of others."""
        self._check()
        check_listener(listener)
        self._subscriptions.subscribe(topics, pattern)
        self._topic_watch = TopicWatch()
        self.listener = listener
        if self._subscriptions.kind is SubscriptionKind.TOPICS:
            self._client.topics.use_all(enabled=False)
        else:
            self._client.topics.use_all()
            self._client.metadata_keeper.request_update()
            self._subscriptions.match(self._client.metadata)
        self._partitions.keep_topics(self.topics)
        self._follow_topics(is_first=True)

    def enforce_rebalance(self, reason: str | None) -> None:
        """Make the group divide its partitions again."""
        self._check()
        if self._group is None:
            raise StateError("cannot rebalance without a group: give the consumer a group_id")
        if not self._group.rejoin(reason or "the application enforces a rebalance"):
            log.warning(
                "enforce_rebalance has no effect with group_protocol='consumer': the coordinator "
                "decides when to rebalance"
            )

    async def unsubscribe(self) -> None:
        """Leave the group, and read nothing more; ``begin_leaving`` of the core comes first."""
        self._check()
        leave = None
        if self._group is not None and self._group.is_member:
            leave = self._group.leave("unsubscribed")
        self._partitions.unassign(self._partitions.topic_partitions)
        self._partitions.keep_topics(())
        self._client.topics.use_all(enabled=False)
        self._client.topics.use(SUBSCRIPTION, ())
        self._subscriptions.clear()
        self._topic_watch = TopicWatch()
        self.listener = None
        if self._group is not None:
            await self._group.driver.tell_coordinator(leave, self._limits.deadline(None))

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Read these partitions and no others."""
        self._check()
        wanted = checked_partitions(partitions)
        self._subscriptions.assign()
        self._topic_watch = TopicWatch()
        self._client.topics.use_all(enabled=False)
        self._client.topics.use(SUBSCRIPTION, {partition.topic for partition in wanted})
        unwanted = sorted(self._partitions.topic_partitions.difference(wanted))
        if self._group is not None:
            self._group.commits.commit_before_dropping(unwanted)
        self._partitions.unassign(unwanted)
        now = self._client.clock.now()
        self._partitions.assign(wanted, now, has_group=self._group is not None)
        if self._group is not None:
            self._group.commits.hear(wanted)
        self._look()

    # -- what follows ------------------------------------------------------------------------------

    def start(self, topics: Iterable[str] | None) -> None:
        """Begin with what was asked for so far, with ``topics`` if that is nothing."""
        self._client.metadata_keeper.add_listener(self._metadata_changed)
        if topics is not None and self._subscriptions.kind is SubscriptionKind.NONE:
            self.subscribe(topics)
        if self._subscriptions.has_topics:
            self._metadata_changed(self._client.metadata)

    def _metadata_changed(self, image: MetadataImage) -> None:
        gone = self._topic_watch.gone(self._client.clock.now())
        has_changed = self._subscriptions.match(image, gone)
        self._watch_topics(image)
        if has_changed or (self._group is None and self._subscriptions.has_topics):
            self._follow_topics(is_first=False)

    def _watch_topics(self, image: MetadataImage) -> None:
        """Detect subscribed topics that cannot be read, and request their metadata until they
        can."""
        subscriptions, watch = self._subscriptions, self._topic_watch
        topics = subscriptions.topics if subscriptions.has_topics else self._assigned_topics()
        now = self._client.clock.now()
        watch.observe(topics, subscriptions.pattern, image, now, self._partitions.topic_partitions)
        for error in watch.due_warnings(now):
            log.warning("%s", error)
        if watch.has_error:
            self._buffer.call_attention(EVENT)
        if image.awaits(topics) or watch.has_error:
            self._client.metadata_keeper.request_update()

    def _follow_topics(self, *, is_first: bool) -> None:
        """Take part in reading the topics; without a group, read all of their partitions."""
        subscribed, now = self._subscriptions.topics, self._client.clock.now()
        self._client.topics.use(SUBSCRIPTION, subscribed)
        if self._group is not None:
            self._group.driver.subscribe(subscribed, self._subscriptions.remote_pattern)
            return
        found = map(self._client.metadata.topic, sorted(subscribed - self._topic_watch.gone(now)))
        topics = {topic.name: topic for topic in found if topic is not None}
        partitions = [
            TopicPartition(name, partition.partition)
            for name, topic in topics.items()
            for partition in topic.partitions
        ]
        unwanted = sorted(self._partitions.topic_partitions.difference(partitions))
        if is_first:
            self._partitions.unassign(unwanted)
        self._partitions.set_aside(unwanted)
        topic_ids = {name: topic.topic_id for name, topic in topics.items()}
        self._partitions.assign(
            partitions, now, has_group=False, topic_ids=topic_ids, has_grown=not is_first
        )
        self._look()
