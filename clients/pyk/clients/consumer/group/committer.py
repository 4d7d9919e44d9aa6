"""Store and read a group's offsets at its coordinator."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection

from pyk.clients.consumer.group.commits import (
    CommitOutcome,
    Identity,
    Offsets,
    Remedy,
    commit_error,
    commit_request,
    fetch_request,
    read_commit,
    read_fetch,
    remedy,
)
from pyk.clients.engine.client import Client
from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.errors import KafkaError, KafkaTimeoutError, error_for
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode

log = logging.getLogger(__name__)

# OffsetCommit names topics by id from version 10 on, OffsetFetch asks for several groups from 8 on.
LAST_COMMIT_VERSION_WITH_NAMES = 9
LAST_FETCH_VERSION_OF_ONE_GROUP = 7


class Committer:
    """Commits and reads the offsets of one group.

    ``identity`` says as whom to commit, None while nobody knows; ``is_rebalancing`` whether that is
    about to change. Commits are made one after the other, so that an older one never overtakes a
    newer.
    """

    def __init__(
        self,
        client: Client,
        group_id: str,
        identity: Callable[[], Identity | None],
        is_rebalancing: Callable[[], bool],
        *,
        require_stable: bool,
    ) -> None:
        self._client = client
        self._group_id = group_id
        self._identity = identity
        self._is_rebalancing = is_rebalancing
        self._require_stable = require_stable
        self._turn = asyncio.Lock()

    async def commit(
        self,
        offsets: Offsets,
        deadline: float,
        is_ours: Callable[[TopicPartition], bool] = lambda partition: True,
    ) -> None:
        """Store offsets, asking until the deadline, as long as ``is_ours`` says so of each.

        Raises :class:`CommitFailedError` where the group has given the partitions to others, what
        else does not pass, and :class:`KafkaTimeoutError`.
        """
        left = dict(offsets)
        failures = 0
        try:
            async with asyncio.timeout_at(deadline):
                async with self._turn:
                    while left:
                        self._check(left, is_ours)
                        left = await self._commit_some(left, failures, deadline)
                        failures += 1
        except TimeoutError as error:
            raise self._too_late(left) from error

    def _check(self, offsets: Offsets, is_ours: Callable[[TopicPartition], bool]) -> None:
        """Raise if a partition went to another member: its offset may be further by now."""
        for partition in offsets:
            if not is_ours(partition):
                raise commit_error(partition, ErrorCode.UNKNOWN_MEMBER_ID)

    async def _commit_some(
        self, offsets: dict[TopicPartition, OffsetAndMetadata], failures: int, deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Try once; return what is to be tried again, after a wait."""
        identity = self._identity()
        if identity is None and not self._is_rebalancing():
            raise commit_error(next(iter(offsets)), ErrorCode.UNKNOWN_MEMBER_ID)
        if identity is not None:
            outcome = await self._ask(identity, offsets, deadline)
            offsets = {p: offset for p, offset in offsets.items() if p not in outcome.stored}
            worst = outcome.worst()
            if worst is not None:
                self._follow(*worst, identity)
        if offsets:
            await self._wait(failures + 1)
        return offsets

    async def _ask(self, identity: Identity, offsets: Offsets, deadline: float) -> CommitOutcome:
        request = commit_request(self._group_id, identity, offsets)
        try:
            node_id = await self._coordinator(deadline)
            response = await self._client.send(
                node_id, request, min_version=2, max_version=LAST_COMMIT_VERSION_WITH_NAMES
            )
        except KafkaError as error:
            self._forget_coordinator_after(error)
            return CommitOutcome({}, dict.fromkeys(offsets, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return read_commit(offsets, response)

    def _follow(self, partition: TopicPartition, code: ErrorCode, asked_as: Identity) -> None:
        """Prepare for another try, or raise if there is no point in one."""
        log.debug("Commit of %s in group %s: %s", partition, self._group_id, code.name)
        match remedy(code):
            case Remedy.GIVE_UP:
                raise commit_error(partition, code)
            case Remedy.FIND_COORDINATOR:
                self._client.forget_coordinator(CoordinatorType.GROUP, self._group_id)
            case Remedy.REJOIN:
                is_hopeless = self._identity() == asked_as and not self._is_rebalancing()
                if is_hopeless and code is not ErrorCode.REBALANCE_IN_PROGRESS:
                    raise commit_error(partition, code)

    async def fetch(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed, None where it has not, asking until the deadline."""
        wanted = sorted(partitions)
        if not wanted:
            return {}

        async def ask() -> dict[TopicPartition, OffsetAndMetadata | None]:
            return await self._fetch_once(wanted, deadline)

        what = f"read the committed offsets of group {self._group_id!r}"
        return await self._client.retry(ask, deadline, what)

    async def _fetch_once(
        self, partitions: list[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        request = fetch_request(self._group_id, partitions, require_stable=self._require_stable)
        node_id = await self._coordinator(deadline)
        try:
            response = await self._client.send(
                node_id,
                request,
                min_version=7 if self._require_stable else 1,
                max_version=LAST_FETCH_VERSION_OF_ONE_GROUP,
            )
        except KafkaError as error:
            self._forget_coordinator_after(error)
            raise
        found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        for partition, answer in read_fetch(partitions, response).items():
            if isinstance(answer, ErrorCode):
                if remedy(answer) is Remedy.FIND_COORDINATOR:
                    self._client.forget_coordinator(CoordinatorType.GROUP, self._group_id)
                raise error_for(answer, topic=partition.topic, partition=partition.partition)
            found[partition] = answer
        return found

    async def _coordinator(self, deadline: float) -> int:
        return await self._client.coordinator(CoordinatorType.GROUP, self._group_id, deadline)

    def _forget_coordinator_after(self, error: KafkaError) -> None:
        if not error.retriable:
            raise error
        log.info("Coordinator of group %s did not answer: %s", self._group_id, error)
        self._client.forget_coordinator(CoordinatorType.GROUP, self._group_id)

    async def _wait(self, failures: int) -> None:
        chance = self._client.random.random()
        await asyncio.sleep(self._client.retry_backoff.delay(failures, chance))

    def _too_late(self, offsets: Offsets) -> KafkaTimeoutError:
        names = ", ".join(str(partition) for partition in sorted(offsets)[:5])
        return KafkaTimeoutError(
            f"the offsets of {len(offsets)} partitions ({names}) were not committed in time"
        )
