"""The progress of one assigned partition: when records and responses came, when it stalls. Pure."""

from __future__ import annotations

# How long a partition may have records and get none, or be fetched without a response.
STALL_SECONDS = 10.0
# How long a rebalance may wait for an application that works on records.
HELD_SECONDS = 30.0
# How many rounds through all partitions of a node one partition may go without records.
ROUNDS_MISSED = 3


class Turns:
    """Counts how often a node has answered while a partition waited for records.

    With many partitions, or a slow application, each has its turn rarely. A partition is stalled
    only if others have had their turn more than once.
    """

    def __init__(self, node_id: int, first: int) -> None:
        self.node_id = node_id
        self.first = first
        """How many answers the node had given when the counting began."""
        self.are_missed = False


class Progress:
    """When an assigned partition last progressed, and what it waits for since."""

    def __init__(self, now: float) -> None:
        self.made_at = now
        """When new records came last, or none were left."""
        self.answered_at = now
        """Until when a response counts as in time: since the last one, or since none was needed."""
        self.stalls = 0
        """How often the partition stalled since it last progressed."""
        self.turns: Turns | None = None
        """The turns of the partition since it last progressed."""
        self.held_since: float | None = None
        """Since when it is held by a rebalance that the application does not know of."""

    def made(self, now: float) -> None:
        """Record that new records came, or that none are left."""
        self.made_at = now
        self.turns = None
        self.stalls = 0

    def note_turns(self, node_id: int, answers: int, partition_count: int) -> None:
        """Count a response of a node from which so many partitions are fetched in turn."""
        if self.turns is None or self.turns.node_id != node_id:
            self.turns = Turns(node_id, answers)
        self.turns.are_missed = answers - self.turns.first > ROUNDS_MISSED * partition_count

    def stalled(self, now: float) -> None:
        """Record that the partition stalled, and wait for records and responses from now on."""
        self.made_at = self.answered_at = now
        self.turns = None
        self.stalls += 1

    def is_overdue(self, now: float, *, is_behind: bool) -> bool:
        """Return whether a partition that is fetched should have got a response by now, or, if it
        ``is_behind``, records."""
        had_turns = self.turns is not None and self.turns.are_missed
        gets_none = is_behind and had_turns and now - self.made_at > STALL_SECONDS
        return gets_none or now - self.answered_at > STALL_SECONDS

    def is_held_for_long(self, now: float) -> bool:
        """Return whether the application should have heard of a rebalance by now, and has not."""
        return self.held_since is not None and now - self.held_since > HELD_SECONDS
