"""Which offsets a member of a consumer group may commit and fetch. Pure."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError

from .consumer_group import ConsumerGroup
from .member import ConsumerMember

FIRST_VERSION_WITH_MEMBER_EPOCH = 9

CommitCheck = Callable[[str, UUID, int], ErrorCode]
"""Returns why a partition (topic, its id, number) may not be committed, or NONE."""


def check_commit(group: ConsumerGroup, member_id: str, epoch: int, *, version: int) -> CommitCheck:
    """Return what decides on partitions; raise if none may be committed.

    An administrator, who has no epoch, may commit while the group is empty.
    """
    if epoch < 0 and group.is_empty:
        return everything
    member = group.member(member_id)
    if not member.is_classic and version < FIRST_VERSION_WITH_MEMBER_EPOCH:
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group "
            "protocol",
        )
    return _check_of_member(group, member_id, epoch)


def check_commit_in_transaction(
    group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int
) -> CommitCheck:
    """Return what decides on partitions of a transaction; raise if none may be committed.

    A producer that names no member is not checked (KIP-447).
    """
    names_nobody = epoch < 0 and not member_id and instance_id is None
    if names_nobody or (epoch < 0 and group.is_empty):
        return everything
    try:
        return _check_of_member(group, member_id, epoch)
    except ApiError as error:
        if error.code is ErrorCode.STALE_MEMBER_EPOCH:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION) from None  # which producers know
        raise


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
    """Raise unless offsets may be fetched: by a member in its epoch, or by who names none."""
    if member_id is None and epoch < 0:
        return
    member = group.member(member_id)
    if epoch != member.epoch:
        raise _stale(member, epoch)


def _check_of_member(group: ConsumerGroup, member_id: str, epoch: int) -> CommitCheck:
    """Check an epoch, which may be an old one for partitions that were had since (KIP-1251)."""
    member = group.member(member_id)
    if epoch == member.epoch:
        return everything
    if epoch > member.epoch:
        raise _stale(member, epoch)

    def check(topic: str, topic_id: UUID, partition: int) -> ErrorCode:
        assigned = member.assignment_epoch(topic_id, partition)
        may_commit = assigned is not None and assigned <= epoch
        return ErrorCode.NONE if may_commit else _stale_error(member)

    return check


def everything(topic: str, topic_id: UUID, partition: int) -> ErrorCode:
    """Let all partitions be committed."""
    return ErrorCode.NONE


def _stale_error(member: ConsumerMember) -> ErrorCode:
    """Return the error for a wrong epoch, which a classic member calls its generation."""
    return ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH


def _stale(member: ConsumerMember, received: int) -> ApiError:
    return ApiError(
        _stale_error(member),
        f"The received member epoch {received} does not match the expected member epoch "
        f"{member.epoch}.",
    )
