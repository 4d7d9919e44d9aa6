"""One member of a streams group, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from pyk.runtime import slotted

from .tasks import HeldTasks, TaskId

JOINING, LEAVING, LEAVING_STATIC = 0, -1, -2
"""What a heartbeat says instead of an epoch."""


class MemberState(IntEnum):
    """How far a member is on its way to its target, with the numbers of Kafka's records."""

    STABLE = 0
    UNREVOKED_TASKS = 1
    """It still has tasks to give up."""
    UNRELEASED_TASKS = 2
    """It waits for tasks that others, or its own process, still have."""
    UNKNOWN = 127
    """A newer broker wrote a state that this one does not know."""

    @classmethod
    def _missing_(cls, _: object) -> MemberState:
        return cls.UNKNOWN


@slotted.frozen(kw_only=True)
class StreamsMember:
    """What a member has said of itself, and the tasks that it is given."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    """Of the topology that it runs, which may be older than the group's."""
    process_id: str = ""
    """The same for all members in one process."""
    user_endpoint: tuple[str, int] | None = None
    """Where other instances of the application can query its stores: host and port."""
    client_tags: Mapping[str, str] = slotted.field(factory=dict)

    epoch: int = JOINING
    previous_epoch: int = JOINING
    """Still taken from a member that did not get the answer with the present one."""
    state: MemberState = MemberState.STABLE
    assigned: HeldTasks = slotted.field(factory=HeldTasks)
    revoking: HeldTasks = slotted.field(factory=HeldTasks)
    """The tasks it has been told to give up."""

    def is_at(self, epoch: int) -> bool:
        """Return whether the member has all of the target of an epoch."""
        return self.state is MemberState.STABLE and self.epoch == epoch

    def assignment_epoch(self, task: TaskId) -> int | None:
        """Return the epoch at which an active task was given, None if the member has it not."""
        epoch = self.assigned.active.get(task)
        return self.revoking.active.get(task) if epoch is None else epoch
