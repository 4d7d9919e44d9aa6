"""Share groups at the leaders of partitions: the same requests get the answers of Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from pyk.clients import AsyncProducer
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from support.brokers import Kafka
from support.raw_share_partitions import (
    Acquired,
    Partition,
    acquired,
    code,
    initialize,
    offsets,
    partition_at,
    told,
)

E = ErrorCode
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
NOTHING_TOLD = (0, None, 0, None)


@pytest_asyncio.fixture
async def partition(kafka: Kafka, group: str) -> AsyncIterator[Partition]:
    async with partition_at(kafka, group) as found:
        yield found


async def test_records_are_acquired_in_batches_and_accepted(partition: Partition) -> None:
    await partition.append(10, 10)

    assert await partition.first(max_records=10) == [(0, 9, 1)]
    assert await partition.first("b") == [(10, 19, 1)]
    answer = await partition.acknowledge(1, (0, 9, [ACCEPT]))
    assert (code(answer), answer.acquisition_lock_timeout_ms) == (0, 30_000)
    assert await partition.acquire(2) == []
    assert await partition.acquire(1, (10, 19, [RELEASE]), member="b") in ([], [(10, 19, 2)])


async def test_what_is_acquired_is_listed_by_batch_size(partition: Partition) -> None:
    await partition.append(10, 5, 20)

    assert await partition.first(batch_size=12) == [(0, 14, 1), (15, 34, 1)]


async def test_small_batch_sizes(partition: Partition) -> None:
    await partition.append(2, 2)

    assert await partition.first(batch_size=1) == [(0, 1, 1), (2, 3, 1)]


async def test_record_mode_gives_no_more_than_asked(partition: Partition) -> None:
    await partition.append(10)

    assert await partition.first(max_records=3, share_acquire_mode=1) == [(0, 2, 1)]
    assert await partition.first("b", max_records=4, share_acquire_mode=1) == [(3, 6, 1)]


async def test_whole_batches_of_the_log_are_sent(partition: Partition) -> None:
    await partition.append(5, 5, 5)
    await partition.first(max_records=5)

    response = await partition.fetch(1, max_records=3)

    assert (acquired(response), offsets(response)) == ([(5, 9, 1)], list(range(5, 10)))


@pytest.mark.parametrize(
    ("limits", "answer"),
    [({"max_records": 0}, []), ({"max_records": -1}, []), ({"max_bytes": 0}, [])],
)
async def test_nothing_is_asked_for(
    partition: Partition, limits: dict[str, Any], answer: Acquired
) -> None:
    await partition.append(5)
    await partition.first(max_wait_ms=0, min_bytes=1 << 20, max_records=0)

    response = await partition.fetch(1, **limits)

    assert (code(response), acquired(response)) == (0, answer)


async def test_types_for_each_record(partition: Partition) -> None:
    await partition.append(4)
    await partition.first()

    answer = await partition.acknowledge(1, (0, 3, [ACCEPT, RELEASE, REJECT, GAP]))
    assert told(answer) == [NOTHING_TOLD]
    assert await partition.acquire(2) == [(1, 1, 2)]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ([(3, 2, [ACCEPT])], E.INVALID_REQUEST),
        ([(0, 4, [])], E.INVALID_REQUEST),
        ([(0, 4, [ACCEPT, ACCEPT])], E.INVALID_REQUEST),
        ([(0, 4, [5])], E.INVALID_REQUEST),
        ([(0, 4, [-1])], E.INVALID_REQUEST),
        ([(0, 4, [RENEW])], E.INVALID_REQUEST),
        ([(3, 4, [ACCEPT]), (0, 2, [ACCEPT])], E.INVALID_REQUEST),
        ([(0, 4, [ACCEPT]), (4, 4, [ACCEPT])], E.INVALID_RECORD_STATE),
        ([(0, 9, [ACCEPT])], E.INVALID_REQUEST),
        ([(7, 9, [ACCEPT])], E.INVALID_REQUEST),
        ([(-5, 4, [ACCEPT])], E.INVALID_REQUEST),
        ([], E.NONE),
        ([(1, 2, [ACCEPT]), (3, 3, [REJECT])], E.NONE),
    ],
)
async def test_acknowledgements_are_checked(
    partition: Partition, said: list[Any], error: ErrorCode
) -> None:
    await partition.append(5)
    await partition.first()

    answer = await partition.acknowledge(1, *said)

    assert answer.error_code == 0
    assert code(answer) == error, answer
    assert await partition.acquire(2, (0, 0, [RELEASE])) in ([], [(0, 0, 2)])


async def test_records_of_another_member(partition: Partition) -> None:
    await partition.append(5, 5)
    await partition.first(max_records=5)
    await partition.first("b")

    whole = await partition.acknowledge(1, (5, 9, [ACCEPT]))
    part = await partition.acknowledge(2, (6, 7, [ACCEPT]))
    both = await partition.acknowledge(3, (0, 9, [ACCEPT]))

    not_owner = "Member is not the owner of batch record"
    for answer in (whole, part, both):
        assert told(answer) == [(E.INVALID_RECORD_STATE, not_owner, 0, None)]
    assert told(await partition.acknowledge(4, (0, 4, [ACCEPT]))) == [NOTHING_TOLD]


async def test_what_was_acknowledged_before(partition: Partition) -> None:
    await partition.append(5, 5)
    await partition.first(max_records=5)
    await partition.first("b")
    await partition.acknowledge(1, (0, 4, [ACCEPT]))
    await partition.acknowledge(1, (5, 5, [ACCEPT]), (7, 7, [ACCEPT]), member="b")

    again = await partition.acknowledge(2, (0, 4, [REJECT]))
    split = await partition.acknowledge(2, (7, 7, [ACCEPT]), member="b")

    assert told(again) == [NOTHING_TOLD]
    message = "The offset cannot be acknowledged. The offset is not acquired."
    assert told(split) == [(E.INVALID_RECORD_STATE, message, 0, None)]


async def test_acknowledgements_within_a_fetch(partition: Partition) -> None:
    await partition.append(5)
    await partition.first()

    good = await partition.fetch(1, (0, 1, [ACCEPT]))
    bad = await partition.fetch(2, (0, 9, [ACCEPT]))

    assert told(good) == [NOTHING_TOLD]
    message = "Batch record not found. The last offset in request is past acquired records."
    assert told(bad) == [(0, None, E.INVALID_REQUEST, message)]


async def test_an_acquire_mode_that_is_unknown(partition: Partition) -> None:
    response = await partition.fetch(0, share_acquire_mode=5)

    assert (response.error_code, response.responses) == (E.UNKNOWN_SERVER_ERROR, [])


async def test_limits_that_are_negative(partition: Partition) -> None:
    await partition.append(5)
    await partition.first(max_records=0)

    bytes_ = await partition.fetch(1, max_bytes=-1)
    least = await partition.fetch(2, min_bytes=-1)
    wait = await partition.fetch(3, max_wait_ms=-1)

    assert told(bytes_) == [(E.UNKNOWN_SERVER_ERROR, None, 0, None)]
    assert acquired(least) == [(0, 4, 1)]
    assert (code(wait), wait.responses) == (E.NONE, [])


async def test_renewals(partition: Partition) -> None:
    await partition.append(5)
    await partition.first()
    none = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}

    good = await partition.fetch(1, (0, 4, [RENEW]), is_renew_ack=True, **none)
    limits = await partition.fetch(2, (0, 4, [RENEW]), is_renew_ack=True)
    mixed = await partition.acknowledge(2, (0, 1, [RENEW, ACCEPT]), is_renew_ack=True)
    unsaid = await partition.acknowledge(3, (2, 2, [ACCEPT]), is_renew_ack=True)
    old = await partition.acknowledge(4, (3, 3, [RENEW]), version=1)

    assert told(good) == [NOTHING_TOLD]
    assert limits.error_code == E.INVALID_REQUEST
    assert told(mixed) == told(unsaid) == [NOTHING_TOLD]
    assert told(old) == [(E.INVALID_REQUEST, None, 0, None)]


async def test_a_group_begins_at_the_first_record_of_a_duration(
    kafka: Kafka, partition: Partition
) -> None:
    await configure(partition, share_auto_offset_reset="by_duration:PT1H")
    await initialize(partition.client, partition.group, partition.topic_id, epoch=2, start=-1)
    await partition.append(5)  # in the past
    async with asyncio.timeout(20):
        while code(await partition.fetch(0)) != E.OFFSET_NOT_AVAILABLE:
            await asyncio.sleep(0.1)

    producer: AsyncProducer[bytes, bytes] = AsyncProducer(kafka.bootstrap)
    async with producer:
        await producer.send_and_wait(partition.topic, b"now")

    async with asyncio.timeout(20):
        while (found := acquired(await partition.fetch(0))) == []:
            await asyncio.sleep(0.1)
    assert found == [(5, 5, 1)]


async def test_records_are_archived_after_five_deliveries(partition: Partition) -> None:
    await partition.append(1)
    counts = []
    for epoch in range(0, 12, 2):
        found = await (partition.first() if not epoch else partition.acquire(epoch))
        counts += [count for _, _, count in found]
        if found:
            await partition.acknowledge(epoch + 1, (0, 0, [RELEASE]))
        else:
            break

    assert counts == [1, 2, 3, 4, 5]


async def test_often_delivered_records_come_in_smaller_pieces(partition: Partition) -> None:
    await partition.append(16)
    found = [await partition.first()]
    epoch = 1
    for _ in range(6):
        for first, last, _ in found[-1]:
            await partition.acknowledge(epoch, (first, last, [RELEASE]))
            epoch += 1
        found.append(await partition.acquire(epoch))
        epoch += 1

    sizes = [sum(last - first + 1 for first, last, _ in each) for each in found]
    counts = [max(count for _, _, count in each) for each in found]
    assert (sizes, counts) == ([16, 16, 16, 8, 1, 1, 1], [1, 2, 3, 4, 5, 5, 5]), found


# -- what a group configures -----------------------------------------------------------------------


async def configure(partition: Partition, **configs: object) -> None:
    """Give the group configurations of its own, and wait until the leader obeys them."""
    resource = AlterConfigsResource(
        resource_type=32,
        resource_name=partition.group,
        configs=[
            AlterableConfig(name=name.replace("_", "."), value=str(value), config_operation=0)
            for name, value in configs.items()
        ],
    )
    answer = await partition.client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert [each.error_code for each in answer.responses] == [0]
    await asyncio.sleep(1)


async def test_a_group_has_a_delivery_limit_of_its_own(partition: Partition) -> None:
    await configure(partition, share_delivery_count_limit=2)
    await partition.append(2)

    assert await partition.first() == [(0, 1, 1)]
    await partition.acknowledge(1, (0, 1, [RELEASE]))
    assert await partition.acquire(2) == [(0, 1, 2)]
    await partition.acknowledge(3, (0, 1, [RELEASE]))
    assert await partition.acquire(4) == []


async def test_a_group_has_a_limit_of_locks_of_its_own(partition: Partition) -> None:
    await configure(partition, share_partition_max_record_locks=100)
    await partition.append(60, 60, 60)

    assert await partition.first() == [(0, 119, 1)]
    assert await partition.acquire(1) == []
    await partition.acknowledge(2, (7, 7, [RELEASE]))
    assert await partition.acquire(3) == [(7, 7, 2)]
    await partition.acknowledge(4, (0, 6, [ACCEPT]), (7, 29, [ACCEPT]))
    assert await partition.acquire(5) == [(120, 179, 1)]


async def test_a_group_may_forbid_renewals(partition: Partition) -> None:
    await configure(partition, share_renew_acknowledge_enable="false")
    await partition.append(5)
    await partition.first()

    refused = await partition.acknowledge(1, (0, 4, [RENEW]), is_renew_ack=True)

    message = "Renewing acquisition locks is not enabled for the group."
    assert told(refused) == [(E.INVALID_RECORD_STATE, message, 0, None)]


async def test_a_group_has_a_lock_duration_of_its_own(partition: Partition) -> None:
    await configure(partition, share_record_lock_duration_ms=20_000)
    await partition.append(5)

    response = await partition.fetch(0)

    assert response.acquisition_lock_timeout_ms == 20_000


@pytest.mark.parametrize(
    ("isolation", "expected"),
    [("read_uncommitted", [(0, 4, 1)]), ("read_committed", [(2, 4, 1)])],
)
async def test_a_group_may_read_committed_records_alone(
    kafka: Kafka, partition: Partition, isolation: str, expected: Acquired
) -> None:
    await configure(partition, share_isolation_level=isolation)
    producer: AsyncProducer[bytes, bytes] = AsyncProducer(
        kafka.bootstrap, transactional_id=partition.group, linger_ms=1000
    )
    async with producer:
        await producer.begin_transaction()
        for _ in range(2):
            await producer.send(partition.topic, b"aborted")
        await producer.flush()
        await producer.abort_transaction()
    await partition.until_end(3)
    await partition.append(2)

    found = await partition.first()

    assert found == expected
    answer = await partition.acknowledge(1, (2, 4, [GAP, ACCEPT, ACCEPT]))
    assert told(answer) == [NOTHING_TOLD]
