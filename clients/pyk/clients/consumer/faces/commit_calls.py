"""The calls of a consumer that are about committed offsets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from pyk.clients.consumer.commits.offsets_argument import OffsetsToCommit
from pyk.clients.consumer.faces.async_commits import AsyncCommits, CommitCallback
from pyk.clients.consumer.faces.limits import CallLimits
from pyk.clients.consumer.positions.subscriptions import checked_partitions
from pyk.clients.errors import CommitFailedError, KafkaError, StateError
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from pyk.clients.consumer.group.consumer_group import ConsumerGroup
    from pyk.clients.consumer.group.group_commits import GroupCommits


class CommitCalls:
    """Commits offsets for the group of a consumer, and reads what is committed.

    ``ready`` starts the consumer if need be; it and ``check`` raise if the consumer cannot be used.
    All of it raises :class:`StateError` if the consumer has no ``group_id``.
    """

    def __init__(
        self,
        group: ConsumerGroup | None,
        limits: CallLimits,
        *,
        background: AsyncCommits,
        check: Callable[[], None],
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._group = group
        self._limits = limits
        self.background = background
        self._check = check
        self._ready = ready

    async def commit(self, wanted: OffsetsToCommit, timeout: float | None) -> None:
        """Commit offsets that the application names."""
        deadline = self._limits.deadline(timeout)
        await self._ready()
        commits = self._commits("commit")
        await self.background.settle(deadline)
        if wanted.offsets:
            await commits.commit(wanted, deadline)

    async def commit_all(self, timeout: float | None) -> None:
        """Commit everything that the application got so far."""
        deadline = self._limits.deadline(timeout)
        await self._ready()
        commits = self._commits("commit")
        await self.background.settle(deadline)
        await commits.commit_all(deadline)

    def commit_async(self, wanted: OffsetsToCommit | None, callback: CommitCallback | None) -> None:
        """Commit offsets, or everything that the application got so far, in the background."""
        self._check()
        commits = self._commits("commit")
        deadline = self._limits.deadline(None)
        lost: KafkaError | None = None
        try:
            offsets = commits.everything() if wanted is None else wanted
        except CommitFailedError as error:
            lost, offsets = error, OffsetsToCommit({})

        async def commit() -> None:
            await self._ready()
            if lost is not None:
                raise lost
            if offsets.offsets:
                await commits.commit(offsets, deadline)

        self.background.begin(offsets, callback, commit)

    async def committed(
        self, partitions: Iterable[tuple[str, int]], timeout: float | None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed, None where it has not."""
        await self._ready()
        commits = self._commits("read committed offsets")
        return await commits.fetch_committed(
            checked_partitions(partitions), self._limits.deadline(timeout)
        )

    def _commits(self, call: str) -> GroupCommits:
        if self._group is None:
            raise StateError(f"cannot {call} without a group: give the consumer a group_id")
        return self._group.commits
