"""What follows from a poll of the planner, and from the end of a request. Pure."""

from __future__ import annotations

from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.partition_queue import NEVER
from pyk.clients.producer.sending.produce_call import ProduceCall
from pyk.clients.topic_partition import TopicPartition


class Plan:
    """The next actions of the driver. ``settled`` batches know their outcome."""

    __slots__ = ("calls", "look_again_at", "needs_metadata", "needs_producer_id", "settled")

    def _begin(self) -> None:
        self.calls: list[ProduceCall] = []
        self.settled: list[ProducerBatch] = []
        self.needs_producer_id = False
        self.needs_metadata = False
        self.look_again_at = NEVER


class ResponseEffects:
    """The effects of the end of one call, at ``now``."""

    __slots__ = ("leaders", "needs_metadata", "now", "settled")

    def _begin(self, now: float) -> None:
        self.now = now
        self.settled: list[ProducerBatch] = []
        self.leaders: dict[TopicPartition, tuple[int, int]] | None = None
        self.needs_metadata = False


def new_plan() -> Plan:
    """Return an empty plan; here and below: compiled, no arguments are parsed on the way."""
    plan = Plan.__new__(Plan)
    plan._begin()
    return plan


def new_effects(now: float) -> ResponseEffects:
    effects = ResponseEffects.__new__(ResponseEffects)
    effects._begin(now)
    return effects
