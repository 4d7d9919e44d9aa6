"""What a member by the classic protocol says when it stops taking part. Pure."""

from __future__ import annotations

from pyk.clients.consumer.group.actions import Leave
from pyk.clients.consumer.group.classic.requests import NO_MEMBER_ID, MemberOptions
from pyk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity

# The first version that takes the reason why, and several members.
FIRST_LEAVE_VERSION = 3


class Departure:
    """Remembers who stays in the group, which may be told later to do without (KIP-1092)."""

    def __init__(self, options: MemberOptions) -> None:
        self._options = options
        self._stays_as = NO_MEMBER_ID

    def request(self, member_id: str, reason: str, leave_group: bool | None = None) -> Leave | None:
        """Return what to send, None if the member is in no group, or is to stay.

        By default a static member stays.
        """
        member_id = member_id or self._stays_as
        options = self._options
        leaves = options.group_instance_id is None if leave_group is None else leave_group
        self._stays_as = NO_MEMBER_ID if leaves else member_id
        if member_id == NO_MEMBER_ID or not leaves:
            return None
        request = LeaveGroupRequest(
            group_id=options.group_id,
            members=[MemberIdentity(member_id=member_id, reason=reason)],
        )
        return Leave(request, FIRST_LEAVE_VERSION)
