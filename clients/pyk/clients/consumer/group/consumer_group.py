"""A consumer's part in a group: membership, what it does to the assignment, and commits."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.buffer.fetch_buffer import EVENT, FetchBuffer
from pyk.clients.consumer.buffer.fetch_reader import FetchReader
from pyk.clients.consumer.commits.commits import AutoCommit, Finished, Offsets
from pyk.clients.consumer.commits.committer import Committer, is_ours_by, not_a_member
from pyk.clients.consumer.commits.offsets_argument import OffsetsToCommit
from pyk.clients.consumer.group.actions import ApplicationEvent, Assign, Leave, Lose, Revoke
from pyk.clients.consumer.group.membership_driver import MembershipDriver
from pyk.clients.consumer.group.protocols import new_membership
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

log = logging.getLogger(__name__)

Owners = Mapping[TopicPartition, Assignment]

# Seconds; an interval of 0 shall not keep the coordinator busy with nothing but commits.
SHORTEST_INTERVAL = 0.05


class ConsumerGroup:
    """What having a ``group_id`` brings: shared work, committed offsets, or only the latter.

    Rebalances reach the application as events. It takes one with :meth:`begin_event`, lets its
    listener run, and gives it back with :meth:`finish_event`.
    """

    def __init__(
        self,
        client: Client,
        config: ConsumerConfig,
        positions: Positions,
        buffer: FetchBuffer,
        reader: FetchReader,
        *,
        on_assigned: Callable[[], None],
    ) -> None:
        assert config.group_id is not None
        self._client = client
        self._config = config
        self._positions = positions
        self._buffer = buffer
        self._reader = reader
        self._on_assigned = on_assigned
        self._events: deque[ApplicationEvent] = deque()
        self._error_was_raised = False
        self._last_commit: asyncio.Task[None] | None = None
        self._heard: dict[TopicPartition, Assignment] = {}
        """The last assignment of each partition that the application knows of."""
        self._lost: list[TopicPartition] = []
        """Partitions of which something uncommitted was lost, until the application hears it."""
        self.group_id = config.group_id
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
        self.committer = Committer(
            client,
            config.group_id,
            lambda: membership.standing.identity,
            lambda: membership.standing.is_rebalancing,
            require_stable=config.reads_committed,
        )
        interval = max(config.auto_commit_interval_ms / 1000, SHORTEST_INTERVAL)
        self._auto_commit = AutoCommit(interval, client.clock.now())

    def _activity(self) -> int | None:
        return None if self._buffer.is_waiting else self._reader.calls + self._reader.taken

    # -- rebalances --------------------------------------------------------------------------------

    def _handle(self, event: ApplicationEvent) -> None:
        """Do what a change of the assignment asks for at once, and leave the rest as an event."""
        match event:
            case Assign():
                self._positions.assign(
                    sorted(event.added), self._client.clock.now(), has_group=True
                )
                self._hold(event.added)
                self._on_assigned()
            case Revoke():
                self._hold(event.partitions)
            case Lose():
                log.warning("Lost %d partitions in group %s", len(event.partitions), self.group_id)
                self._lost += self._uncommitted(event.partitions)
                self._drop(event.partitions)
                self._events = deque(e for e in self._events if not isinstance(e, Revoke))
                self._last_commit = None
        self._events.append(event)
        self._buffer.call_attention(EVENT)

    async def begin_event(self, deadline: float | None) -> ApplicationEvent | None:
        """Return what the application has to hear next, None if there is nothing yet.

        Before partitions are revoked, what is finished of them is committed. That may take longer
        than the caller has: it then hears of it when it comes again. Raises the error that keeps
        this member out of the group.
        """
        self.driver.notice_application()
        self._raise_error()
        if not self._events:
            return None
        event = self._events[0]
        if isinstance(event, Revoke) and not await self._has_committed(event, deadline):
            return None
        if isinstance(event, Assign):
            self.hear(event.added)
        return event

    async def _has_committed(self, event: Revoke, deadline: float | None) -> bool:
        if self._last_commit is None:
            committing = self.commit_finished(event.partitions, self._in_time())
            name = f"commit in group {self.group_id} before partitions are revoked"
            self._last_commit = self._client.supervisor.spawn(name, committing)
            self._last_commit.add_done_callback(lambda _: self._buffer.call_attention(EVENT))
        left = None if deadline is None else max(0.0, deadline - self._client.clock.now())
        await asyncio.wait({self._last_commit}, timeout=left)
        return self._last_commit.done()

    def finish_event(self, event: ApplicationEvent) -> None:
        """Take note that the application has heard of an event."""
        if not self._events or self._events[0] is not event:
            return  # partitions were lost meanwhile
        self._events.popleft()
        match event:
            case Assign():
                known = event.added & self._positions.partitions
                for partition in sorted(known - self._to_revoke()):
                    self._positions[partition].held_since = None
                    self._buffer.release(self._positions[partition].buffer)
            case Revoke():
                self._last_commit = None
                self._drop(event.partitions)
                self.driver.revoked(event)
            case Lose():
                self._lost.clear()

    def _to_revoke(self) -> frozenset[TopicPartition]:
        """Return the partitions that the application has to give up with a later event."""
        revokes = (event for event in self._events if isinstance(event, Revoke))
        return frozenset().union(*(event.partitions for event in revokes))

    def events_at_the_end(self) -> list[ApplicationEvent]:
        """Return what the application has to hear before this member leaves.

        Losses that it has not heard of, and the revocation of what it knows to be its own.
        """
        ends: list[ApplicationEvent] = []
        unheard: frozenset[TopicPartition] = frozenset()
        for event in self._events:
            if isinstance(event, Assign):
                unheard |= event.added
            elif isinstance(event, Lose) and event.partitions - unheard:
                ends.append(Lose(event.partitions - unheard))
        owned = frozenset(self._positions.partitions) - unheard
        if owned:
            ends.append(Revoke(owned))
        return ends

    def _hold(self, partitions: frozenset[TopicPartition]) -> None:
        now = self._client.clock.now()
        for partition in sorted(partitions & self._positions.partitions):
            self._positions[partition].held_since = now
            self._buffer.hold(self._positions[partition].buffer)

    def _uncommitted(self, partitions: frozenset[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions of which the application got something that is not committed."""
        return [
            assigned.topic_partition
            for assigned in self._positions
            if assigned.topic_partition in partitions
            and assigned.buffer.has_handed_out
            and self._auto_commit.is_behind(assigned.topic_partition, assigned.buffer.position)
        ]

    def hear(self, partitions: Iterable[TopicPartition]) -> None:
        """Take note that the application knows that these partitions are assigned."""
        for partition in partitions:
            if partition in self._positions:
                self._heard[partition] = self._positions[partition].buffer.assignment

    def _drop(self, partitions: Collection[TopicPartition]) -> None:
        """Have the application go without partitions, and commit nothing of them."""
        for assigned in self._positions:
            if assigned.topic_partition in partitions:
                assigned.buffer.assignment.is_lost = True
        self._positions.unassign(sorted(partitions))
        self._auto_commit.forget(partitions)

    def _raise_error(self) -> None:
        """Raise an error once, then try again; one that is fatal each time."""
        error = self.membership.error
        if error is None:
            self._error_was_raised = False
            self._raise_lasting_failure()
        elif self._error_was_raised and not error.fatal:
            self._error_was_raised = False
            self.driver.retry()
        else:
            self._error_was_raised = True
            raise error.with_traceback(None)

    def _raise_lasting_failure(self) -> None:
        """Raise what keeps the member from joining, when it is time to tell the application."""
        if self.membership.standing.is_joining:
            lasting = self.membership.failures.take_error(self._client.clock.now())
            if lasting is not None:
                raise lasting.with_traceback(None)

    def problem(self, now: float) -> KafkaError | None:
        """Return what has kept this member from its group for a while, None if nothing has."""
        return self.membership.error or self.membership.failures.problem(now)

    @property
    def is_member(self) -> bool:
        return self.membership.standing.is_member

    def leave(self, reason: str) -> Leave | None:
        """Drop what is assigned by the group, and return what is left to tell its coordinator."""
        self._events.clear()
        self._lost.clear()
        self._last_commit = None
        action = self.driver.end_membership(reason)
        self._drop(self._positions.partitions)
        self._heard.clear()
        return action

    # -- commits -----------------------------------------------------------------------------------

    def finished(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, Finished]:
        """Return where the group would go on, for each partition of which that is known."""
        found = {}
        for assigned in self._positions:
            partition = assigned.topic_partition
            if partitions is None or partition in partitions:
                offset, epoch = self._buffer.finished(assigned.buffer)
                if offset >= 0:
                    known_epoch = epoch if epoch >= 0 else None
                    target = OffsetAndMetadata(offset, "", known_epoch)
                    found[partition] = Finished(target, assigned.version)
        return found

    async def commit(self, wanted: OffsetsToCommit, deadline: float) -> None:
        """Commit offsets that the application names.

        Raises :class:`CommitFailedError` if the partition was lost of a record that is named, or,
        where only an offset is named, of what the application got last.
        """
        owners = {p: wanted.assignments.get(p) or self._heard.get(p) for p in wanted.offsets}
        versions = {p: self._positions[p].version for p in owners if p in self._positions}
        await self.committer.commit(wanted.offsets, deadline, is_ours_by(owners))
        self._stored(wanted.offsets, versions)

    async def commit_all(self, deadline: float) -> None:
        """Commit everything that the application got so far.

        Raises :class:`CommitFailedError` if something of it was lost, which the application has not
        heard yet.
        """
        if self._lost:
            raise not_a_member(self._lost[0])
        finished = self.finished()
        if finished:
            await self._commit(finished, self._owners(finished), deadline)

    async def commit_finished(
        self, partitions: Collection[TopicPartition] | None, deadline: float
    ) -> None:
        """Commit by itself what is finished; a failure is only logged."""
        if not self._config.enable_auto_commit:
            return
        finished = self._auto_commit.news(self.finished(partitions))
        if finished:
            await self._commit_or_log(finished, self._owners(finished), deadline)

    def commit_before_dropping(self, partitions: Collection[TopicPartition]) -> None:
        """Commit in the background what is finished of partitions that are about to be dropped."""
        if not self._config.enable_auto_commit:
            return
        finished = self._auto_commit.news(self.finished(partitions))
        if finished:
            committing = self._commit_or_log(finished, self._owners(finished), self._in_time())
            name = f"commit in group {self.group_id} before partitions are dropped"
            self._client.supervisor.spawn(name, committing)

    async def _commit_or_log(
        self, finished: Mapping[TopicPartition, Finished], owners: Owners, deadline: float
    ) -> None:
        try:
            await self._commit(finished, owners, deadline)
        except KafkaError as error:
            log.warning("Auto-commit in group %s failed: %s", self.group_id, error)

    def _owners(self, finished: Mapping[TopicPartition, Finished]) -> Owners:
        return {p: self._positions[p].buffer.assignment for p in finished}

    async def _commit(
        self, finished: Mapping[TopicPartition, Finished], owners: Owners, deadline: float
    ) -> None:
        offsets = {p: one.offset for p, one in finished.items()}
        await self.committer.commit(offsets, deadline, is_ours_by(owners))
        self._stored(offsets, {p: one.version for p, one in finished.items()})

    def _stored(self, offsets: Offsets, versions: Mapping[TopicPartition, int]) -> None:
        for partition, version in versions.items():
            if partition in self._positions:
                self._auto_commit.stored(partition, offsets[partition].offset, version)

    async def fetch_committed(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what is committed, None where nothing is."""
        return await self.committer.fetch(partitions, deadline)

    async def fetch_beginnings(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what is committed of partitions that are read on from there.

        That need not be committed again. Unless the application has sought meanwhile: it may have
        gone back.
        """
        versions = {p: self._positions[p].version for p in partitions if p in self._positions}
        found = await self.committer.fetch(partitions, deadline)
        known = {p: offset for p, offset in found.items() if offset is not None}
        self._stored(known, {p: version for p, version in versions.items() if p in known})
        return found

    async def run_auto_commit(self) -> None:
        """Commit what is finished every ``auto_commit_interval_ms``."""
        while True:
            await asyncio.sleep(max(0.0, self._auto_commit.due_at - self._client.clock.now()))
            self._auto_commit.began(self._client.clock.now())
            await self.commit_finished(None, self._in_time())

    def _in_time(self) -> float:
        return self._client.clock.now() + self._config.request_timeout_ms / 1000
