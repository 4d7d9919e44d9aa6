"""One share consumer on its event loop: its parts, put together, and their life."""

from __future__ import annotations

import asyncio
import random as randomness
from collections.abc import Callable, Iterable

from pyk.clients.config import ShareConsumerConfig
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.faces.closing import before
from pyk.clients.consumer.faces.limits import CallLimits
from pyk.clients.consumer.faces.reading_core import ReadingCore
from pyk.clients.consumer.group.actions import Leave
from pyk.clients.consumer.positions.subscriptions import named_topics
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_commits import ShareCommits
from pyk.clients.share.share_group import ShareGroup
from pyk.clients.share.share_health import (
    ShareConsumerHealth,
    ShareConsumerStats,
    SharePartitionHealth,
    SharePartitionState,
)
from pyk.clients.share.share_reader import ShareReader
from pyk.clients.share.share_subscription import ShareSubscription
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network


class ShareCore(ReadingCore):
    """One share consumer: its client, its group and leaders, and the records that it holds."""

    config: ShareConsumerConfig
    buffer: ShareBuffer
    reader: ShareReader
    subscription_calls: ShareSubscription

    def __init__(
        self,
        config: ShareConsumerConfig,
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
        buffer = ShareBuffer(on_data, lambda: on_room(self._visit))
        deserializers = Deserializers(config.key_deserializer, config.value_deserializer)
        reader = ShareReader(
            buffer, deserializers, client.clock.now, is_explicit=config.is_explicit
        )
        super().__init__(client, buffer, reader, CallLimits(config, client.clock))
        self.group = ShareGroup(client, config, buffer, reader)
        self.fetcher = self.group.fetcher
        self.commits = ShareCommits(client, buffer, self.fetcher)
        self.subscription_calls = ShareSubscription(client, buffer, self.group, self.check)

    def _spawn(self) -> None:
        self.client.supervisor.spawn("be a member of the share group", self.group.driver.run())
        self.subscription_calls.start(self._topics)

    def _visit(self) -> None:
        """Send what the application has acknowledged, and fetch what it needs."""
        if not self._is_closed:
            self.fetcher.visit()

    async def attend(self) -> None:
        """Raise what the application has to know.

        After an error attention is called for again: others may follow, and a member that was
        refused joins once more when its application goes on.
        """
        self.check()
        self.buffer.clear_attention(EVENT)
        self.group.driver.notice_application()
        errors = self.fetcher.answers.errors
        try:
            error = self.subscription_calls.take_error() or (errors.popleft() if errors else None)
            if error is not None:
                raise error
            self.group.errors.raise_due()
        except KafkaError:
            self.buffer.call_attention(EVENT)
            raise

    def commit_soon(self) -> None:
        """Send what the application has acknowledged."""
        self.check()
        self._visit()

    async def unsubscribe(self) -> None:
        """Give back what is acquired, leave the group, and read nothing more."""
        self.check()
        deadline = self.limits.deadline(None)
        self.subscription_calls.clear()
        await self._leave("unsubscribed", deadline)

    async def _leave(self, reason: str, deadline: float) -> None:
        """End the membership; also if the caller is cancelled, tell that to all brokers."""
        telling = self._tell_brokers(self.group.leave(reason), deadline)
        await asyncio.wait({self.client.supervisor.spawn("leave share group", telling)})

    async def _tell_brokers(self, leave: Leave | None, deadline: float) -> None:
        """End the share sessions, which gives back all that is acquired, and leave the group."""
        await self.fetcher.close(deadline)
        await self.group.driver.tell_coordinator(leave, deadline)

    async def finish(self, deadline: float) -> None:
        """Send the last acknowledgements and leave; :meth:`close` comes afterwards."""
        if not self._is_closed and self.is_started:
            await self._leave("consumer was closed", before(deadline, 1, self.client.clock.now()))

    async def close(self, deadline: float) -> None:
        """End, before the deadline."""
        if not self._is_closed:
            self._is_closed = True
            await self._end_client(deadline)

    @property
    def is_member(self) -> bool:
        return True

    async def abandon(self, timeout: float | None = None) -> None:
        """Leave and end: what it had is delivered again."""
        deadlines = self.limits.closing(timeout)
        try:
            await self.finish(deadlines.commit)
        finally:
            await self.close(deadlines.end)

    # -- how it stands -----------------------------------------------------------------------------

    def lock_timeout_ms(self) -> int | None:
        """Return how long acquired records stay locked, None before the first were acquired."""
        return self.fetcher.answers.lock_timeout_ms

    def stats(self) -> ShareConsumerStats:
        """Return the consumer's counters at this moment."""
        return ShareConsumerStats(
            records=self.reader.taken + self.reader.polled,
            acknowledged=self.commits.acknowledged,
            failed_acknowledgements=self.commits.failed,
            expired=self.buffer.expired,
            pending_acknowledgements=sum(
                leader.pending_count for leader in list(self.fetcher.leaders.values())
            ),
            assigned_partitions=len(self.fetcher.assigned),
        )

    def health(self) -> ShareConsumerHealth:
        """Return the state of each partition, and of the membership, at this moment."""
        now, image = self.client.clock.now(), self.client.metadata
        buffered = {acquired.partition for acquired in list(self.buffer.queue)}
        partitions = {}
        for one in self.fetcher.assigned:
            node_id = image.leader(one.topic_partition)
            leader = None if node_id is None else self.fetcher.leaders.get(node_id)
            error = self.fetcher.answers.error_of(one)
            if error is None and leader is not None:
                error = leader.error
            if one in buffered:
                state = SharePartitionState.BUFFERED
            elif node_id is None:
                state = SharePartitionState.WITHOUT_LEADER
            elif error is not None:
                state = SharePartitionState.FAILING
            else:
                state = SharePartitionState.FETCHING
            partitions[one.topic_partition] = SharePartitionHealth(state, error)
        standing = self.group.membership.standing
        return ShareConsumerHealth(
            group_state=standing.state if standing.is_member else None,
            group_error=self.client.failure or self.group.errors.problem(now),
            partitions=partitions,
            acknowledgement_error=self.commits.error,
            handlers=self.handler_problems(now),
            unreachable_nodes=tuple(
                node.told(now) for node in self.client.pool.unreachable_nodes()
            ),
            topics=self.subscription_calls.errors,
        )
