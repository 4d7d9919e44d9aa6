"""Plan what to fetch from which node, and what to do about errors. Pure."""

from __future__ import annotations

from enum import Enum

from pyk.clients.consumer.fetching.fetch_call import Wanted, new_wanted
from pyk.clients.consumer.fetching.fetch_memory import FetchMemory
from pyk.clients.consumer.positions.assigned_partition import KNOWN, AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.protocol.errors import ErrorCode


class FetchErrorAction(Enum):
    """The action after an error of one partition in the response to a fetch."""

    REFRESH = "ask for metadata, then fetch again"
    WAIT = "fetch again later"
    OUT_OF_RANGE = "begin elsewhere"
    FAIL = "tell the application, and fetch again later"


# The application must know of a broker that cannot read its own log, or that hides the topic.
TOLD_AT_ONCE = frozenset({ErrorCode.CORRUPT_MESSAGE, ErrorCode.TOPIC_AUTHORIZATION_FAILED})
PASSES = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR})


def action_after(code: ErrorCode) -> FetchErrorAction:
    """Return what to do about an error of one partition."""
    if code is ErrorCode.OFFSET_OUT_OF_RANGE:
        return FetchErrorAction.OUT_OF_RANGE
    if code in TOLD_AT_ONCE:
        return FetchErrorAction.FAIL
    if code.invalidates_metadata:
        return FetchErrorAction.REFRESH
    if code.retriable or code in PASSES:
        return FetchErrorAction.WAIT
    return FetchErrorAction.FAIL


class NodePlan:
    """The partitions to fetch from one node, and how many bytes."""

    def __init__(self) -> None:
        self.wanted: Wanted = {}
        self.held_bytes = 0
        """How many bytes of the node's partitions are fetched and not read yet."""
        self.max_bytes = 0
        """How many bytes the node may send."""
        self.waits_for_room = False
        """Whether partitions are left out until the application has read on."""
        self.is_hurried = False
        """Whether partitions are left out that may soon be asked for, once the application has read
        on or their position is known."""

    def add(self, assigned: AssignedPartition, max_bytes: int, now: float) -> None:
        """Add a partition to the plan, unless it has to wait."""
        buffer = assigned.buffer
        self.held_bytes += buffer.buffered_bytes
        if now < assigned.retry_at:
            return
        if not buffer.has_room or buffer.fetch_offset < 0:
            self.is_hurried = self.waits_for_room = True
            return
        self.wanted[assigned.topic_partition] = new_wanted(
            buffer.fetch_offset, max_bytes, assigned.named_epoch, assigned.named_id, buffer.version
        )

    def grant(self, max_bytes: int) -> None:
        """Set how many bytes the node may send; with 0, fetch nothing from it now."""
        self.max_bytes = max_bytes
        if not max_bytes:
            self.waits_for_room = True
            self.wanted.clear()


def plan(
    partitions: AssignedPartitions, memory: FetchMemory, now: float, only_node: int | None = None
) -> dict[int, NodePlan]:
    """Return what to fetch from each node now, which may be nothing while the node is full.

    Partitions without a leader are left out. The changes of the metadata are applied before. With
    ``only_node``, other nodes are not planned for.
    """
    plans: dict[int, NodePlan] = {}
    # Nodes whose partitions are fetched in a moment have their shares already.
    sharing: set[int | None] = set()
    is_resolving = False
    for assigned in partitions.all():
        if assigned.state is not KNOWN:
            if assigned.is_resolving:
                is_resolving = True
                sharing.add(assigned.leader)
            continue
        # The application takes nothing of a partition that cannot be read, so that does not count.
        if assigned.buffer.is_paused or assigned.buffer.is_unreadable:
            continue
        node = assigned.node_to_fetch(now)
        sharing.add(node)
        if node is None or (only_node is not None and node != only_node):
            continue
        node_plan = plans.get(node)
        if node_plan is None:
            node_plan = plans[node] = NodePlan()
        node_plan.add(assigned, memory.partition, now)
    sharing.discard(None)
    for node_plan in plans.values():
        node_plan.is_hurried = node_plan.is_hurried or is_resolving
        node_plan.grant(memory.grant(node_plan.held_bytes, len(sharing)))
    return plans
