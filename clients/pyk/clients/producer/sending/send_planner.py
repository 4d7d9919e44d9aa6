"""Plan what a producer sends to which node, and what responses mean for its batches. Pure.

The driver (:mod:`.sender`) asks :meth:`SendPlanner.poll` what to do, does it, and reports how it
ended with :meth:`SendPlanner.answered` or :meth:`SendPlanner.failed`. Each returns what follows:
outcomes to hand out, new leaders, metadata that must be refreshed.

Each round of ``poll`` takes at most one batch from each partition, the most that a request may
hold; a partition that was served goes to the end of the line, so a full request leaves none out for
long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from pyk.clients.engine.backoff import Backoff
from pyk.clients.errors import KafkaError, MalformedResponseError, error_for
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.producer.batching.batch import ProducerBatch, halve
from pyk.clients.producer.sending.failures import WhyUnsent, fail, timeout_error
from pyk.clients.producer.sending.identity import IdentityPolicy
from pyk.clients.producer.sending.node_traffic import NodeTraffic
from pyk.clients.producer.sending.outcome import (
    BatchAction,
    BatchOutcome,
    conclude,
    outcome_of_code,
    outcome_of_error,
)
from pyk.clients.producer.sending.partition_queue import NEVER, PartitionQueue
from pyk.clients.producer.sending.plan import Plan, ResponseEffects, new_effects, new_plan
from pyk.clients.producer.sending.produce_call import AllWritten, ProduceCall, new_call
from pyk.clients.producer.sending.produce_template import ProduceTerms
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from pyk.runtime import slotted

if TYPE_CHECKING:
    from random import Random

    from pyk.clients.producer.batching.accumulator import RecordAccumulator

# Looked up in their enums for each batch, they would cost as much as the rest of its answer.
_WRITTEN = BatchOutcome.WRITTEN
_ACTION_WRITTEN = BatchAction.WRITTEN
_IS_ACTIVE = attrgetter("is_active")
_NO_QUEUES: list[PartitionQueue] = []


class Routes(Protocol):
    """The metadata of partitions; an image never changes."""

    def leader(self, partition: TopicPartition, /) -> int | None:
        """Return the node that leads a partition, None if no leader is known."""

    def topic_id(self, topic: str, /) -> UUID | None:
        """Return the id of a topic, None if it is not known."""


@slotted.frozen(kw_only=True)
class SendSettings:
    """The options that matter here; times are in seconds."""

    max_in_flight: int
    max_request_size: int
    delivery_timeout: float
    backoff: Backoff
    acks: int = -1
    request_timeout_ms: int = 30_000


class SendPlanner:
    """The decisions of one producer's sending side; ``now`` is the engine's clock, in seconds."""

    def __init__(
        self,
        accumulator: RecordAccumulator,
        settings: SendSettings,
        identity: IdentityPolicy,
        random: Random,
        why_unsent: WhyUnsent = lambda _: "its turn did not come",
    ) -> None:
        self._new_builder = accumulator.new_builder
        self._drain = accumulator.drain
        self._settings = settings
        self._terms = ProduceTerms(
            settings.acks, settings.request_timeout_ms, identity.transactional_id
        )
        self._delivery_timeout = settings.delivery_timeout
        self._max_in_flight = settings.max_in_flight
        self._max_request_size = settings.max_request_size
        self._random = random
        self._why_unsent = why_unsent
        self.identity = identity
        # A queue is kept when its topic vanishes: its sequence must go on where it was (a topic
        # that vanishes for a moment must not make new records look like duplicates).
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._active: list[PartitionQueue] = []  # those with batches, the next to serve first
        self._nodes: dict[int, NodeTraffic] = {}
        self._routes: Routes | None = None
        self._image_number = 0  # of the routes
        self._expires_at = NEVER  # no batch expires before
        self._drop_error: KafkaError | None = None  # why nothing that was not sent is sent any more

    @property
    def in_flight_requests(self) -> int:
        return sum(node.in_flight for node in self._nodes.values())

    @property
    def last_error(self) -> KafkaError | None:
        """Why a batch that was sent is not settled yet, if a broker or its connection said so."""
        for queue in self._active:
            for batch in queue.unsettled:
                if batch.last_error is not None:
                    return batch.last_error
        return None

    def is_busy(self) -> bool:
        """Return whether a request is in flight."""
        for node in self._nodes.values():  # noqa: SIM110 - a generator would cost more
            if node.in_flight:
                return True
        return False

    def poll(self, now: float, routes: Routes) -> Plan:
        """Return what to do at ``now``."""
        if routes is not self._routes:
            self._routes = routes
            self._image_number += 1
        plan = new_plan()
        self._take(now)
        if self._expires_at <= now:
            self._expire(now, plan)
        if self._drop_error is not None:
            plan.settled += self._drop_waiting(self._drop_error)
        candidates = self._active
        while candidates:
            candidates = self._add_round(candidates, now, plan)
        self._look_ahead(now, plan)
        return plan

    def producer_id_refused(self, error: KafkaError) -> list[ProducerBatch]:
        """Give up what cannot be sent without a producer id."""
        return [
            batch
            for queue in self._active
            if queue.sequence.needs_new_producer_id
            for batch in queue.waiting()
            if self._give_up(queue, batch, error)
        ]

    def begin_transaction(self, transaction_version: int) -> None:
        """Let each partition begin with :meth:`IdentityPolicy.begin_order` before it sends more.

        Nothing of the transaction before is left.
        """
        self._drop_error = None
        has_new_terms = transaction_version != self._terms.transaction_version
        if has_new_terms:
            settings = self._settings
            self._terms = ProduceTerms(
                settings.acks,
                settings.request_timeout_ms,
                self.identity.transactional_id,
                transaction_version,
            )
        for queue in self._queues.values():
            queue.must_restart = True
            if has_new_terms:
                queue.template = None  # it has the terms

    def drop_unsent(self, error: KafkaError) -> None:
        """Fail, from the next poll on, all batches that are not in flight.

        Those in flight are awaited; they are not sent again.
        """
        self._drop_error = error

    def _drop_waiting(self, error: KafkaError) -> list[ProducerBatch]:
        self._take(NEVER)
        return [
            batch
            for queue in self._active
            for batch in queue.waiting()
            if not batch.is_given_up and self._give_up(queue, batch, error)
        ]

    def abandon(self, error: KafkaError) -> list[ProducerBatch]:
        """Give up everything, whatever its state."""
        self._take(NEVER)
        return [
            batch
            for queue in self._active
            for batch in [*queue.unsettled, *queue.waiting()]
            if not batch.is_given_up and self._give_up(queue, batch, error)
        ]

    def answered(
        self, call: ProduceCall, response: ProduceResponse | AllWritten | None, now: float
    ) -> ResponseEffects:
        """Take the response to a call; None if there is none (``acks=0``).

        With :class:`AllWritten` each batch knows its offset.
        """
        call.node.in_flight -= 1
        effects = new_effects(now)
        if not isinstance(response, ProduceResponse):
            for position, queue in enumerate(call.queues):
                self._conclude(queue, call.batches[position], _WRITTEN, None, effects)
            return effects
        for position, answer in enumerate(call.answers(response)):
            queue, batch = call.queues[position], call.batches[position]
            if answer is None:
                batch.last_error = MalformedResponseError(
                    f"node {call.node.node_id} left {batch.topic_partition} out of its answer"
                )
                self._conclude(queue, batch, BatchOutcome.UNKNOWN, None, effects)
            else:
                self._judge(call.node.node_id, queue, batch, answer, effects)
        return effects

    def failed(self, call: ProduceCall, error: KafkaError, now: float) -> ResponseEffects:
        """Learn that a call failed without a response."""
        call.node.in_flight -= 1
        effects = new_effects(now)
        effects.needs_metadata = True
        for queue, batch in zip(call.queues, call.batches, strict=True):
            batch.last_error = error
            self._conclude(queue, batch, outcome_of_error(error), None, effects)
        return effects

    def leaders_moved(self, partitions: Iterable[TopicPartition]) -> None:
        """Learn that partitions have another leader: retries need not wait (KIP-951)."""
        for partition in partitions:
            for batch in self._queues[partition].unsettled:
                batch.retry_at = 0.0

    # What to send.

    def _take(self, now: float) -> None:
        full, due = self._drain.take(now)
        for batch in full:
            queue = self._queue(batch)
            if queue.due is batch:  # it became full while it waited to be sent
                queue.due = None
            queue.queued.append(batch)
        for batch in due:
            queue = self._queue(batch)
            queue.due = batch

    def _queue(self, batch: ProducerBatch) -> PartitionQueue:
        """Return the queue of a batch that is new to the sender."""
        self._expires_at = min(self._expires_at, self._expires(batch))
        queue = self._queues.get(batch.topic_partition)
        if queue is None:
            queue = PartitionQueue(
                batch.topic_partition, must_restart=self.identity.numbers_batches
            )
            self._queues[batch.topic_partition] = queue
        if not queue.is_active:
            queue.is_active = True
            self._active.append(queue)
        return queue

    def _expire(self, now: float, plan: Plan) -> None:
        for queue in self._active:
            while (batch := queue.oldest()) is not None and self._expires(batch) <= now:
                error = timeout_error(batch, self._delivery_timeout, self._why_unsent)
                if not self._give_up(queue, batch, error):
                    break
                plan.settled.append(batch)

    def _expires(self, batch: ProducerBatch) -> float:
        return batch.created_at + self._delivery_timeout

    def _add_round(
        self, candidates: list[PartitionQueue], now: float, plan: Plan
    ) -> list[PartitionQueue]:
        """Plan at most one batch of each partition and one request a node.

        Returns the partitions that may have more to send, none if nothing was planned.
        """
        planned_before = len(plan.calls)
        more = []
        for queue in candidates:
            if self._add_batch(queue, now, plan):
                more.append(queue)  # noqa: PERF401 - a comprehension would cost more
        if len(plan.calls) == planned_before:
            return _NO_QUEUES
        self._end_round(plan, planned_before)
        return more

    def _add_batch(self, queue: PartitionQueue, now: float, plan: Plan) -> bool:
        """Plan the next batch of a partition, if there is one; return whether more may follow."""
        batch = self._next_batch(queue, now, plan)
        node = queue.leader
        if batch is None or node is None:
            return False
        call = node.call
        if call is not None and batch.size > node.room:
            return True
        if batch is queue.due and not self._drain.close(batch):
            return False  # an application thread made it full meanwhile: the next poll takes it
        if call is None:
            call = self._new_call(node, plan)
        node.room -= batch.size
        queue.send(batch, node.node_id)
        call.add(queue, batch)
        return bool(queue.queued) or queue.due is not None

    def _next_batch(self, queue: PartitionQueue, now: float, plan: Plan) -> ProducerBatch | None:
        """Return what a partition may send now if there is room for it in a request."""
        if queue.image_number != self._image_number and not self._look_up(queue):
            return None
        if queue.is_ready_to_restart() and not self._restart(queue, plan):
            return None
        node = queue.leader
        if node is None:
            plan.needs_metadata = True
            return None
        if node.call is None and node.in_flight >= self._max_in_flight:
            return None
        return queue.next_batch(now, node.node_id, self._max_in_flight)

    def _restart(self, queue: PartitionQueue, plan: Plan) -> bool:
        """Begin a new order in a partition; return whether it has batches to send now."""
        if queue.is_idle():
            return False
        plan.settled += self._drop_doubtful(queue)
        if queue.restart(self.identity):
            return True
        plan.needs_producer_id = True
        return False

    def _look_up(self, queue: PartitionQueue) -> bool:
        """Look up the node for the batches of a partition; return whether they may be sent."""
        routes = self._routes
        assert routes is not None
        node_id = routes.leader(queue.topic_partition)
        queue.leader = None
        if node_id is not None:
            if node_id not in self._nodes:
                self._nodes[node_id] = NodeTraffic(node_id)
            queue.leader = self._nodes[node_id]
        queue.image_number = self._image_number
        last, topic_id = queue.last_topic_id, routes.topic_id(queue.topic_partition.topic)
        queue.topic_id = topic_id
        if topic_id is None or topic_id == last:
            return True
        queue.last_topic_id = topic_id
        if last is None or queue.must_restart:
            return True
        self.identity.topic_replaced(queue)
        return self._drop_error is None

    def _new_call(self, node: NodeTraffic, plan: Plan) -> ProduceCall:
        call = new_call(node, self._terms)
        node.call = call
        node.room = self._max_request_size
        node.in_flight += 1
        plan.calls.append(call)
        return call

    def _end_round(self, plan: Plan, first: int) -> None:
        """Close the calls of a round, and put the partitions that were not served first."""
        calls = plan.calls[first:]
        for call in calls:
            call.node.call = None
        if len(self._active) > 1:
            served = [queue for call in calls for queue in call.queues]
            for queue in served:
                queue.was_served = True
            self._active = [queue for queue in self._active if not queue.was_served]
            self._active += served
            for queue in served:
                queue.was_served = False

    def _look_ahead(self, now: float, plan: Plan) -> None:
        """Compute the next deadline, and forget partitions without batches."""
        expires_at = earliest_retry = NEVER
        idle = 0
        for queue in self._active:
            oldest = queue.oldest()
            if oldest is None:
                if queue.is_idle():
                    queue.is_active = False
                    idle += 1
            else:
                expires_at = min(expires_at, self._expires(oldest))
            retry_at = queue.retry_at()
            if now < retry_at < earliest_retry:
                earliest_retry = retry_at
        if idle:
            self._active = list(filter(_IS_ACTIVE, self._active))
        self._expires_at = expires_at
        plan.look_again_at = min(expires_at, earliest_retry, self._drain.next_linger_end())

    # What follows.

    def _judge(
        self,
        node_id: int,
        queue: PartitionQueue,
        batch: ProducerBatch,
        answer: PartitionProduceResponse,
        effects: ResponseEffects,
    ) -> None:
        outcome = _WRITTEN
        if answer.error_code:
            code = ErrorCode(answer.error_code)
            outcome = outcome_of_code(code)
            batch.last_error = error_for(
                code,
                answer.error_message,
                topic=batch.topic,
                partition=batch.partition,
                node_id=node_id,
                api_key=ApiKey.PRODUCE,
            )
            effects.needs_metadata |= code.refresh
        if answer.current_leader.leader_id >= 0:
            leader = answer.current_leader
            if effects.leaders is None:
                effects.leaders = {}
            effects.leaders[batch.topic_partition] = leader.leader_id, leader.leader_epoch
        if outcome is _WRITTEN:
            batch.base_offset = answer.base_offset
            batch.log_append_time = answer.log_append_time_ms
        self._conclude(queue, batch, outcome, answer, effects)

    def _conclude(
        self,
        queue: PartitionQueue,
        batch: ProducerBatch,
        outcome: BatchOutcome,
        answer: PartitionProduceResponse | None,
        effects: ResponseEffects,
    ) -> None:
        retry_at = effects.now  # irrelevant for a batch that is written
        if outcome is not _WRITTEN:
            chance = self._random.random()
            retry_at += self._settings.backoff.delay(batch.attempts, chance)
        action = conclude(queue, batch, outcome, retry_at, self.identity)
        if action is _ACTION_WRITTEN:
            effects.settled.append(batch)
        elif action is BatchAction.FAILED:
            fail(batch, answer)
            self.identity.batch_failed(batch)
            effects.settled.append(batch)
        elif action is BatchAction.SPLIT:
            pieces = halve(batch, self._new_builder)
            queue.split(batch, pieces)
            self._drain.replace(batch, pieces)

    def _give_up(self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError) -> bool:
        """Drop a batch; return False if it was open and became full meanwhile: it comes again."""
        if batch is queue.due and not self._drain.close(batch):
            return False
        own = copy_to_raise(error)
        own.definite = error.definite and not (batch.may_be_written or batch.is_in_flight)
        queue.drop(batch)
        batch.failed(own)
        self.identity.batch_failed(batch)
        return True

    def _drop_doubtful(self, queue: PartitionQueue) -> Sequence[ProducerBatch]:
        """Fail the batches in doubt, before the rest begins a new order; return them."""
        doubtful = [batch for batch in queue.unsettled if batch.may_be_written]
        for batch in doubtful:
            queue.drop(batch)
            fail(batch, None)
            self.identity.batch_failed(batch)
        return doubtful
