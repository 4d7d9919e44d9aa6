"""A consumer's part in a group: membership, and what it does to the assignment."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection
from uuid import UUID

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.buffer.fetch_reader import FetchReader
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.group.actions import ApplicationEvent, Assign, Leave, Lose, Revoke
from pyk.clients.consumer.group.group_commits import GroupCommits
from pyk.clients.consumer.group.membership_driver import MembershipDriver
from pyk.clients.consumer.group.membership_errors import MembershipErrors
from pyk.clients.consumer.group.protocols import new_membership
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError
from pyk.clients.offsets import OUTSIDER, ConsumerGroupMetadata
from pyk.clients.topic_partition import TopicPartition

log = logging.getLogger(__name__)


class ConsumerGroup:
    """The group of a consumer with a ``group_id``: membership and committed offsets, or only
    offsets.

    Rebalances reach the application as events. It takes one with :meth:`begin_event`, lets its
    listener run, and gives it back with :meth:`finish_event`.
    """

    def __init__(
        self,
        client: Client,
        config: ConsumerConfig,
        partitions: AssignedPartitions,
        writer: FetchWriter,
        reader: FetchReader,
        *,
        on_assigned: Callable[[], None],
    ) -> None:
        assert config.group_id is not None
        self._client = client
        self._partitions = partitions
        self._writer = writer
        self._buffer = buffer = writer.buffer
        self._reader = reader
        self._on_assigned = on_assigned
        self._events: deque[ApplicationEvent] = deque()
        self._last_commit: asyncio.Task[None] | None = None
        self._topic_ids: dict[str, UUID] = {}
        """The last id of each topic, where the group assigns them by id."""
        self._assigned_as = OUTSIDER
        """The identity under which the application got the partitions it knows."""
        self.group_id = config.group_id
        self._group_instance_id = config.group_instance_id
        self.membership = membership = new_membership(client, config)
        self.driver = MembershipDriver(
            client,
            config.group_id,
            membership,
            on_event=self._handle,
            on_failure=lambda: buffer.call_attention(EVENT),
            activity=self._activity,
            look_interval=config.heartbeat_interval_ms / 1000,
        )
        self._errors = MembershipErrors(membership, self.driver.retry, client.clock.now)
        self.commits = GroupCommits(client, config, partitions, buffer, membership)
        self.progress = self.commits.progress
        self.losses = self.commits.losses

    def _activity(self) -> int | None:
        return None if self._buffer.is_waiting else self._reader.calls + self._reader.taken

    def rejoin(self, reason: str) -> bool:
        """Ask for a rebalance; return False if the protocol leaves that to the coordinator."""
        return self.driver.rejoin(reason)

    # -- rebalances --------------------------------------------------------------------------------

    def _handle(self, event: ApplicationEvent) -> None:
        """Apply a change of the assignment at once, and leave the application's part as an
        event."""
        match event:
            case Assign():
                if not self._unheard_losses():
                    self._assigned_as = self.membership.standing.identity or OUTSIDER
                self._partitions.assign(
                    sorted(event.added), self._client.clock.now(), has_group=True
                )
                self._note_topics(event)
                self._hold(event.added)
                self._on_assigned()
            case Revoke():
                self._hold(event.partitions)
            case Lose():
                log.warning("Lost %d partitions in group %s", len(event.partitions), self.group_id)
                self.losses.lose(self.progress.uncommitted(event.partitions))
                self._drop(event.partitions)
                self._events = deque(e for e in self._events if not isinstance(e, Revoke))
                self._last_commit = None
        self._events.append(event)
        self._buffer.call_attention(EVENT)

    def _note_topics(self, event: Assign) -> None:
        """Note the ids of assigned topics. One that was created again is read from its beginning,
        unless an offset of it is committed."""
        before = self._topic_ids
        self._topic_ids = {**before, **event.topic_ids}
        for partition in event.added:
            topic_id = event.topic_ids.get(partition.topic)
            if topic_id is not None:
                assigned = self._partitions[partition]
                assigned.bind(topic_id)
                if before.get(partition.topic, topic_id) != topic_id:
                    assigned.first_version = assigned.version

    async def begin_event(self, deadline: float | None) -> ApplicationEvent | None:
        """Return the next event for the application, None if there is none yet.

        Before partitions are revoked, what is finished of them is committed. That may take longer
        than the caller has: then the next call returns the event. Raises the error that keeps this
        member out of the group.
        """
        self.driver.notice_application()
        self._errors.raise_due()
        if not self._events:
            return None
        event = self._events[0]
        if isinstance(event, Revoke) and not await self._has_committed(event, deadline):
            return None
        if isinstance(event, Assign):
            self.commits.hear(event.added)
        return event

    async def _has_committed(self, event: Revoke, deadline: float | None) -> bool:
        """Return whether the event may be told: False also if it is void now.

        While this waits, the group may take the partitions away, or the consumer may be closed.
        """
        committing = self._last_commit
        if committing is None:
            name = f"commit in group {self.group_id} before partitions are revoked"
            committing = self._last_commit = self._client.supervisor.spawn(
                name, self.commits.commit_finished(event.partitions)
            )
            committing.add_done_callback(lambda _: self._buffer.call_attention(EVENT))
        left = None if deadline is None else max(0.0, deadline - self._client.clock.now())
        await asyncio.wait({committing}, timeout=left)
        return committing.done() and committing is self._last_commit

    def finish_event(self, event: ApplicationEvent) -> None:
        """Note that the application has handled an event."""
        if not self._events or self._events[0] is not event:
            return  # partitions were lost meanwhile
        self._events.popleft()
        match event:
            case Assign():
                known = event.added & self._partitions.topic_partitions
                for partition in sorted(known - self._to_revoke()):
                    self._partitions[partition].progress.held_since = None
                    self._writer.release(self._partitions[partition].buffer)
            case Revoke():
                self._last_commit = None
                self._drop(event.partitions)
                self.driver.revoked(event)
            case Lose():
                self.losses.heard()

    def _to_revoke(self) -> frozenset[TopicPartition]:
        """Return the partitions that the application has to give up with a later event."""
        revokes = (event for event in self._events if isinstance(event, Revoke))
        return frozenset().union(*(event.partitions for event in revokes))

    def has_unheard_loss(self, partition: TopicPartition) -> bool:
        """Return whether the application believes that it still has a partition that was lost.

        It may be assigned again: then the application speaks of the assignment before.
        """
        return any(partition in loss.partitions for loss in self._unheard_losses())

    def _unheard_losses(self) -> list[Lose]:
        """Return the losses of partitions that the application has heard of, but not of these."""
        losses: list[Lose] = []
        new: frozenset[TopicPartition] = frozenset()
        for event in self._events:
            if isinstance(event, Assign):
                new |= event.added
            elif isinstance(event, Lose) and event.partitions - new:
                losses.append(Lose(event.partitions - new))
        return losses

    def events_at_the_end(self) -> list[ApplicationEvent]:
        """Return the last event for the application before this member leaves.

        It has losses that the application has not heard of, and the revocation of its partitions.
        """
        ends: list[ApplicationEvent] = [*self._unheard_losses()]
        assigns = (event for event in self._events if isinstance(event, Assign))
        owned = frozenset(self._partitions.topic_partitions).difference(
            *(assign.added for assign in assigns)
        )
        if owned:
            ends.append(Revoke(owned))
        return ends

    def _hold(self, partitions: frozenset[TopicPartition]) -> None:
        now = self._client.clock.now()
        for partition in sorted(partitions & self._partitions.topic_partitions):
            self._partitions[partition].progress.held_since = now
            self._writer.hold(self._partitions[partition].buffer)

    def _drop(self, partitions: Collection[TopicPartition]) -> None:
        """Take partitions away from the application, and commit nothing of them."""
        self.losses.take_away(self.progress.uncommitted(partitions))
        for assigned in self._partitions:
            if assigned.topic_partition in partitions:
                assigned.buffer.assignment.is_lost = True
        self._partitions.unassign(sorted(partitions))
        self.progress.forget(partitions)

    def problem(self, now: float) -> KafkaError | None:
        """Return the error that has kept this member from its group for a while, None if there is
        none."""
        return self._errors.problem(now)

    @property
    def is_member(self) -> bool:
        return self.membership.standing.is_member

    @property
    def may_commit(self) -> bool:
        """Return whether offsets may be committed now: as a member, or from outside of the
        group."""
        return self.membership.standing.identity is not None

    @property
    def metadata(self) -> ConsumerGroupMetadata:
        """Return the member that the application knows, for offsets in a transaction (KIP-447).

        After a loss that is the one of before, until the application has heard of it and the member
        is in its group again: a coordinator fences that one, but takes offsets of outsiders.
        """
        identity = self.membership.standing.identity
        if identity is None or self._unheard_losses():
            identity = self._assigned_as
        return ConsumerGroupMetadata(
            self.group_id, identity.generation_id, identity.member_id, self._group_instance_id
        )

    def leave(self, reason: str, leave_group: bool | None = None) -> Leave | None:
        """Drop the assignment of the group, and return what is left to tell its coordinator."""
        self._events.clear()
        self._last_commit = None
        action = self.driver.end_membership(reason, leave_group)
        self._drop(self._partitions.topic_partitions)
        self.commits.leave()
        return action
