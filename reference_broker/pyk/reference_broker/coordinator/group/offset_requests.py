"""Requests about the committed offsets of groups: what a group allows, and the records that follow.

Each takes effect when its records are replayed, like all of a shard's decisions.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.decision import Decision, TransactionalProducer
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

from .classic_group import NO_GENERATION
from .consumer.consumer_group import ConsumerGroup
from .consumer.offset_checks import CommitCheck, check_commit, check_commit_in_transaction
from .group_checks import (
    check_offset_commit,
    check_offset_delete,
    check_transactional_commit,
)
from .groups import (
    Groups,
    existing_group_with_offsets,
    group_with_offsets,
    is_unused,
    tombstones_of,
)
from .membership import GroupMembership
from .offsets import OffsetStore, OffsetToCommit
from .share.share_group import ShareGroup
from .streams.offset_checks import check_streams_commit, check_streams_commit_in_transaction
from .streams.streams_group import StreamsGroup

OffsetResults = dict[tuple[str, int], ErrorCode]


class OffsetRequests:
    """Commits, deletes and expires offsets of the groups of one shard."""

    def __init__(self, groups: Groups, offsets: OffsetStore, membership: GroupMembership) -> None:
        self._groups = groups
        self._offsets = offsets
        self._membership = membership

    def commit(
        self,
        group_id: str,
        member: tuple[str, str | None, int],
        offsets: Iterable[OffsetToCommit],
        *,
        version: int,
        retention_ms: int = -1,
        moment: Moment,
    ) -> tuple[OffsetResults, Decision]:
        """Commit offsets for a member: its id, instance id and generation.

        Without any of them the group has to be empty.
        """
        member_id, instance_id, generation_id = member
        group = group_with_offsets(self._groups, group_id)
        stale: OffsetResults = {}
        if isinstance(group, ConsumerGroup | StreamsGroup):
            check = (
                check_commit(group, member_id, generation_id, version=version)
                if isinstance(group, ConsumerGroup)
                else check_streams_commit(group, member_id, generation_id, version=version)
            )
            offsets, stale = _without_stale(offsets, check)
        elif group is not None:
            check_offset_commit(group, member_id, instance_id, generation_id)
            self._membership.keep_alive(group, member_id, moment)
        elif generation_id > NO_GENERATION:
            # Version 9 brought an error of its own for this (KIP-848).
            is_new_error = version >= 9
            raise ApiError(
                ErrorCode.GROUP_ID_NOT_FOUND if is_new_error else ErrorCode.ILLEGAL_GENERATION
            )
        results, records = self._offsets.commit(group_id, offsets, retention_ms, moment)
        return {**results, **stale}, Decision(tuple(records))

    def commit_in_transaction(
        self,
        group_id: str,
        member: tuple[str, str | None, int],
        offsets: Iterable[OffsetToCommit],
        producer: TransactionalProducer,
        moment: Moment,
    ) -> tuple[OffsetResults, Decision]:
        """Commit offsets as part of a producer's transaction: they count once that is committed.

        ``member`` is the consumer's id, instance id and generation (KIP-447), or ``"", None, -1``.
        """
        member_id, instance_id, generation_id = member
        group = group_with_offsets(self._groups, group_id)
        stale: OffsetResults = {}
        if isinstance(group, ConsumerGroup | StreamsGroup):
            check = (
                check_commit_in_transaction(group, *member)
                if isinstance(group, ConsumerGroup)
                else check_streams_commit_in_transaction(group, *member)
            )
            offsets, found = _without_stale(offsets, check)
            # The error that producers know.
            stale = dict.fromkeys(found, ErrorCode.ILLEGAL_GENERATION)
        elif group is not None:
            check_transactional_commit(group, member_id, instance_id, generation_id)
        elif generation_id > NO_GENERATION:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        results, records = self._offsets.commit(group_id, offsets, -1, moment)
        return {**results, **stale}, Decision(tuple(records), producer=producer)

    def delete(
        self, group_id: str, partitions: Iterable[tuple[str, int]]
    ) -> tuple[OffsetResults, Decision]:
        """Delete committed offsets, except of topics that the group is subscribed to."""
        group = existing_group_with_offsets(self._groups, group_id)
        check_offset_delete(group)
        results, records = self._offsets.delete(group, partitions)
        return results, Decision(tuple(records))

    def expire(self, moment: Moment) -> Decision:
        """Forget offsets past their retention, and empty groups that have no more of them."""
        records: list[CoordinatorRecord] = []
        for group_id, group in self._groups.items():
            if isinstance(group, ShareGroup):
                continue  # it has no committed offsets, and stays until it is deleted
            expired = self._offsets.expired(group, moment)
            records += expired
            offset_count = sum(map(len, self._offsets.of_group(group_id).values()))
            if (
                is_unused(group)
                and not self._offsets.pending.of_group(group_id)
                and len(expired) == offset_count
            ):
                records += tombstones_of(group)
        return Decision(tuple(records), is_atomic=False)


def _without_stale(
    offsets: Iterable[OffsetToCommit], check: CommitCheck
) -> tuple[list[OffsetToCommit], OffsetResults]:
    """Return the offsets that a member may commit, and the errors of the others."""
    fresh: list[OffsetToCommit] = []
    stale: OffsetResults = {}
    for each in offsets:
        error = check(each.topic, each.topic_id, each.partition)
        if error:
            stale[each.topic, each.partition] = error
        else:
            fresh.append(each)
    return fresh, stale
