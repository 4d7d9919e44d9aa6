"""Store and read a group's offsets at its coordinator."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from pyk.clients.consumer.commits.commits import (
    ON_ITS_WAY,
    CommitErrorAction,
    Offsets,
    UnstableOffsets,
    action_after,
    commit_error,
    not_a_member,
    of_another_topic,
    worst,
)
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.engine.client import Client
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.engine.responses import result_for_each, without_errors
from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    UnstableOffsetCommitError,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.offsets import (
    COMMIT_VERSION_WITH_TOPIC_IDS,
    FIRST_COMMIT_VERSION,
    FIRST_FETCH_VERSION,
    LAST_COMMIT_VERSION,
    LAST_FETCH_VERSION,
    NO_IDS,
    OUTSIDER,
    Identity,
    TopicIds,
    committed_offsets,
    fetched_offsets,
    offset_commit_request,
    offset_fetch_request,
)
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.clients.wording import because, counted
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest

log = logging.getLogger(__name__)

FetchOffsets = Callable[
    [list[TopicPartition]], Awaitable[dict[TopicPartition, OffsetAndMetadata | None]]
]

# A broker that has just started knows no partition for a moment; a partition that is still unknown
# after so many tries (about two seconds) does not exist.
UNKNOWN_TRIES = 5


class Committer:
    """Commits and reads the offsets of one group.

    ``identity`` returns the member to commit as, None while it is unknown; ``is_rebalancing``
    returns whether it is about to change. Commits are made one after the other, so that an older
    one never overtakes a newer.
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
        self._unstable = UnstableOffsets()

    async def commit(
        self,
        offsets: Offsets,
        deadline: float,
        is_ours: Callable[[TopicPartition], bool],
        topic_ids: TopicIds = NO_IDS,
        still_wanted: Callable[[], Collection[TopicPartition]] | None = None,
    ) -> None:
        """Store offsets, retrying until the deadline, as long as ``is_ours`` is true for each
        partition.

        ``topic_ids`` are those of the topics that were read: one that was created again since gets
        none of their offsets, which is raised once the others are stored. ``still_wanted`` tells
        which of the offsets are, once the commits before this one have ended.

        Raises :class:`CommitFailedError` if the group has given the partitions to other members,
        other errors that are not retriable, and :class:`KafkaTimeoutError`. They are definite if
        certainly none of the offsets was stored.
        """
        tries = _Tries(dict(offsets), topic_ids)
        try:
            async with asyncio.timeout_at(deadline):
                async with self._turn:
                    if still_wanted is not None:
                        tries.left = {p: offsets[p] for p in still_wanted()}
                    while tries.left:
                        self._check(tries, is_ours)
                        if tries.left:
                            await self._commit_some(tries, deadline)
                    if tries.refusal is not None:
                        raise tries.refusal
        except TimeoutError as error:
            raise self._too_late(tries) from error
        except KafkaError as error:
            if not tries.may_be_stored:
                raise
            own = copy_to_raise(error)
            own.definite = False
            raise own from error.__cause__

    def _check(self, tries: _Tries, is_ours: Callable[[TopicPartition], bool]) -> None:
        """Raise if a partition went to another member, which may have committed a higher offset;
        drop what was read from another topic of that name."""
        for partition in list(tries.left):
            if not is_ours(partition):
                raise not_a_member(partition)
            read_id = tries.topic_ids.get(partition.topic)
            topic = self._client.metadata.topic(partition.topic)
            named_id = None if topic is None else topic.topic_id
            if read_id != named_id and read_id is not None and named_id is not None:
                del tries.left[partition]
                tries.refusal = of_another_topic(partition)

    async def _commit_some(self, tries: _Tries, deadline: float) -> None:
        """Try once; return after a wait if something is to be tried again."""
        identity = self._identity()
        if identity is None and not self._is_rebalancing():
            raise not_a_member(next(iter(tries.left)))
        if identity is not None:
            errors = await self._ask(identity, tries, deadline)
            tries.answered(errors)
            error = worst(errors.values())
            if error is not None:
                is_unknown = isinstance(error, UnknownTopicOrPartitionError | UnknownTopicIdError)
                if is_unknown:
                    self._client.metadata_keeper.request_update()
                if is_unknown and tries.failures >= UNKNOWN_TRIES:
                    raise error
                self._follow(error, identity)
        tries.failures += 1
        if tries.left:
            await self._wait(tries.failures)

    async def _ask(
        self, identity: Identity, tries: _Tries, deadline: float
    ) -> dict[TopicPartition, KafkaError]:
        """Return why offsets are not stored; the others are."""
        offsets, topic_ids = tries.left, tries.topic_ids
        has_ids = all(partition.topic in topic_ids for partition in offsets)
        request = offset_commit_request(self._group_id, offsets, identity, topic_ids)
        try:
            node_id = await self._coordinator(deadline)
            tries.is_under_way = True
            response = await self._client.send(
                node_id,
                request,
                min_version=FIRST_COMMIT_VERSION,
                max_version=COMMIT_VERSION_WITH_TOPIC_IDS if has_ids else LAST_COMMIT_VERSION,
            )
        except KafkaError as error:
            self._forget_coordinator_after(error)
            if not tries.is_under_way:  # nobody was asked to store anything
                error = copy_to_raise(error)
                error.definite = True
            return dict.fromkeys(offsets, error)
        answers = result_for_each(offsets, committed_offsets(response, topic_ids), node_id)
        return {p: error for p, error in answers.items() if error is not None}

    def _follow(self, error: KafkaError, asked_as: Identity) -> None:
        """Prepare a retry, or raise if a retry is pointless."""
        log.debug("Commit in group %s: %s", self._group_id, error)
        match action_after(error):
            case CommitErrorAction.GIVE_UP:
                raise commit_error(error)
            case CommitErrorAction.FIND_COORDINATOR:
                self._client.coordinators.forget(CoordinatorType.GROUP, self._group_id)
            case CommitErrorAction.REJOIN:
                is_hopeless = self._identity() == asked_as and not self._is_rebalancing()
                if is_hopeless and not isinstance(error, ON_ITS_WAY):
                    raise commit_error(error)

    async def fetch(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed, None where it has not, retrying until the
        deadline."""

        async def ask(
            wanted: list[TopicPartition],
        ) -> dict[TopicPartition, OffsetAndMetadata | None]:
            return without_errors(await self._fetch_once(wanted, deadline))

        return await self._fetch_with(ask, partitions, deadline)

    async def fetch_stable(
        self,
        partitions: Collection[TopicPartition],
        deadline: float,
        *,
        is_required: bool = False,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what :meth:`fetch` does, without the partitions whose offset an open transaction
        may still change (KIP-447); only if ``require_stable``, unless it ``is_required``."""

        async def ask(
            wanted: list[TopicPartition],
        ) -> dict[TopicPartition, OffsetAndMetadata | None]:
            answers = await self._fetch_once(wanted, deadline, is_required)
            return without_errors({p: a for p, a in answers.items() if not _is_unstable(a)})

        return await self._fetch_with(ask, partitions, deadline)

    async def _fetch_with(
        self, ask: FetchOffsets, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        wanted = sorted(partitions)
        if not wanted:
            return {}
        what = f"read the committed offsets of group {self._group_id!r}"
        return await self._client.retry(lambda: ask(wanted), deadline, what)

    async def _fetch_once(
        self, partitions: list[TopicPartition], deadline: float, is_stable_required: bool = False
    ) -> dict[TopicPartition, OffsetAndMetadata | KafkaError | None]:
        is_stable = self._require_stable or is_stable_required
        identity = self._identity() or OUTSIDER
        request = VersionedRequest(
            OffsetFetchRequest,
            lambda version: offset_fetch_request(
                self._group_id,
                partitions,
                version,
                require_stable=is_stable,
                identity=identity,
            ),
        )
        node_id = await self._coordinator(deadline)
        try:
            response = await self._client.send(
                node_id, request, min_version=FIRST_FETCH_VERSION, max_version=LAST_FETCH_VERSION
            )
        except KafkaError as error:
            self._forget_coordinator_after(error)
            raise
        try:
            answers = result_for_each(
                partitions, fetched_offsets(response, self._group_id), node_id
            )
        except KafkaError as error:
            self._forget_moved_coordinator(error)
            raise _retriable_at_reads(error) from None
        for answer in answers.values():
            if isinstance(answer, KafkaError):
                self._forget_moved_coordinator(answer)
        self._warn_of_unstable([p for p, answer in answers.items() if _is_unstable(answer)])
        return answers

    def _forget_moved_coordinator(self, error: KafkaError) -> None:
        if action_after(error) is CommitErrorAction.FIND_COORDINATOR:
            self._client.coordinators.forget(CoordinatorType.GROUP, self._group_id)

    def _warn_of_unstable(self, partitions: list[TopicPartition]) -> None:
        """Log what waits for a transaction, if it has waited for long."""
        now = self._client.clock.now()
        seconds = self._unstable.waited(now, is_unstable=bool(partitions))
        if seconds is not None:
            log.warning(
                "Group %s waits for %.0f s for the committed offset of %s: a transaction that "
                "commits it is still open; it ends with its producer's transaction.timeout.ms at "
                "the latest",
                self._group_id,
                seconds,
                ", ".join(map(str, partitions[:5])),
            )

    async def _coordinator(self, deadline: float) -> int:
        return await self._client.coordinators.find(CoordinatorType.GROUP, self._group_id, deadline)

    def _forget_coordinator_after(self, error: KafkaError) -> None:
        if not error.retriable:
            raise error
        log.info("Coordinator of group %s did not answer: %s", self._group_id, error)
        self._client.coordinators.forget(CoordinatorType.GROUP, self._group_id)

    async def _wait(self, failures: int) -> None:
        chance = self._client.random.random()
        await asyncio.sleep(self._client.retry_backoff.delay(failures, chance))

    def _too_late(self, tries: _Tries) -> KafkaTimeoutError:
        offsets = tries.left
        names = ", ".join(str(partition) for partition in sorted(offsets)[:5])
        unreachable = self._client.pool.unreachable_nodes()
        reason = because(unreachable[0].error if unreachable else None)
        asked = "; the coordinator was asked to, and may still do so" if tries.is_under_way else ""
        return KafkaTimeoutError(
            f"the offsets of {counted(len(offsets), 'partition')} ({names}) were not committed "
            f"within the timeout{reason}{asked}",
            group_id=self._group_id,
            definite=not tries.is_under_way and not tries.may_be_stored,
        )


class _Tries:
    """What came of the tries of one commit so far. ``left`` is not stored, as far as is known."""

    def __init__(
        self, offsets: dict[TopicPartition, OffsetAndMetadata], topic_ids: TopicIds
    ) -> None:
        self.left = offsets
        self.topic_ids = topic_ids
        """The topics that the offsets are of."""
        self.failures = 0
        self.is_under_way = False
        """Whether a request was sent, and is not answered."""
        self.refusal: KafkaError | None = None
        """Why offsets are not stored that were dropped."""
        self.may_be_stored = False
        """Whether some of it is stored, or may be: a response was lost."""

    def answered(self, errors: Mapping[TopicPartition, KafkaError]) -> None:
        """Record why offsets are not stored; the others are."""
        self.is_under_way = False
        is_stored_in_part = len(errors) < len(self.left)
        if is_stored_in_part or not all(error.definite for error in errors.values()):
            self.may_be_stored = True
        self.left = {p: offset for p, offset in self.left.items() if p in errors}


def _retriable_at_reads(error: KafkaError) -> KafkaError:
    """Return the error of a read, which may be tried again under another member epoch.

    The next heartbeat brings it, or ends the membership: then anybody may read.
    """
    if isinstance(error, StaleMemberEpochError | UnknownMemberIdError):
        error.retriable = True
    return error


def _is_unstable(answer: object) -> bool:
    return isinstance(answer, UnstableOffsetCommitError)


def is_ours_by(
    owners: Mapping[TopicPartition, Assignment | None],
) -> Callable[[TopicPartition], bool]:
    """Return a function that tells whether a partition has not been lost since it was owned.

    Without an owner, the application names an offset of its own, which is allowed.
    """

    def is_ours(partition: TopicPartition) -> bool:
        owner = owners[partition]
        return owner is None or not owner.is_lost

    return is_ours
