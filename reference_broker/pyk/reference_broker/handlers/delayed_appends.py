"""Appends that were made and are not yet as safe as was asked for: wait for the high watermark."""

from __future__ import annotations

from collections.abc import Callable

from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.waiting_requests import WaitingRequests
from pyk.runtime import slotted

Refuse = Callable[[ErrorCode, str | None], object]
"""Notes in the response why an append may not be safe, with a message if there is one."""


@slotted.frozen
class PendingAppend:
    """A batch that was appended but is not yet as safe as its sender asked for.

    With acks=all, replicas in sync may still lack it. With acks=1 too, ``flush.messages`` may want
    it on the disk first.
    """

    partition: Partition
    next_offset: int
    needs_all_replicas: bool
    refuse: Refuse

    @property
    def key(self) -> TopicPartition:
        return self.partition.topic_partition

    def try_complete(self) -> bool:
        """Return whether the batch is acknowledged or lost; ``refuse`` was called if it is lost."""
        if is_acknowledged(self.partition, self.next_offset, self.needs_all_replicas):
            return True
        failure = self.partition.failure
        if not self.partition.is_leader:
            self.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER, None)
        elif failure is not None:
            self.refuse(failure.code, failure.message)
        else:
            return False
        return True


def is_acknowledged(partition: Partition, next_offset: int, needs_all_replicas: bool) -> bool:
    """Return whether what lies below ``next_offset`` is as safe as was asked for."""
    if not partition.is_leader or partition.failure is not None:
        return False
    return partition.acknowledged_offset(needs_all_replicas=needs_all_replicas) >= next_offset


@slotted.define(eq=False)
class _DelayedAppends:
    """A request that waits for high watermarks or for the disk."""

    response: Message
    pending: list[PendingAppend]
    deferred: Deferred[Message]

    def try_complete(self) -> bool:
        self.pending = [each for each in self.pending if not each.try_complete()]
        if self.pending:
            return False
        self.deferred.complete(self.response)
        return True

    def expire(self) -> None:
        self._complete_with(ErrorCode.REQUEST_TIMED_OUT)

    def fail(self) -> None:
        self._complete_with(ErrorCode.UNKNOWN_SERVER_ERROR)

    def _complete_with(self, code: ErrorCode) -> None:
        # The batches are in the leader's log: both codes mean unknown, not failed.
        for each in self.pending:
            each.refuse(code, None)
        self.deferred.complete(self.response)


def wait_for_appends(
    waiting: WaitingRequests, response: Message, pending: list[PendingAppend], deadline: float
) -> Deferred[Message]:
    """Return the response, once all of ``pending`` are settled or the deadline is over."""
    deferred: Deferred[Message] = Deferred()
    operation = _DelayedAppends(response, pending, deferred)
    # Kept when the client disconnects: the entry ends with the high watermark or the deadline.
    waiting.produces.watch(operation, [each.key for each in pending], deadline)
    return deferred
