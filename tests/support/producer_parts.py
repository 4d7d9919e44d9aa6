"""Objects for the tests of the producer's pure parts, with good defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from pyk.clients.engine.backoff import Backoff
from pyk.clients.producer.batching.accumulator import RecordAccumulator
from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.failures import WhyUnsent
from pyk.clients.producer.sending.identity import (
    IdempotentIdentity,
    IdentityPolicy,
    NoIdentity,
)
from pyk.clients.producer.sending.partition_queue import NEVER, PartitionQueue
from pyk.clients.producer.sending.send_planner import SendPlanner, SendSettings
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from pyk.protocol.records import RecordBatchBuilder, read_batches
from pyk.runtime.virtual_time import VirtualClock

PARTITION = TopicPartition("orders", 0)
Leader = Callable[[TopicPartition], int | None]
IDENTITY = ProducerIdentity(7, 0)


class Routes:
    """Metadata that name leaders, and no topic ids."""

    def __init__(self, leader: Leader) -> None:
        self.leader = leader

    def topic_id(self, topic: str) -> None:
        return None


class Wakeups:
    """Counts how often the sender was woken."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def make_accumulator(
    clock: VirtualClock | None = None, wakeups: Wakeups | None = None, **options: Any
) -> RecordAccumulator:
    """An accumulator of one topic, ``orders``, with ``partitions`` (1)."""
    partitions = options.pop("partitions", 1)
    settings: dict[str, Any] = {
        "batch_size": 16_384,
        "linger": 0.005,
        "buffer_memory": 1 << 20,
        "max_record_size": 1 << 20,
        "is_adaptive": True,
        "new_builder": lambda max_bytes: RecordBatchBuilder(max_bytes=max_bytes),
        "random": Random(1),
    }
    accumulator = RecordAccumulator(
        clock=clock or VirtualClock(), wakeup=wakeups or Wakeups(), **(settings | options)
    )
    accumulator.topic("orders", partitions, range(partitions))
    return accumulator


def put(accumulator: RecordAccumulator, *values: bytes, partition: int = 0) -> list[Any]:
    """Append values to ``orders`` and return their deliveries, None where there was no room."""
    topic = accumulator.topics["orders"]
    return [accumulator.append(topic, partition, 1_000, None, value, ()) for value in values]


def make_planner(
    accumulator: RecordAccumulator,
    *,
    identity: IdentityPolicy | None = None,
    is_idempotent: bool = True,
    why_unsent: WhyUnsent = lambda _: "nobody asked",
    **options: Any,
) -> SendPlanner:
    settings: dict[str, Any] = {
        "max_in_flight": 5,
        "max_request_size": 1 << 20,
        "delivery_timeout": 120.0,
        "backoff": Backoff(0.1, 1.0),
    }
    settings |= options
    if identity is None:
        identity = make_identity() if is_idempotent else NoIdentity()
    return SendPlanner(accumulator, SendSettings(**settings), identity, Random(1), why_unsent)


def make_identity(identity: ProducerIdentity = IDENTITY) -> IdempotentIdentity:
    """The identity of an idempotent producer that has a producer id."""
    policy = IdempotentIdentity()
    policy.received(identity)
    return policy


def make_batch(*values: bytes, created_at: float = 0.0) -> ProducerBatch:
    batch = ProducerBatch(PARTITION, RecordBatchBuilder(), created_at)
    for value in values or (b"value",):
        batch.append(1_000, None, value, ())
    batch.is_open = False
    return batch


def make_queue(*batches: ProducerBatch, is_idempotent: bool = True) -> PartitionQueue:
    """A queue whose producer the broker knows, and that holds ``batches``."""
    queue = PartitionQueue(PARTITION, must_restart=is_idempotent)
    if is_idempotent:
        assert queue.restart(make_identity())
        queue.sequence.is_known = True
    queue.queued.extend(batches)
    return queue


def send_all(queue: PartitionQueue, node_id: int = 1) -> list[ProducerBatch]:
    """Send the batches that the queue allows now, and return them."""
    sent = []
    while (batch := queue.next_batch(0.0, node_id, 5)) is not None:
        queue.send(batch, node_id)
        sent.append(batch)
    return sent


def numbers_of(batch: ProducerBatch) -> tuple[int, int, int]:
    """Return (producer id, epoch, base sequence) from the bytes of a batch."""
    (header,) = read_batches(batch.data or b"")
    return header.producer_id, header.producer_epoch, header.base_sequence


def values_of(batches: Sequence[ProducerBatch]) -> list[list[bytes | None]]:
    return [
        [record.value for whole in read_batches(batch.data or b"") for record in whole]
        for batch in batches
    ]


def take_all(accumulator: RecordAccumulator, now: float = NEVER) -> list[ProducerBatch]:
    """Take and seal everything that is full or due, in order."""
    full, due = accumulator.drain.take(now)
    for batch in due:
        assert accumulator.drain.close(batch)
    for batch in full + due:
        batch.seal()
    return full + due


def on_node(node_id: int | None) -> Routes:
    """Routes to one node."""
    return Routes(lambda place: node_id)


on_node_1, nowhere = on_node(1), on_node(None)


def response(*partitions: PartitionProduceResponse) -> ProduceResponse:
    topic = TopicProduceResponse(name="orders", partition_responses=list(partitions))
    return ProduceResponse(responses=[topic])


def written(base_offset: int = 0, partition: int = 0) -> ProduceResponse:
    return response(PartitionProduceResponse(index=partition, base_offset=base_offset))


def refused(code: ErrorCode, **more: Any) -> ProduceResponse:
    return response(PartitionProduceResponse(index=0, error_code=code, **more))
