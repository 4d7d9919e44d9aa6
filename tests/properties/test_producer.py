"""Whatever brokers do: accepted = delivered + failed, each acknowledged record once, in order."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from pyk.clients.errors import KafkaError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.produce import ProduceRequest, ProduceResponse
from support.producing_cluster import ProducingCluster, producing
from support.scripted_broker import CLOSE, SILENCE
from support.virtual_time import run_virtual

NODES = 3
PARTITIONS = 2

AFTER_APPEND = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
]
BEFORE_APPEND = [
    *AFTER_APPEND,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
]


@attrs.frozen
class Fault:
    """What a broker does with one produce request."""

    kind: str
    code: ErrorCode = ErrorCode.NONE

    def answer(self, cluster: ProducingCluster, request: ProduceRequest) -> Any:
        if self.kind in ("append, close", "append, silence", "append, error"):
            answer = cluster.produce(request)
            if self.kind == "append, error":
                return cluster.answer(request, lambda place, data: (self.code, -1))
            return CLOSE if self.kind == "append, close" else SILENCE if answer else answer
        if self.kind == "refuse":
            return cluster.answer(request, lambda place, data: (self.code, -1))
        if self.kind == "move":
            for partition in range(PARTITIONS):
                cluster.move(
                    partition, 1 + (cluster.topics["orders"].epochs[partition] + 1) % NODES
                )
        if self.kind == "nothing":
            return ProduceResponse()
        return {"close": CLOSE, "silence": SILENCE}.get(self.kind) or cluster.produce(request)


faults = st.one_of(
    st.just(Fault("work")),
    st.sampled_from(
        [Fault(kind) for kind in ("append, close", "append, silence", "close", "silence", "move")]
    ),
    st.just(Fault("nothing")),
    st.builds(Fault, st.just("append, error"), st.sampled_from(AFTER_APPEND)),
    st.builds(Fault, st.just("refuse"), st.sampled_from(BEFORE_APPEND)),
)


@attrs.frozen
class Step:
    """Send records to a partition, then wait."""

    partition: int
    count: int
    pause: float


steps = st.builds(
    Step,
    st.integers(0, PARTITIONS - 1),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.0, 0.001, 0.01, 0.3, 2.0]),
)


async def run_schedule(
    schedule: list[Fault], plan: list[Step], options: dict[str, Any]
) -> tuple[ProducingCluster, list[tuple[int, bytes, Any]]]:
    """Play a plan against brokers that fail as scheduled, then work; return what became of it."""
    async with producing(
        nodes=NODES,
        partitions=PARTITIONS,
        latency=0.001,
        delivery_timeout_ms=3_000,
        request_timeout_ms=500,
        reconnect_backoff_ms=10,
        **options,
    ) as (cluster, producer):
        await asyncio.sleep(0.1)
        cluster.once(
            ProduceRequest,
            *[lambda request, fault=fault: fault.answer(cluster, request) for fault in schedule],
        )
        sent = []
        for step in plan:
            for _ in range(step.count):
                value = b"%d" % len(sent)
                delivery = await producer.send("orders", value, partition=step.partition)
                sent.append((step.partition, value, delivery))
            await asyncio.sleep(step.pause)
        async with asyncio.timeout(3 + 1):  # R5: within the delivery timeout, and a second
            await asyncio.gather(*[d for _, _, d in sent], return_exceptions=True)
        outcomes = [(partition, value, await outcome_of(d)) for partition, value, d in sent]
        stats = producer.stats()
        assert stats.delivered_records + stats.failed_records == len(sent)
        assert stats.buffer_available_bytes == stats.buffer_total_bytes
        # After all that, the producer is as good as new.
        cluster.on(ProduceRequest, cluster.produce)
        cluster._scripts.clear()
        for partition in range(PARTITIONS):
            value = b"last %d" % partition
            result = await producer.send_and_wait("orders", value, partition=partition)
            outcomes.append((partition, value, result))
    return cluster, outcomes


async def outcome_of(delivery: Any) -> Any:
    try:
        return await delivery
    except KafkaError as error:
        return error


@settings(max_examples=150)
@given(
    st.lists(faults, max_size=25),
    st.lists(steps, min_size=1, max_size=25),
    st.sampled_from([0, 90, 16_384]),
    st.sampled_from([1, 2, 5]),
)
def test_each_acknowledged_record_is_written_once_in_order(schedule, plan, batch_size, in_flight):
    options = {"batch_size": batch_size, "max_in_flight_requests_per_connection": in_flight}

    cluster, outcomes = run_virtual(run_schedule(schedule, plan, options))

    for partition in range(PARTITIONS):
        log = cluster.log(partition=partition).values
        mine = [(value, outcome) for place, value, outcome in outcomes if place == partition]
        copies = Counter(log)
        assert max(copies.values(), default=0) <= 1, "a record is written twice"
        for value, outcome in mine:
            if not isinstance(outcome, KafkaError):
                assert copies[value] == 1, f"{value!r} was acknowledged and is not there"
                assert outcome.offset in (-1, log.index(value))
            elif outcome.definite:
                assert copies[value] == 0, f"{value!r} certainly failed and is there"
        written = [value for value, _ in mine if copies[value]]
        assert log == written, "records changed places"


@settings(max_examples=30)
@given(st.lists(faults, max_size=15), st.lists(steps, min_size=1, max_size=15))
def test_without_idempotence_nothing_acknowledged_is_lost(schedule, plan):
    options = {"enable_idempotence": False, "batch_size": 90}

    cluster, outcomes = run_virtual(run_schedule(schedule, plan, options))

    for partition, value, outcome in outcomes:
        if not isinstance(outcome, KafkaError):
            assert value in cluster.log(partition=partition).values


@settings(max_examples=40)
@given(
    st.lists(faults, max_size=20),
    st.lists(steps, min_size=1, max_size=10),
    st.sampled_from([0.0, 0.2, 1.0]),
    st.booleans(),
)
def test_close_always_returns_and_settles_everything(schedule, plan, timeout, is_mute):
    async def run() -> None:
        async with producing(nodes=NODES, partitions=PARTITIONS) as (cluster, producer):
            cluster.once(
                ProduceRequest,
                *[
                    lambda request, fault=fault: fault.answer(cluster, request)
                    for fault in schedule
                ],
            )
            if is_mute:
                cluster.on(ProduceRequest, SILENCE)
                cluster.on(MetadataRequest, SILENCE)
            deliveries = (
                [
                    await producer.send("orders", b"x", partition=step.partition)
                    for step in plan
                    for _ in range(step.count)
                ]
                if not is_mute
                else []
            )
            loop = asyncio.get_running_loop()
            before = loop.time()

            await producer.close(timeout)

            assert loop.time() - before <= timeout + 5.5
            assert all(delivery.done() for delivery in deliveries)
            await asyncio.gather(*deliveries, return_exceptions=True)

    run_virtual(run())
