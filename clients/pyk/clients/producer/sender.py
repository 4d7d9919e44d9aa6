"""What a producer sends now, to whom, and what the answers mean for its batches. Pure.

The driver (:mod:`pyk.clients.producer.sender_loop`) asks :meth:`Sender.poll` what to do, does it,
and reports how it ended with :meth:`Sender.answered` or :meth:`Sender.failed`. Each returns what is
due to others: results to hand out, leaders that were learnt, metadata that turned out old.

Each round of ``poll`` takes at most one batch from each partition, as a request may hold; whoever
was served goes to the end of the line, so a request that is full leaves nobody out for long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import attrs

from pyk.clients.engine.backoff import Backoff
from pyk.clients.errors import (
    InvalidRecordError,
    KafkaError,
    KafkaTimeoutError,
    MalformedResponseError,
    error_for,
)
from pyk.clients.producer.accumulator import RecordAccumulator
from pyk.clients.producer.batch import ProducerBatch, halve
from pyk.clients.producer.delivery import fresh_copy
from pyk.clients.producer.outcome import (
    Fate,
    Verdict,
    conclude,
    verdict_of_code,
    verdict_of_error,
)
from pyk.clients.producer.partition_queue import NEVER, PartitionQueue
from pyk.clients.producer.produce_call import ProduceCall
from pyk.clients.producer.sequences import ProducerIdentity
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import counted
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
)

# Looked up in their enums for each batch, they would cost as much as the rest of its answer.
_WRITTEN = Verdict.WRITTEN
_FATE_WRITTEN = Fate.WRITTEN

LeaderOf = Callable[[TopicPartition], int | None]
WhyUnsent = Callable[[TopicPartition], str]
"""Says what keeps the batches of a partition from being sent."""


@attrs.frozen(kw_only=True)
class SenderSettings:
    """The options that matter here; times are in seconds."""

    is_idempotent: bool
    max_in_flight: int
    max_request_size: int
    delivery_timeout: float
    backoff: Backoff


class Settlement:
    """The end of a batch: hand its result out and give its room back."""

    __slots__ = ("base_offset", "batch", "error", "log_append_time", "record_errors")

    def __init__(
        self,
        batch: ProducerBatch,
        base_offset: int = -1,
        log_append_time: int = -1,
        error: KafkaError | None = None,
        record_errors: dict[int, KafkaError] | None = None,
    ) -> None:
        self.batch = batch
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self.error = error
        self.record_errors = record_errors


class Plan:
    """What the driver does next."""

    __slots__ = ("calls", "look_again_at", "needs_metadata", "needs_producer_id", "settlements")

    def __init__(self) -> None:
        self.calls: list[ProduceCall] = []
        self.settlements: list[Settlement] = []
        self.needs_producer_id = False
        self.needs_metadata = False
        self.look_again_at = NEVER


class Consequences:
    """What follows from the end of one call, at ``now``."""

    __slots__ = ("leaders", "needs_metadata", "now", "settlements")

    def __init__(self, now: float) -> None:
        self.now = now
        self.settlements: list[Settlement] = []
        self.leaders: dict[TopicPartition, tuple[int, int]] = {}
        self.needs_metadata = False


class Sender:
    """The decisions of one producer's sending side; ``now`` is the engine's clock, in seconds."""

    def __init__(
        self,
        accumulator: RecordAccumulator,
        settings: SenderSettings,
        random: Random,
        why_unsent: WhyUnsent = lambda _: "its turn did not come",
    ) -> None:
        self._accumulator = accumulator
        self._settings = settings
        self._delivery_timeout = settings.delivery_timeout
        self._max_in_flight = settings.max_in_flight
        self._random = random
        self._why_unsent = why_unsent
        self._identity: ProducerIdentity | None = None
        # A queue is kept when its topic vanishes: its sequence must go on where it was (a topic
        # that is gone for a moment must not make new records look like duplicates).
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._active: dict[PartitionQueue, None] = {}  # those with batches, the next to serve first
        self._in_flight: dict[int, int] = {}  # requests under way, by node

    @property
    def has_in_flight(self) -> bool:
        """Whether a request is under way."""
        return any(self._in_flight.values())

    @property
    def in_flight_requests(self) -> int:
        return sum(self._in_flight.values())

    def poll(self, now: float, leader_of: LeaderOf) -> Plan:
        """Return what is to be done at ``now``."""
        plan = Plan()
        self._take(now)
        self._expire(now, plan)
        candidates = list(self._active)
        while candidates:
            candidates = self._add_round(candidates, now, leader_of, plan)
        plan.look_again_at = self._look_again_at(now)
        return plan

    def producer_id_received(self, identity: ProducerIdentity) -> None:
        """Go on with a new producer id where one is needed."""
        self._identity = identity

    def producer_id_refused(self, error: KafkaError) -> list[Settlement]:
        """Give up what cannot be sent without a producer id."""
        return [
            settlement
            for queue in self._active
            if queue.needs_new_producer_id
            for batch in queue.waiting()
            if (settlement := self._give_up(queue, batch, error))
        ]

    def abandon(self, error: KafkaError) -> list[Settlement]:
        """Give up everything, whatever its state."""
        self._take(NEVER)
        return [
            settlement
            for queue in self._active
            for batch in [*queue.unsettled, *queue.waiting()]
            if not batch.is_given_up and (settlement := self._give_up(queue, batch, error))
        ]

    def answered(
        self, call: ProduceCall, response: ProduceResponse | None, now: float
    ) -> Consequences:
        """Take the answer to a call; None where none was asked for (``acks=0``)."""
        self._in_flight[call.node_id] -= 1
        consequences = Consequences(now)
        if response is None:
            for queue, batch in zip(call.queues, call.batches, strict=True):
                self._conclude(queue, batch, _WRITTEN, None, consequences)
            return consequences
        for position, answer in enumerate(call.answers(response)):
            queue, batch = call.queues[position], call.batches[position]
            if answer is None:
                batch.last_error = MalformedResponseError(
                    f"node {call.node_id} left {batch.place} out of its answer"
                )
                self._conclude(queue, batch, Verdict.UNKNOWN, None, consequences)
            else:
                self._judge(call.node_id, queue, batch, answer, consequences)
        return consequences

    def failed(self, call: ProduceCall, error: KafkaError, now: float) -> Consequences:
        """Take it that there is no answer to a call."""
        self._in_flight[call.node_id] -= 1
        consequences = Consequences(now)
        consequences.needs_metadata = True
        for queue, batch in zip(call.queues, call.batches, strict=True):
            batch.last_error = error
            self._conclude(queue, batch, verdict_of_error(error), None, consequences)
        return consequences

    def leaders_moved(self, partitions: Iterable[TopicPartition]) -> None:
        """Learn that partitions have another leader: retries need not wait (KIP-951)."""
        for partition in partitions:
            for batch in self._queues[partition].unsettled:
                batch.retry_at = 0.0

    # What to send.

    def _take(self, now: float) -> None:
        full, due = self._accumulator.take(now)
        for batch in full:
            queue = self._queue(batch)
            if queue.due is batch:  # it became full while it waited to be sent
                queue.due = None
            queue.queued.append(batch)
        for batch in due:
            self._queue(batch).due = batch

    def _queue(self, batch: ProducerBatch) -> PartitionQueue:
        queue = self._queues.get(batch.place)
        if queue is None:
            queue = PartitionQueue(batch.place, is_idempotent=self._settings.is_idempotent)
            self._queues[batch.place] = queue
        self._active[queue] = None
        return queue

    def _expire(self, now: float, plan: Plan) -> None:
        for queue in list(self._active):
            while (batch := queue.oldest()) is not None and self._expires_at(batch) <= now:
                settlement = self._give_up(queue, batch, self._timeout_of(batch))
                if settlement is None:
                    break
                plan.settlements.append(settlement)
            if queue.is_idle:
                del self._active[queue]

    def _expires_at(self, batch: ProducerBatch) -> float:
        return batch.created_at + self._delivery_timeout

    def _add_round(
        self, candidates: list[PartitionQueue], now: float, leader_of: LeaderOf, plan: Plan
    ) -> list[PartitionQueue]:
        """Plan at most one batch of each partition and one request a node.

        Returns the partitions that may have more to send, none if nothing was planned.
        """
        calls: dict[int, ProduceCall] = {}
        room: dict[int, int] = {}
        more = []
        for queue in candidates:
            if queue.is_ready_to_restart():
                plan.settlements += _drop_doubtful(queue)
                if not queue.restart(self._identity):
                    plan.needs_producer_id = True
                    continue
            node_id = leader_of(queue.topic_partition)
            if node_id is None:
                plan.needs_metadata = True
                continue
            batch = self._sendable(queue, node_id, now)
            if batch is None:
                continue
            if batch.size > room.get(node_id, batch.size):
                more.append(queue)
                continue
            if batch is queue.due and not self._accumulator.close(batch):
                continue  # an application thread made it full meanwhile: the next poll takes it
            room[node_id] = room.get(node_id, self._settings.max_request_size) - batch.size
            call = calls.get(node_id)
            if call is None:
                call = calls[node_id] = ProduceCall(node_id)
            queue.send(batch, node_id)
            call.add(queue, batch)
            del self._active[queue]
            self._active[queue] = None
            if queue.queued or queue.due is not None:
                more.append(queue)
        for node_id, call in calls.items():
            self._in_flight[node_id] = self._in_flight.get(node_id, 0) + 1
            plan.calls.append(call)
        return more if calls else []

    def _sendable(self, queue: PartitionQueue, node_id: int, now: float) -> ProducerBatch | None:
        if self._in_flight.get(node_id, 0) >= self._max_in_flight:
            return None
        return queue.next_batch(now, node_id, self._max_in_flight)

    def _look_again_at(self, now: float) -> float:
        """Return when something is due that nobody will report."""
        earliest = self._accumulator.next_linger_end
        for queue in self._active:
            oldest, retry_at = queue.oldest(), queue.retry_at()
            if oldest is not None:
                expires_at = self._expires_at(oldest)
                earliest = min(earliest, expires_at)
            if retry_at > now:
                earliest = min(earliest, retry_at)
        return earliest

    # What became of it.

    def _judge(
        self,
        node_id: int,
        queue: PartitionQueue,
        batch: ProducerBatch,
        answer: PartitionProduceResponse,
        consequences: Consequences,
    ) -> None:
        verdict = _WRITTEN
        if answer.error_code:
            code = ErrorCode(answer.error_code)
            verdict = verdict_of_code(code)
            batch.last_error = error_for(
                code,
                answer.error_message,
                topic=batch.topic,
                partition=batch.partition,
                node_id=node_id,
            )
            consequences.needs_metadata |= code.refresh
        if answer.current_leader.leader_id >= 0:
            leader = answer.current_leader
            consequences.leaders[batch.place] = leader.leader_id, leader.leader_epoch
        self._conclude(queue, batch, verdict, answer, consequences)

    def _conclude(
        self,
        queue: PartitionQueue,
        batch: ProducerBatch,
        verdict: Verdict,
        answer: PartitionProduceResponse | None,
        consequences: Consequences,
    ) -> None:
        retry_at = (
            consequences.now
        )  # which does not matter to what is written: it is not sent again
        if verdict is not _WRITTEN:
            chance = self._random.random()
            retry_at += self._settings.backoff.delay(batch.attempts, chance)
        fate = conclude(queue, batch, verdict, retry_at)
        if fate is _FATE_WRITTEN:
            consequences.settlements.append(_success(batch, answer))
        elif fate is Fate.FAILED:
            consequences.settlements.append(_failure(batch, answer))
        elif fate is Fate.SPLIT:
            pieces = halve(batch, self._accumulator.new_builder)
            queue.split(batch, pieces)
            self._accumulator.replace(batch, pieces)

    def _give_up(
        self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError
    ) -> Settlement | None:
        """Drop a batch; None if it was open and became full meanwhile: it comes again."""
        if batch is queue.due and not self._accumulator.close(batch):
            return None
        own = fresh_copy(error)
        own.definite = error.definite and not (batch.may_be_written or batch.is_in_flight)
        queue.drop(batch)
        return Settlement(batch, error=own)

    def _timeout_of(self, batch: ProducerBatch) -> KafkaTimeoutError:
        if batch.last_error is not None:
            reason = f"the last error was: {batch.last_error}"
        elif batch.attempts:
            reason = "no answer came"
        else:
            reason = f"never sent: {self._why_unsent(batch.place)}"
        return KafkaTimeoutError(
            f"{counted(batch.count, 'record')} for {batch.place}: not acknowledged within "
            f"delivery_timeout_ms={self._settings.delivery_timeout * 1000:.0f}; {reason}",
            topic=batch.topic,
            partition=batch.partition,
            definite=True,
        )


def _drop_doubtful(queue: PartitionQueue) -> list[Settlement]:
    """Fail what may be written, before the rest begins a new order."""
    doubtful = queue.doubtful()
    for batch in doubtful:
        queue.drop(batch)
    return [_failure(batch, None) for batch in doubtful]


def _success(batch: ProducerBatch, answer: PartitionProduceResponse | None) -> Settlement:
    if answer is None:
        return Settlement(batch)
    return Settlement(batch, answer.base_offset, answer.log_append_time_ms)


def _failure(batch: ProducerBatch, answer: PartitionProduceResponse | None) -> Settlement:
    assert batch.last_error is not None
    error = fresh_copy(batch.last_error)
    error.definite = not batch.may_be_written
    if batch.may_be_written:
        error.args = (f"{error.args[0]}; it may have been written, so it is not sent again",)
    if answer is None or not answer.record_errors:
        return Settlement(batch, error=error)
    others = InvalidRecordError(
        "refused together with other records of its batch, which the broker found invalid",
        topic=batch.topic,
        partition=batch.partition,
    )
    return Settlement(
        batch,
        error=others,
        record_errors={
            refused.batch_index: _record_error(batch, error, refused)
            for refused in answer.record_errors
        },
    )


def _record_error(
    batch: ProducerBatch, error: KafkaError, refused: BatchIndexAndErrorMessage
) -> KafkaError:
    if not refused.batch_index_error_message:
        return error
    return error_for(
        ErrorCode.INVALID_RECORD,
        refused.batch_index_error_message,
        topic=batch.topic,
        partition=batch.partition,
    )
