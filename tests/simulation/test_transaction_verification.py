"""A leader that asks the coordinator before it appends, while markers come and answers are late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.deferred import Deferred
from pyk.runtime.virtual_time import virtual_time
from support.running_brokers import TOPIC, LaggingReplica, running_broker
from support.transaction_requests import TransactionRequests

ORDERS = TopicPartition(TOPIC, 0)
OTHER_PRODUCER = 4711
WITHOUT_END = 1000
"""How often a verification is repeated that never ends."""
versions = pytest.mark.parametrize("version", [11, 12])


async def begin(broker: Broker, version: int) -> tuple[TransactionRequests, tuple[int, int]]:
    requests = TransactionRequests(broker)
    producer = await requests.init()
    if version < 12:
        await requests.add(producer, ORDERS)
    return requests, producer


@contextmanager
def after_each_verification(broker: Broker, event: Callable[[int], object]) -> Iterator[list[int]]:
    """Let something happen when the coordinator has answered, before the leader knows of it."""
    channels: Any = broker.services.channels
    send, count = channels.send, [0]

    def send_and_disturb(node_id: int, request: Message) -> Deferred[Any]:
        response: Deferred[Any] = send(node_id, request)
        if ApiKey(request.api_key) is not ApiKey.ADD_PARTITIONS_TO_TXN:
            return response

        def disturb(answer: Any) -> Any:
            count[0] += 1
            assert count[0] < WITHOUT_END
            event(count[0])
            return answer

        return response.then(disturb)

    channels.send = send_and_disturb
    try:
        yield count
    finally:
        del channels.send


def write_marker(broker: Broker, producer: tuple[int, int]) -> None:
    broker.services.replicas.get(TOPIC, 0).end_transaction(*producer, 0, commit=False)


@versions
@virtual_time
async def test_markers_of_other_producers_do_not_hold_a_write_up(version: int) -> None:
    async with running_broker() as broker:
        requests, producer = await begin(broker, version)

        with after_each_verification(
            broker, lambda _: write_marker(broker, (OTHER_PRODUCER, 0))
        ) as asked:
            written = await requests.write(producer, ORDERS, version=version)

        assert written is ErrorCode.NONE
        assert asked == [1]


@versions
@virtual_time
async def test_a_marker_of_the_producer_makes_the_leader_ask_again(version: int) -> None:
    async with running_broker() as broker:
        requests, producer = await begin(broker, version)

        def write_first_marker(count: int) -> None:
            if count == 1:
                write_marker(broker, producer)

        with after_each_verification(broker, write_first_marker) as asked:
            written = await requests.write(producer, ORDERS, version=version)

        assert written is ErrorCode.NONE
        assert asked == [2]


@pytest.mark.parametrize(
    ("version", "code"),
    [(11, ErrorCode.NOT_ENOUGH_REPLICAS), (12, ErrorCode.CONCURRENT_TRANSACTIONS)],
)
@virtual_time
async def test_a_leader_asks_again_for_a_short_time_only(version: int, code: ErrorCode) -> None:
    async with running_broker() as broker:
        requests, producer = await begin(broker, version)

        with after_each_verification(broker, lambda _: write_marker(broker, producer)):
            refused = await requests.write(producer, ORDERS, version=version)

        assert refused is code
        assert await requests.write(producer, ORDERS, version=version) is ErrorCode.NONE


@virtual_time
async def test_a_batch_behind_one_that_opened_the_transaction_is_in_order() -> None:
    async with running_broker() as broker:
        requests, producer = await begin(broker, 12)

        written = await asyncio.gather(
            *(requests.write(producer, ORDERS, sequence=sequence) for sequence in range(3))
        )

        assert written == [ErrorCode.NONE] * 3
        assert await requests.write(producer, ORDERS, sequence=3) is ErrorCode.NONE


@virtual_time
async def test_a_slow_marker_holds_no_verification_up() -> None:
    async with running_broker(partitions=2) as broker:
        first, second = TransactionRequests(broker, "first"), TransactionRequests(broker, "second")
        producers = await first.init(), await second.init()
        await first.write(producers[0], ORDERS)
        replica = LaggingReplica(broker.services.replicas.get(TOPIC, 0))

        await first.end(producers[0])
        async with asyncio.timeout(1):
            written = await second.write(producers[1], TopicPartition(TOPIC, 1))

        assert written is ErrorCode.NONE
        assert (await first.describe()).transaction_state == "PrepareCommit"
        replica.catch_up()
        assert await first.settle() == "CompleteCommit"


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (10, ErrorCode.INVALID_TXN_STATE),
        (11, ErrorCode.TRANSACTION_ABORTABLE),
        (12, ErrorCode.NONE),
    ],
)
@virtual_time
async def test_a_partition_is_added_by_a_write_of_version_12_only(
    version: int, code: ErrorCode
) -> None:
    async with running_broker() as broker:
        requests = TransactionRequests(broker)
        producer = await requests.init()

        assert await requests.write(producer, ORDERS, version=version) is code

        state = "Ongoing" if version == 12 else "Empty"
        assert (await requests.describe()).transaction_state == state


@pytest.mark.parametrize(("version", "asks"), [(11, 0), (12, 1)])
@virtual_time
async def test_without_verification_the_coordinator_is_asked_to_add_partitions_only(
    version: int, asks: int
) -> None:
    async with running_broker(transaction_partition_verification_enable=False) as broker:
        requests, producer = await begin(broker, version)

        with after_each_verification(broker, lambda _: None) as asked:
            for sequence in range(3):
                written = await requests.write(producer, ORDERS, sequence=sequence, version=version)
                assert written is ErrorCode.NONE

        assert asked == [asks]
