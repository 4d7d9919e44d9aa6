"""The commits of a group member: of offsets that the application names, and of finished ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.commits.commits import AutoCommit, Finished, Offsets, of_another_topic
from pyk.clients.consumer.commits.committer import Committer, is_ours_by
from pyk.clients.consumer.commits.offsets_argument import OffsetsToCommit
from pyk.clients.consumer.group.commit_progress import CommitProgress
from pyk.clients.consumer.group.losses import Losses
from pyk.clients.consumer.group.membership import Membership
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, OffsetMetadataTooLargeError, StateError
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

log = logging.getLogger(__name__)

Owners = Mapping[TopicPartition, Assignment]

# Seconds; even an interval of 0 must not flood the coordinator with commits.
SHORTEST_INTERVAL = 0.05


class GroupCommits:
    """Commits offsets of one group, but never of partitions that the group took away."""

    def __init__(
        self,
        client: Client,
        config: ConsumerConfig,
        partitions: AssignedPartitions,
        buffer: FetchBuffer,
        membership: Membership,
    ) -> None:
        assert config.group_id is not None
        self._client = client
        self._config = config
        self._group_id = config.group_id
        self._partitions = partitions
        self._heard: dict[TopicPartition, Assignment] = {}
        """The last assignment of each partition that the application knows of."""
        self._committer = Committer(
            client,
            config.group_id,
            lambda: membership.standing.identity,
            lambda: membership.standing.is_rebalancing,
            require_stable=config.reads_committed,
        )
        interval = max(config.auto_commit_interval_ms / 1000, SHORTEST_INTERVAL)
        self._auto_commit = AutoCommit(interval, client.clock.now())
        self.progress = CommitProgress(partitions, buffer, self._auto_commit)
        self.losses = Losses()

    # -- what the group does -----------------------------------------------------------------------

    def hear(self, partitions: Iterable[TopicPartition]) -> None:
        """Record that the application knows that these partitions are assigned."""
        for partition in partitions:
            if partition in self._partitions:
                self._heard[partition] = self._partitions[partition].buffer.assignment

    def leave(self) -> None:
        """Forget all that belongs to a membership that ends."""
        self.losses.heard()
        self._heard.clear()

    # -- commits -----------------------------------------------------------------------------------

    def stored_by_transaction(
        self, offsets: Offsets, versions: Mapping[TopicPartition, int]
    ) -> None:
        """Record that a producer has committed offsets of these positions."""
        self.progress.stored(offsets, versions)
        self.losses.stored_by_transaction(offsets)

    async def commit(self, wanted: OffsetsToCommit, deadline: float) -> None:
        """Commit offsets that the application names.

        Raises :class:`CommitFailedError` if the partition of a named record was lost since; for a
        named offset, that of the last record that the application got. So it does, once the others
        are stored, if the topic of a named record was deleted and created again.
        :class:`StateError` for records that another consumer handed out.
        """
        self._check_handed_out(wanted)
        topic_ids, former = self._topics_of(wanted)
        offsets = {p: offset for p, offset in wanted.offsets.items() if p not in former}
        owners = {p: wanted.assignments.get(p) or self._heard.get(p) for p in offsets}
        versions = {p: self._partitions[p].version for p in owners if p in self._partitions}
        await self._committer.commit(offsets, deadline, is_ours_by(owners), topic_ids)
        self.progress.stored(offsets, versions)
        if former:
            error = of_another_topic(former[0])
            error.definite = not offsets
            raise error

    def _check_handed_out(self, wanted: OffsetsToCommit) -> None:
        """Raise for records of another consumer: this one's group may not have read up to them."""
        for partition, assignment in wanted.assignments.items():
            if assignment.consumer is not self._partitions.consumer:
                raise StateError(
                    f"the record of {partition} was handed out by another consumer: commit it "
                    "there, or name the offset as {TopicPartition(…): offset}"
                )

    def everything(self) -> OffsetsToCommit:
        """Return the offsets of everything that the application got so far.

        Raises :class:`CommitFailedError` if some of it was lost and the application does not know.
        """
        self.losses.check_heard()
        finished = self.progress.finished()
        return OffsetsToCommit(
            {p: one.offset for p, one in finished.items()}, dict(self._owners(finished))
        )

    async def commit_all(self, deadline: float) -> None:
        """Commit everything that the application got so far.

        Raises :class:`CommitFailedError` if some of it was lost and the application does not know.
        """
        self.losses.check_heard()
        finished = self.progress.finished()
        if finished:
            await self._commit(finished, self._owners(finished), deadline)

    @property
    def commits_by_itself(self) -> bool:
        """Whether finished offsets are committed without a call: also under ``process()``, unless
        that has transactions."""
        handled = self.progress.handled
        return self._config.enable_auto_commit if handled is None else handled.commits_by_itself

    async def commit_finished(
        self, partitions: Collection[TopicPartition] | None, deadline: float | None = None
    ) -> None:
        """Auto-commit what is finished; a failure is only logged.

        Without a deadline it takes no longer than a request may.
        """
        if not self.commits_by_itself:
            return
        finished = self.progress.news(partitions)
        if finished:
            end = self._in_time() if deadline is None else deadline
            await self._commit_or_log(finished, self._owners(finished), end)

    def commit_before_dropping(self, partitions: Collection[TopicPartition]) -> None:
        """Commit in the background what is finished of partitions that are about to be dropped."""
        if not self.commits_by_itself:
            return
        finished = self.progress.news(partitions)
        if finished:
            committing = self._commit_or_log(finished, self._owners(finished), self._in_time())
            name = f"commit in group {self._group_id} before partitions are dropped"
            self._client.supervisor.spawn(name, committing)

    async def _commit_or_log(
        self, finished: Mapping[TopicPartition, Finished], owners: Owners, deadline: float
    ) -> None:
        try:
            await self._commit(finished, owners, deadline, only_news=True)
        except OffsetMetadataTooLargeError as error:
            handled = self.progress.handled
            if handled is None or not handled.shorten_notes():
                log.warning("Auto-commit in group %s failed: %s", self._group_id, error)
            else:
                await self.commit_finished(finished, deadline)
        except KafkaError as error:
            log.warning("Auto-commit in group %s failed: %s", self._group_id, error)

    def _owners(self, finished: Mapping[TopicPartition, Finished]) -> Owners:
        return {p: self._partitions[p].buffer.assignment for p in finished}

    async def _commit(
        self,
        finished: Mapping[TopicPartition, Finished],
        owners: Owners,
        deadline: float,
        *,
        only_news: bool = False,
    ) -> None:
        """Commit what is finished, with ``only_news`` as far as that is wanted once it is its turn:
        no commit before has gone beyond it, and its partition is still the one that was read."""
        wanted = finished

        def still_wanted() -> Collection[TopicPartition]:
            nonlocal wanted
            if only_news:
                news = self._auto_commit.news(finished)
                wanted = {p: one for p, one in news.items() if self._is_same(p, owners[p])}
            return wanted

        offsets = {p: one.offset for p, one in finished.items()}
        topic_ids = self._topic_ids(offsets)
        await self._committer.commit(offsets, deadline, is_ours_by(owners), topic_ids, still_wanted)
        self.progress.stored(offsets, {p: one.version for p, one in wanted.items()})

    def _is_same(self, partition: TopicPartition, owner: Assignment) -> bool:
        """Return whether a partition was not lost, nor its topic recreated, since it had this
        owner: it would keep the others of a commit from being stored."""
        is_of_another_topic = partition in self._partitions and (
            self._partitions[partition].is_disputed
            or self._partitions[partition].buffer.assignment is not owner
        )
        if owner.is_lost or is_of_another_topic:
            log.info("The offset of %s is not committed: it went away meanwhile", partition)
            return False
        return True

    def _topic_ids(self, partitions: Iterable[TopicPartition]) -> dict[str, UUID]:
        """Return the ids of the topics that are read now, of those that are known."""
        return {
            p.topic: topic_id
            for p in partitions
            if p in self._partitions and (topic_id := self._partitions[p].topic_id) is not None
        }

    def _topics_of(self, wanted: OffsetsToCommit) -> tuple[dict[str, UUID], list[TopicPartition]]:
        """Return the topics that offsets are of, and the partitions with offsets of a topic that is
        no longer that of its name."""
        topic_ids = self._topic_ids(wanted.offsets)
        former = [
            partition
            for partition, assignment in wanted.assignments.items()
            if (read_id := assignment.topic_id) is not None
            and topic_ids.setdefault(partition.topic, read_id) != read_id
        ]
        return topic_ids, former

    async def fetch_committed(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets, None for partitions without one."""
        return await self._committer.fetch(partitions, deadline)

    async def fetch_beginnings(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets from which partitions are read on.

        Partitions whose offset an open transaction may still change are left out. The others need
        not be committed again, unless the application has called ``seek`` meanwhile.
        """
        versions = {p: self._partitions[p].version for p in partitions if p in self._partitions}
        found = await self._committer.fetch_stable(partitions, deadline)
        known = {p: offset for p, offset in found.items() if offset is not None}
        self.progress.stored(known, {p: version for p, version in versions.items() if p in known})
        return found

    async def fetch_settled(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets, without those that an open transaction may still change,
        also if this consumer reads uncommitted records."""
        return await self._committer.fetch_stable(partitions, deadline, is_required=True)

    async def run(self) -> None:
        """Commit what is finished every ``auto_commit_interval_ms``."""
        while True:
            await asyncio.sleep(max(0.0, self._auto_commit.due_at - self._client.clock.now()))
            self._auto_commit.began(self._client.clock.now())
            await self.commit_finished(None)

    def _in_time(self) -> float:
        return self._client.clock.now() + self._config.request_timeout_ms / 1000
