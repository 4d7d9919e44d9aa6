"""The batches of one partition on their way to its leader, in order. Pure.

Up to ``max_in_flight`` batches of a partition are in flight at once. Normally they are answered in
the order in which they were sent. Otherwise:

1. A batch is refused, or its outcome is unknown. It keeps its place and is sent again, the
   same bytes. Batches that were sent after it are refused by the broker as out of order, so they
   are sent again too, one after the other, and nothing new while one of them waits.
2. A batch is given up (its time is over, or it can never succeed) while later ones have their
   places already: there is a gap. If one of the later ones succeeds, the broker had the batch after
   all, and there was no gap. If the oldest of them is out of order, the broker has none of them.
3. The broker's order and ours cannot be reconciled: the partition restarts. What certainly
   is not written gets new places in a new epoch, which also fences whatever copy of the given-up
   batch may still be on its way to the broker (KIP-360). So later records do not fail and are not
   written twice. A batch in doubt keeps its bytes: it fails as unknown before the restart.
4. A later batch is written while an earlier one is not settled: the broker had the earlier one as
   well, or had forgotten the producer. The earlier one may be written, so it is never sent again
   after the later one.

Without idempotence there are no sequence numbers, and a retry may write a batch twice; the order of
sending is kept all the same. The producer's identity policy decides when a new order may begin, and
what follows when a broker refuses a batch because of its place in the order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.node_traffic import NodeTraffic
from pyk.clients.producer.sending.produce_template import ProduceTemplate
from pyk.clients.producer.sending.sequences import PartitionSequence, sequence_after
from pyk.clients.topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyk.clients.producer.sending.identity import IdentityPolicy

NEVER = float("inf")


class PartitionQueue:
    """Decides which batch of a partition may be sent.

    With ``must_restart`` nothing is sent before :meth:`restart`: to begin at all is to restart.
    """

    __slots__ = (
        "due",
        "has_gap",
        "image_number",
        "in_flight",
        "is_active",
        "last_topic_id",
        "leader",
        "must_restart",
        "node_id",
        "queued",
        "sequence",
        "template",
        "topic_id",
        "topic_partition",
        "unsettled",
        "was_served",
    )

    def __init__(self, topic_partition: TopicPartition, *, must_restart: bool) -> None:
        self.topic_partition = topic_partition
        self.sequence = PartitionSequence()
        self.queued: deque[ProducerBatch] = deque()  # full, never sent
        self.due: ProducerBatch | None = None  # still open, but its linger is over
        self.unsettled: list[ProducerBatch] = []  # sent once at least, oldest first
        self.in_flight = 0  # how many of them are under way
        self.node_id = -1  # to which node
        self.has_gap = False
        self.must_restart = must_restart
        self.template: ProduceTemplate | None = None  # of requests with a batch of this one only
        # The leader and topic id of the partition, looked up once per metadata image (by its
        # number).
        self.image_number = -1
        self.leader: NodeTraffic | None = None
        self.topic_id: UUID | None = None
        self.last_topic_id: UUID | None = None  # kept while metadata lacks the topic
        self.is_active = False  # whether the sender looks at it
        self.was_served = False

    def is_idle(self) -> bool:
        """Return whether the queue has no batch at all."""
        return not (self.unsettled or self.queued or self.due)

    def oldest(self) -> ProducerBatch | None:
        """Return the oldest batch whose outcome is still awaited."""
        for batch in self.unsettled:
            if not batch.is_given_up:
                return batch
        return self.queued[0] if self.queued else self.due

    def waiting(self) -> list[ProducerBatch]:
        """Return all batches that are not in flight, in order."""
        retries = [batch for batch in self.unsettled if not batch.is_in_flight]
        return [*retries, *self.queued, *([self.due] if self.due else [])]

    def retry_at(self) -> float:
        """Return when the next retry is due, unless it waits for more than its backoff."""
        if self.in_flight > 0 or not self.unsettled:
            return NEVER
        batch: ProducerBatch = self.unsettled[0]
        return batch.retry_at

    def is_ready_to_restart(self) -> bool:
        """Return whether a new order has to begin, and no batch of the old one is in flight."""
        if self.in_flight > 0:
            return False
        return self.must_restart or (self.has_gap and not self.unsettled)

    def restart(self, identity: IdentityPolicy) -> bool:
        """Begin a new order with the refused batches; return False while ``identity`` forbids it.

        Drop the batches in doubt first: they must not be part of a new order.
        """
        if not identity.begin_order(self):
            return False
        self.has_gap = self.must_restart = False
        for batch in self.unsettled:
            self.sequence.stamp(batch)
        return True

    def next_batch(self, now: float, node_id: int, max_in_flight: int) -> ProducerBatch | None:
        """Return what may be sent to the leader ``node_id`` now: a retry, a full or a due batch."""
        if self.must_restart:
            return None
        if self.in_flight > 0:
            if self.node_id != node_id or not self._is_calm():
                return None
            if len(self.unsettled) >= max_in_flight:
                return None
        elif self.unsettled:
            first: ProducerBatch = self.unsettled[0]
            return first if first.retry_at <= now else None
        elif self.has_gap:
            return None
        return self.queued[0] if self.queued else self.due

    def send(self, batch: ProducerBatch, node_id: int) -> None:
        """Stamp ``batch`` with its sequence if it is new, and count it as in flight."""
        if batch.attempts == 0 and not self._is_unsettled(batch):
            self._begin(batch)
        batch.attempts += 1
        batch.is_in_flight = True
        self.in_flight += 1
        self.node_id = node_id

    def settle(self, batch: ProducerBatch) -> None:
        """Remove a batch that was written; this also closes a suspected gap before it."""
        overtaken: ProducerBatch
        position = 0
        for overtaken in self.unsettled:
            if overtaken is batch:
                break
            position += 1
            # Without numbers, order says nothing. What was never sent, a piece of a batch that was
            # too large, is not written either way.
            if overtaken.attempts and self.sequence.is_numbered():
                overtaken.may_be_written = True
        del self.unsettled[position]
        self._came_back(batch)
        self.has_gap = False
        self.sequence.is_known = True

    def keep(self, batch: ProducerBatch, retry_at: float) -> None:
        """Keep the batch in its place, to be sent again."""
        self._came_back(batch)
        batch.retry_at = retry_at

    def drop(self, batch: ProducerBatch) -> None:
        """Give a batch up; its place may become a gap. One in flight stays until it is answered."""
        batch.is_given_up = True
        if self._is_unsettled(batch):
            self._leave(batch)
        elif batch is self.due:
            self.due = None
        else:
            self.queued.remove(batch)

    def split(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        """Put ``pieces``, which hold its records in order, into the place of a refused batch."""
        place = self.unsettled.index(batch)
        self.unsettled[place : place + 1] = pieces
        sequence = batch.base_sequence
        for piece in pieces:
            piece.seal(batch.producer_id, batch.producer_epoch, sequence)
            sequence = sequence_after(piece)

    def _is_unsettled(self, batch: ProducerBatch) -> bool:
        sent: ProducerBatch
        for sent in self.unsettled:  # noqa: SIM110 - a generator would cost more
            if sent is batch:
                return True
        return False

    def _came_back(self, batch: ProducerBatch) -> None:
        if batch.is_in_flight:
            batch.is_in_flight = False
            self.in_flight -= 1

    def _is_calm(self) -> bool:
        """Return whether batches may follow those in flight before these are answered.

        After one that was given up they would be in doubt as soon as its request times out.
        """
        if self.has_gap or self.in_flight < len(self.unsettled):
            return False
        for batch in self.unsettled:
            if batch.is_given_up:
                return False
        return self.sequence.is_known

    def _begin(self, batch: ProducerBatch) -> None:
        if batch is self.due:
            self.due = None
        else:
            self.queued.popleft()
        self.unsettled.append(batch)  # before it is sealed: if that fails, it still gets an outcome
        self.sequence.stamp(batch)

    def _leave(self, batch: ProducerBatch) -> None:
        if batch.is_in_flight:
            return
        is_last = self.unsettled[len(self.unsettled) - 1] is batch
        self.unsettled.remove(batch)
        if self.must_restart or not self.sequence.is_numbered():
            return
        if is_last and not batch.may_be_written:
            self.sequence.roll_back(batch)
        else:
            self.has_gap = True
