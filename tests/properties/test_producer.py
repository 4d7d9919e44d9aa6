"""Laws of a producer whose brokers fail at random.

Every record that ``send`` accepted is delivered or failed in time. Every acknowledged record is in
the log once, and the log has the records in the order in which they were sent.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from pyk.clients import AsyncProducer, Delivery, RecordMetadata
from pyk.clients.errors import KafkaError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.produce import ProduceRequest, ProduceResponse
from pyk.runtime.virtual_time import current_clock, run_virtual
from support.producing_cluster import ProducingCluster, producing
from support.scripted_broker import CLOSE, SILENCE, Answer

NODES = 3
PARTITIONS = 2
DELIVERY_TIMEOUT = 3.0
CLOSE_GRACE = 5.5  # seconds that `close` may take beyond its timeout

ERRORS_AFTER_APPEND = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
]
ERRORS_WITHOUT_APPEND = [
    *ERRORS_AFTER_APPEND,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
]


# -- events: bursts of records, and brokers that fail ----------------------------------------------


@attrs.frozen
class Burst:
    """Records that are sent to one partition in a row, and the pause after them."""

    partition: int
    records: int
    pause: float


@attrs.frozen
class Fault:
    """How a broker handles one produce request."""

    name: str
    produce: Callable[[ProducingCluster, ProduceRequest], Any] = attrs.field(repr=False)


def move_all_leaders_then_append(cluster: ProducingCluster, request: ProduceRequest) -> Any:
    for partition in range(PARTITIONS):
        epoch = cluster.topics["orders"].epochs[partition]
        cluster.move(partition, 1 + (epoch + 1) % NODES)
    return cluster.produce(request)


def append_then_answer(code: ErrorCode) -> Fault:
    return Fault(
        f"append, then answer {code.name}",
        lambda cluster, request: cluster.append_and_answer(code)(request),
    )


def refuse_with(code: ErrorCode) -> Fault:
    return Fault(f"refuse with {code.name}", lambda cluster, request: cluster.refuse(code)(request))


NO_FAULT = Fault("work", ProducingCluster.produce)
ANSWER_WITHOUT_TOPICS = Fault("answer without topics", lambda cluster, request: ProduceResponse())
LOST_ANSWERS_AND_MOVES = [
    Fault("append, then close", ProducingCluster.append_and_close),
    Fault("append, then keep silent", ProducingCluster.append_and_keep_silent),
    Fault("close", lambda cluster, request: CLOSE),
    Fault("keep silent", lambda cluster, request: SILENCE),
    Fault("move all leaders, then append", move_all_leaders_then_append),
]

bursts = st.builds(
    Burst,
    partition=st.integers(0, PARTITIONS - 1),
    records=st.integers(1, 6),
    pause=st.sampled_from([0.0, 0.0, 0.001, 0.01, 0.3, 2.0]),
)
faults = st.one_of(
    st.just(NO_FAULT),
    st.sampled_from(LOST_ANSWERS_AND_MOVES),
    st.just(ANSWER_WITHOUT_TOPICS),
    st.sampled_from(ERRORS_AFTER_APPEND).map(append_then_answer),
    st.sampled_from(ERRORS_WITHOUT_APPEND).map(refuse_with),
)


# -- the laws --------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(
    st.lists(faults, max_size=25),
    st.lists(bursts, min_size=1, max_size=25),
    st.sampled_from([0, 90, 16_384]),
    st.sampled_from([1, 2, 5]),
)
def test_each_acknowledged_record_is_written_once_in_order(
    faults: list[Fault], bursts: list[Burst], batch_size: int, max_in_flight: int
) -> None:
    cluster, records = run_virtual(
        send_while_brokers_fail(
            faults,
            bursts,
            batch_size=batch_size,
            max_in_flight_requests_per_connection=max_in_flight,
        )
    )

    for partition in range(PARTITIONS):
        written = cluster.log(partition=partition).values
        sent = [record for record in records if record.partition == partition]
        assert_written_once_at_most(written)
        for record in sent:
            assert_written_as_reported(record, written)
        assert_written_in_order(sent, written)


@settings(max_examples=30)
@given(st.lists(faults, max_size=15), st.lists(bursts, min_size=1, max_size=15))
def test_without_idempotence_no_acknowledged_record_is_lost(
    faults: list[Fault], bursts: list[Burst]
) -> None:
    cluster, records = run_virtual(
        send_while_brokers_fail(faults, bursts, enable_idempotence=False, batch_size=90)
    )

    for record in records:
        if isinstance(record.outcome, RecordMetadata):
            assert record.value in cluster.log(partition=record.partition).values


@settings(max_examples=40)
@given(
    st.lists(faults, max_size=20),
    st.lists(bursts, min_size=1, max_size=10),
    st.sampled_from([0.0, 0.2, 1.0]),
)
def test_close_settles_every_record_in_time_while_brokers_fail(
    faults: list[Fault], bursts: list[Burst], timeout: float
) -> None:
    async def run() -> None:
        async with producing(nodes=NODES, partitions=PARTITIONS) as (cluster, producer):
            answer_with(cluster, faults)
            deliveries = [
                await producer.send("orders", b"x", partition=burst.partition)
                for burst in bursts
                for _ in range(burst.records)
            ]

            await assert_closes_in_time(producer, timeout)

            assert all(delivery.done() for delivery in deliveries)
            await asyncio.gather(*deliveries, return_exceptions=True)

    run_virtual(run())


@settings(max_examples=20)
@given(st.lists(bursts, max_size=5), st.sampled_from([0.0, 0.2, 1.0]))
def test_close_returns_in_time_while_brokers_do_not_answer(
    bursts: list[Burst], timeout: float
) -> None:
    async def run() -> None:
        async with producing(nodes=NODES, partitions=PARTITIONS) as (cluster, producer):
            cluster.on(ProduceRequest, SILENCE)
            deliveries = [
                await producer.send("orders", b"x", partition=burst.partition) for burst in bursts
            ]
            cluster.on(MetadataRequest, SILENCE)

            await assert_closes_in_time(producer, timeout)

            assert all(delivery.done() for delivery in deliveries)
            await asyncio.gather(*deliveries, return_exceptions=True)

    run_virtual(run())


# -- sending ---------------------------------------------------------------------------------------


@attrs.frozen
class SentRecord:
    """A record, and what its delivery reported."""

    partition: int
    value: bytes
    outcome: RecordMetadata | KafkaError


async def send_while_brokers_fail(
    faults: list[Fault], bursts: list[Burst], **options: Any
) -> tuple[ProducingCluster, list[SentRecord]]:
    """Send bursts to brokers that fail, then one record per partition to brokers that work.

    Returns what was sent, oldest first.
    """
    async with producing(
        nodes=NODES,
        partitions=PARTITIONS,
        latency=0.001,
        delivery_timeout_ms=int(DELIVERY_TIMEOUT * 1000),
        request_timeout_ms=500,
        reconnect_backoff_ms=10,
        **options,
    ) as (cluster, producer):
        await asyncio.sleep(0.1)
        answer_with(cluster, faults)
        records = await send_bursts(producer, bursts)
        assert_nothing_is_pending(producer, len(records))

        cluster.forget_scripts()
        for partition in range(PARTITIONS):
            value = b"last of partition %d" % partition
            result = await producer.send_and_wait("orders", value, partition=partition)
            records.append(SentRecord(partition, value, result))
    return cluster, records


def answer_with(cluster: ProducingCluster, faults: list[Fault]) -> None:
    """Handle each of the next produce requests with one of these faults, and the rest correctly."""

    def answer(fault: Fault) -> Answer:
        return lambda request: fault.produce(cluster, request)

    cluster.once(ProduceRequest, *[answer(fault) for fault in faults])


async def send_bursts(producer: AsyncProducer[Any, Any], bursts: list[Burst]) -> list[SentRecord]:
    """Send records with the values 0, 1, 2 …, and wait until each is delivered or failed."""
    sent: list[tuple[int, bytes, Delivery]] = []
    for burst in bursts:
        for _ in range(burst.records):
            value = b"%d" % len(sent)
            delivery = await producer.send("orders", value, partition=burst.partition)
            sent.append((burst.partition, value, delivery))
        await asyncio.sleep(burst.pause)
    async with asyncio.timeout(DELIVERY_TIMEOUT + 1):
        return [
            SentRecord(partition, value, await outcome_of(delivery))
            for partition, value, delivery in sent
        ]


async def outcome_of(delivery: Delivery) -> RecordMetadata | KafkaError:
    try:
        return await delivery
    except KafkaError as error:
        return error


# -- checks ----------------------------------------------------------------------------------------


def assert_nothing_is_pending(producer: AsyncProducer[Any, Any], sent: int) -> None:
    stats = producer.stats()
    assert stats.delivered_records + stats.failed_records == sent
    assert stats.buffer_available_bytes == stats.buffer_total_bytes


def assert_written_once_at_most(written: list[bytes]) -> None:
    assert [value for value, copies in Counter(written).items() if copies > 1] == []


def assert_written_as_reported(record: SentRecord, written: list[bytes]) -> None:
    """Check that an acknowledged record is at its offset and a definitely failed one is missing."""
    if isinstance(record.outcome, RecordMetadata):
        assert record.value in written
        assert record.outcome.offset in (-1, written.index(record.value))
    elif record.outcome.definite:
        assert record.value not in written


def assert_written_in_order(sent: list[SentRecord], written: list[bytes]) -> None:
    assert written == [record.value for record in sent if record.value in written]


async def assert_closes_in_time(producer: AsyncProducer[Any, Any], timeout: float) -> None:
    started = current_clock().now()
    await producer.close(timeout)
    assert current_clock().now() - started <= timeout + CLOSE_GRACE
