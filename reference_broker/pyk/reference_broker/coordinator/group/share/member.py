"""One member of a share group, as a value."""

from __future__ import annotations

from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment
from pyk.runtime import slotted

JOINING, LEAVING = 0, -1
"""What a heartbeat says instead of an epoch."""

MAX_MEMBER_ID_LENGTH = 36
"""That of a UUID, which clients choose as the id of a member."""


@slotted.frozen(kw_only=True)
class ShareMember:
    """What a member has said of itself, and what it is assigned."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    epoch: int = JOINING
    previous_epoch: int = JOINING
    """Still taken from a member that did not get the answer with the present one."""
    assigned: Assignment = slotted.field(factory=dict)
