"""Which offsets a member of a streams group may commit and fetch. Pure."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.group.consumer.offset_checks import (
    FIRST_VERSION_WITH_MEMBER_EPOCH,
    CommitCheck,
    everything,
)
from pyk.reference_broker.errors import ApiError

from .member import StreamsMember
from .streams_group import StreamsGroup
from .tasks import TaskId


def check_streams_commit(
    group: StreamsGroup, member_id: str, epoch: int, *, version: int
) -> CommitCheck:
    """Return what decides on partitions; raise if none may be committed.

    An administrator, who has no epoch, may commit while the group is empty.
    """
    if epoch < 0 and group.is_empty:
        return everything
    member = group.member(member_id)
    if version < FIRST_VERSION_WITH_MEMBER_EPOCH:
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the streams group "
            "protocol",
        )
    return _check_of_member(group, member, epoch)


def check_streams_commit_in_transaction(
    group: StreamsGroup, member_id: str, instance_id: str | None, epoch: int
) -> CommitCheck:
    """Return what decides on partitions of a transaction; raise if none may be committed.

    A producer that names no member is not checked (KIP-447).
    """
    names_nobody = epoch < 0 and not member_id and instance_id is None
    if names_nobody or (epoch < 0 and group.is_empty):
        return everything
    member = group.member(member_id)
    if epoch > member.epoch:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)  # which producers know
    return _check_of_member(group, member, epoch)


def check_streams_fetch(group: StreamsGroup, member_id: str | None, epoch: int) -> None:
    """Raise unless offsets may be fetched: by a member in its epoch, or by who names none."""
    if member_id is None and epoch < 0:
        return
    member = group.member(member_id)
    if epoch != member.epoch:
        raise _stale(member, epoch)


def _check_of_member(group: StreamsGroup, member: StreamsMember, epoch: int) -> CommitCheck:
    """Check an epoch, which may be an old one for tasks that were had since (KIP-1251)."""
    if epoch == member.epoch:
        return everything
    if epoch > member.epoch:
        raise _stale(member, epoch)

    def check(topic: str, topic_id: UUID, partition: int) -> ErrorCode:
        reader = None if group.topology is None else group.topology.reader_of(topic)
        if reader is None:
            return ErrorCode.STALE_MEMBER_EPOCH
        assigned = member.assignment_epoch(TaskId(reader, partition))
        may_commit = assigned is not None and assigned <= epoch
        return ErrorCode.NONE if may_commit else ErrorCode.STALE_MEMBER_EPOCH

    return check


def _stale(member: StreamsMember, received: int) -> ApiError:
    return ApiError(
        ErrorCode.STALE_MEMBER_EPOCH,
        f"The received member epoch {received} does not match the expected member epoch "
        f"{member.epoch}.",
    )
