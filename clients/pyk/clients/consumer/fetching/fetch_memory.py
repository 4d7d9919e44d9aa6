"""Limit the bytes that a node may send: each has its own share of the consumer's memory. Pure.

What is fetched and not read yet is bounded by ``buffer_memory`` (as KIP-81 calls it). With one
account for all nodes, the node that answers first would take all of it, and take it again as soon
as the application has read some: partitions of other leaders would starve. So each node that leads
assigned partitions has an equal share, which no other node can use up.

Within a node the broker is fair: it begins each response with the partition whose turn was longest
ago.
"""

from __future__ import annotations


class FetchMemory:
    """The limits of what may be fetched, in bytes: in ``total`` for all nodes together, for one
    response (``fetch_max_bytes``), and for one partition of it (``max_partition_fetch_bytes``).
    """

    def __init__(self, *, total: int, request: int, partition: int) -> None:
        self.total = total
        self.request = request
        self.partition = partition

    def grant(self, held: int, nodes: int) -> int:
        """Return how many bytes a node may send now, 0 if it has to wait for the application.

        ``held`` is what it has sent and the application has not read; ``nodes`` share the memory. A
        node with ``held`` 0 may always send at least one batch, however small its share (KIP-74).
        """
        share = self.total // max(1, nodes)
        left = share - held
        # With less than this left, what would come is hardly worth a request.
        if left < min(self.partition, share // 2):
            return 0
        # Otherwise the rest after whole partitions would go to the same partition every time.
        whole = left - left % max(1, self.partition)
        return max(1, min(self.request, whole or left))
