"""The members that join a consumer group: new ones, known ones, static ones that are back. Pure."""

from __future__ import annotations

import logging

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .consumer_group import ConsumerGroup
from .draft import Draft
from .heartbeat_checks import check_not_fenced, check_released
from .member import JOINING, ConsumerMember
from .records import current_record, member_record, member_tombstones, target_record

log = logging.getLogger(__name__)


def check_room(group: ConsumerGroup, member_id: str, max_size: int) -> None:
    """Raise unless the member is in the group, or one more has room."""
    if len(group.members) >= max_size and member_id not in group.members:
        raise ApiError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {max_size} members.",
        )


def joining_member(
    draft: Draft, member_id: str, instance_id: str | None, *, is_classic: bool
) -> ConsumerMember:
    """Return the member that joins, as it was before.

    A static member is back under a new id (KIP-345): it goes on where the old one left. Unless one
    of them speaks the classic protocol, which knows no better, the old one must have left.
    """
    group = draft.group
    known_id = member_id if instance_id is None else group.static_members.get(instance_id)
    known = None if known_id is None else group.members.get(known_id)
    if known is None:
        log.info("Member %r joins consumer group %r", member_id, group.group_id)
        return ConsumerMember(member_id=member_id)
    if instance_id is None:
        return known  # it did not get the answer, or was told to join again
    if not is_classic and not known.is_classic:
        check_released(known, member_id)
    member = slotted.evolve(known, member_id=member_id, epoch=JOINING, previous_epoch=JOINING)
    draft.add(
        *member_tombstones(group.group_id, known.member_id),
        member_record(group.group_id, member),
        target_record(group.group_id, member_id, group.targets.get(known.member_id, {})),
        current_record(group.group_id, member),
    )
    return member


def known_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    """Return a member by its ids; raise if it is unknown, or was replaced."""
    if instance_id is None:
        return group.member(member_id)
    member = group.static_member(instance_id)
    check_not_fenced(member, member_id)
    return member
