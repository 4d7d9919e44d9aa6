"""One heartbeat of a member of a share group: what it says, and whether it may. Pure.

The checks have Kafka's order and messages.
"""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .member import JOINING, LEAVING, MAX_MEMBER_ID_LENGTH, ShareMember


@slotted.frozen(kw_only=True)
class ShareHeartbeat:
    """One ShareGroupHeartbeat, who sent it, and when."""

    request: ShareGroupHeartbeatRequest
    client_id: str
    client_host: str
    moment: Moment

    @property
    def is_full(self) -> bool:
        """Whether the member says everything, and so wants to be told everything."""
        return self.request.subscribed_topic_names is not None  # as each that joins

    def describe(self, member: ShareMember) -> ShareMember:
        """Return a member with what the heartbeat says of it."""
        request = self.request
        names = request.subscribed_topic_names
        return slotted.evolve(
            member,
            rack_id=member.rack_id if request.rack_id is None else request.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            topic_names=member.topic_names if names is None else frozenset(names),
        )


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    """Raise unless the request makes sense by itself."""
    if not request.member_id or len(request.member_id) > MAX_MEMBER_ID_LENGTH:
        raise ApiError(ErrorCode.INVALID_REQUEST)  # as in Kafka, without a message
    _check_not_blank(request.member_id, "MemberId")
    _check_not_blank(request.group_id, "GroupId")
    _check_not_blank(request.rack_id, "RackId")
    if request.member_epoch == JOINING:
        if not request.subscribed_topic_names:
            raise _invalid("SubscribedTopicNames must be set in first request.")
    elif request.member_epoch < LEAVING:
        raise _invalid("MemberEpoch is invalid.")


def check_epoch(member: ShareMember, epoch: int) -> None:
    """Raise unless a heartbeat has the epoch of the member, or the one before.

    A member with the one before probably did not get the last answer.
    """
    if epoch in (JOINING, member.epoch):
        return
    again = "The member must abandon all its partitions and rejoin."
    known = f"member epoch ({epoch}) than the one known by the group coordinator ({member.epoch})"
    if epoch > member.epoch:
        raise ApiError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a greater {known}. {again}",
        )
    if epoch != member.previous_epoch:
        raise ApiError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a smaller {known}, and it does not match the previous "
            f"member epoch ({member.previous_epoch}). {again}",
        )


def _check_not_blank(value: str | None, name: str) -> None:
    if value is not None and not value.strip():
        raise _invalid(f"{name} can't be empty.")


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)
