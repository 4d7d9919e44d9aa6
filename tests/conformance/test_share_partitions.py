"""Share groups at the leaders of partitions: the same requests get the answers of Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from pyk.clients import AsyncProducer
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pyk.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
)
from pyk.protocol.messages.initialize_share_group_state import PartitionData as NewState
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.share_acknowledge import (
    AcknowledgementBatch as SaidBatch,
)
from pyk.protocol.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pyk.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from pyk.protocol.records import read_batches
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from support.broker_requests import list_offset, produce, until_led
from support.brokers import Kafka, make_topic_of_node_0
from support.raw_client import RawClient, batch

E = ErrorCode
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
OTHER_TOPIC = UUID(int=77)
Acquired = list[tuple[int, int, int]]


class Partition:
    """Partition 0 of a topic, at its leader, with two share sessions on one connection."""

    def __init__(self, client: RawClient, group: str, topic: str, topic_id: UUID) -> None:
        self.client = client
        self.group = group
        self.topic = topic
        self.topic_id = topic_id

    async def append(self, *counts: int) -> None:
        for count in counts:
            await self.client.ask(produce(batch(*[b"x"] * count), topic=self.topic), 12)

    async def until_end(self, offset: int) -> None:
        """Wait until the log has records up to ``offset``: markers come late."""
        async with asyncio.timeout(20):
            while True:
                (topic,) = (await self.client.ask(list_offset(-1, topic=self.topic))).topics
                if topic.partitions[0].offset == offset:
                    return
                await asyncio.sleep(0.05)

    async def fetch(
        self,
        epoch: int,
        *said: tuple[int, int, list[int]],
        member: str | None = "a",
        topics: list[tuple[UUID, int]] | None = None,
        version: int = 2,
        forget: bool = False,
        **more: Any,
    ) -> Any:
        batches = [
            AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in said
        ]
        if topics is None:
            topics = [(self.topic_id, 0)] if epoch == 0 or said else []
        fields = {
            "group_id": self.group,
            "member_id": member,
            "share_session_epoch": epoch,
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            "topics": [
                FetchTopic(
                    topic_id=topic_id,
                    partitions=[
                        FetchPartition(partition_index=number, acknowledgement_batches=batches)
                    ],
                )
                for topic_id, number in topics
            ],
            **more,
        }
        if forget:
            fields["forgotten_topics_data"] = [
                ForgottenTopic(topic_id=self.topic_id, partitions=[0])
            ]
        return await self.client.ask(ShareFetchRequest(**fields), version)

    async def acquire(self, epoch: int, *said: Any, **more: Any) -> Acquired:
        """Fetch until something is acquired, or 500 ms are over; return it."""
        response = await self.fetch(epoch, *said, **more)
        assert not response.error_code, response
        return acquired(response)

    async def first(self, member: str = "a", **more: Any) -> Acquired:
        """Open a session; Kafka may say at first that it does not know the state."""
        async with asyncio.timeout(20):
            while True:
                response = await self.fetch(0, member=member, **more)
                if code(response) in (0, E.INVALID_REQUEST):
                    return acquired(response)
                await asyncio.sleep(0.1)

    async def acknowledge(
        self,
        epoch: int,
        *said: tuple[int, int, list[int]],
        member: str | None = "a",
        topic_id: UUID | None = None,
        number: int = 0,
        version: int = 2,
        **more: Any,
    ) -> Any:
        batches = [
            SaidBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in said
        ]
        partition = AcknowledgePartition(partition_index=number, acknowledgement_batches=batches)
        topic = AcknowledgeTopic(topic_id=topic_id or self.topic_id, partitions=[partition])
        fields = {
            "group_id": self.group,
            "member_id": member,
            "share_session_epoch": epoch,
            "topics": [topic],
            **more,
        }
        return await self.client.ask(ShareAcknowledgeRequest(**fields), version)


@pytest_asyncio.fixture
async def partition(kafka: Kafka, group: str) -> AsyncIterator[Partition]:
    topic = await asyncio.to_thread(make_topic_of_node_0, kafka, "shared")
    async with RawClient(kafka.bootstrap) as client:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        (metadata,) = (await client.ask(asked, 12)).topics
        await until_led(client, topic)
        await initialize(client, group, metadata.topic_id)
        yield Partition(client, group, topic, metadata.topic_id)


async def initialize(
    client: RawClient, group: str, topic_id: UUID, *, epoch: int = 1, start: int = 0
) -> None:
    """Begin the state of a share partition, as a group coordinator does."""
    key = str(SharePartitionKey(group, topic_id, 0))
    state = NewState(partition=0, state_epoch=epoch, start_offset=start)
    request = InitializeShareGroupStateRequest(
        group_id=group, topics=[InitializeStateData(topic_id=topic_id, partitions=[state])]
    )
    async with asyncio.timeout(30):
        while True:
            find = FindCoordinatorRequest(key_type=2, coordinator_keys=[key])
            (found,) = (await client.ask(find, 6)).coordinators
            if not found.error_code:
                async with RawClient(f"{found.host}:{found.port}") as coordinator:
                    (topic,) = (await coordinator.ask(request)).results
                if not topic.partitions[0].error_code:
                    return
            await asyncio.sleep(0.2)


def acquired(response: Any) -> Acquired:
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for topic in response.responses
        for partition in topic.partitions
        for each in partition.acquired_records
    ]


def offsets(response: Any) -> list[int]:
    (topic,) = response.responses
    data = topic.partitions[0].records
    return [record.offset for each in read_batches(data) for record in each]


def code(response: Any) -> int:
    if response.error_code or not response.responses:
        return int(response.error_code)
    return int(response.responses[0].partitions[0].error_code)


def told(response: Any) -> list[tuple[int, str | None, int, str | None]]:
    """Return the errors and messages of all partitions."""
    return [
        (
            partition.error_code,
            partition.error_message,
            getattr(partition, "acknowledge_error_code", 0),
            getattr(partition, "acknowledge_error_message", None),
        )
        for topic in response.responses
        for partition in topic.partitions
    ]


NOTHING_TOLD = (0, None, 0, None)


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


async def test_the_first_fetch_acknowledges_nothing(partition: Partition) -> None:
    response = await partition.fetch(0, (0, 1, [ACCEPT]))

    assert (response.error_code, response.error_message) == (E.INVALID_REQUEST, None)


async def test_session_epochs(partition: Partition) -> None:
    async def codes(*epochs: int) -> list[int]:
        return [(await partition.fetch(epoch)).error_code for epoch in epochs]

    assert await codes(1, -1, -2) == [E.SHARE_SESSION_NOT_FOUND] * 3
    await partition.first()
    assert await codes(2, 1, 1, -2, 2) == [
        E.INVALID_SHARE_SESSION_EPOCH,
        E.NONE,
        E.INVALID_SHARE_SESSION_EPOCH,
        E.INVALID_SHARE_SESSION_EPOCH,
        E.NONE,
    ]
    assert (await partition.acknowledge(0)).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert (await partition.acknowledge(9)).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert (await partition.acknowledge(3)).error_code == E.NONE
    assert (await partition.acknowledge(-1)).error_code == E.NONE
    assert (await partition.acknowledge(-1)).error_code == E.SHARE_SESSION_NOT_FOUND
    assert await codes(4) == [E.SHARE_SESSION_NOT_FOUND]


@pytest.mark.parametrize("member", [None, "", "x" * 37])
async def test_member_ids(partition: Partition, member: str | None) -> None:
    fetched = await partition.fetch(0, member=member)
    said = await partition.acknowledge(1, member=member)

    assert (fetched.error_code, fetched.error_message) == (E.INVALID_REQUEST, None)
    assert (said.error_code, said.error_message) == (E.INVALID_REQUEST, None)


async def test_a_request_without_a_group(partition: Partition) -> None:
    assert (await partition.fetch(0, group_id=None)).error_code == E.INVALID_REQUEST
    assert (await partition.acknowledge(1, group_id=None)).error_code == E.INVALID_REQUEST


async def test_partitions_that_are_unknown(partition: Partition) -> None:
    await partition.first()

    by_number = await partition.fetch(1, topics=[(partition.topic_id, 7)])
    said = await partition.acknowledge(2, (0, 1, [ACCEPT]), topic_id=OTHER_TOPIC)
    said_too = await partition.acknowledge(3, (0, 1, [ACCEPT]), number=7)

    assert told(by_number) == [(E.UNKNOWN_TOPIC_OR_PARTITION, None, 0, None)]
    assert told(said) == [(E.UNKNOWN_TOPIC_ID, None, 0, None)]
    assert told(said_too) == [(E.UNKNOWN_TOPIC_OR_PARTITION, None, 0, None)]


async def test_a_group_without_state(partition: Partition) -> None:
    response = await partition.fetch(0, group_id=f"{partition.group}-unknown")

    assert told(response) == [(E.UNKNOWN_SERVER_ERROR, None, 0, None)]


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


async def test_partitions_that_are_forgotten(partition: Partition) -> None:
    await partition.append(5)
    assert await partition.first(max_records=0) == []

    assert await partition.acquire(1, forget=True) == []
    added = await partition.acquire(2, topics=[(partition.topic_id, 0)])
    assert added == [(0, 4, 1)]


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


async def test_closing_a_session_releases_its_records(partition: Partition) -> None:
    await partition.append(5)
    await partition.first()

    closed = await partition.acknowledge(-1, (0, 0, [ACCEPT]))

    assert told(closed) == [NOTHING_TOLD]
    assert await partition.first("b") == [(1, 4, 2)]


async def test_only_partitions_with_acknowledgements_are_answered(partition: Partition) -> None:
    await partition.append(5)
    await partition.first()

    assert told(await partition.acknowledge(1)) == []
    unknown = await partition.acknowledge(2, topic_id=OTHER_TOPIC)
    assert [one[0] for one in told(unknown)] == [E.UNKNOWN_TOPIC_ID]
    unknown = await partition.acknowledge(3, number=7)
    assert [one[0] for one in told(unknown)] == [E.UNKNOWN_TOPIC_OR_PARTITION]
    assert told(await partition.acknowledge(-1)) == []


async def test_the_final_acknowledgement_needs_no_epoch_and_no_partitions(
    partition: Partition,
) -> None:
    await partition.append(5)
    await partition.first()
    await partition.acknowledge(1, (0, 1, [ACCEPT]))

    assert (await partition.acknowledge(-1, topics=[])).error_code == E.NONE

    again = await partition.acknowledge(-1, topics=[])
    assert again.error_code == E.SHARE_SESSION_NOT_FOUND
    assert await partition.first(member="b") == [(2, 4, 2)]


async def test_a_state_that_began_again_is_loaded_again(partition: Partition) -> None:
    await partition.append(5, 5)
    await partition.first(max_records=1)
    await initialize(partition.client, partition.group, partition.topic_id, epoch=2, start=7)

    refused = await partition.acknowledge(1, (0, 4, [ACCEPT]))

    message = (
        "Error in write state RPC. The share coordinator rejected the request because the "
        "share-group state epoch did not match."
    )
    assert told(refused) == [(E.NOT_LEADER_OR_FOLLOWER, message, 0, None)]
    assert await partition.first(member="b") == [(7, 9, 1)]


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


async def test_the_final_fetch_carries_acknowledgements(partition: Partition) -> None:
    await partition.append(5)
    await partition.first()

    closed = await partition.fetch(-1, (0, 4, [RELEASE]))

    assert told(closed) == [NOTHING_TOLD]
    assert await partition.first("b") == [(0, 4, 2)]


async def test_a_connection_that_is_lost_releases_its_records(partition: Partition) -> None:
    await partition.append(5)
    host, port = partition.client._address
    async with RawClient(f"{host}:{port}") as other:
        other_member = Partition(other, partition.group, partition.topic, partition.topic_id)
        assert await other_member.first("b") == [(0, 4, 1)]

    async with asyncio.timeout(10):
        found: Acquired = []
        epoch = 0
        while not found:
            found = await (partition.first() if not epoch else partition.acquire(epoch))
            epoch += 1
    assert found == [(0, 4, 2)]


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
