"""What the note of a commit says, and of which log: after retention, truncation, other tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncAdmin, OffsetAndMetadata, OffsetOutOfRangeError
from pyk.clients.processing.gaps import decode_finished, encode_finished
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest
from pyk.runtime.virtual_time import eventually, virtual_time
from support.administering import fetched
from support.consuming import P0, fetching, make_consumer, network_of, produce, reference_cluster
from support.environments import client_options

COUNT = 10
NOTE = encode_finished(1, [5, 6, 7])
DAMAGED = ["pyk1:", "pyk1:%", "pyk1:=", "pyk1:/w==", "pyk1:" + "/" * 4000, "pyk1:\N{SNOWMAN}"]
FOREIGN = ["ts=1700000000", "spark", "\N{SNOWMAN}", "x" * 4096]


@asynccontextmanager
async def cluster_with(note: str, *, deleted: int = 0) -> AsyncIterator[Any]:
    """Run a broker with ten orders, of which the first may be deleted; offset 1 is committed."""
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", COUNT)
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            consumer.assign([P0])
            await consumer.commit({P0: OffsetAndMetadata(1, note)})
        async with admin_of(cluster) as admin:
            await admin.delete_records({P0: deleted})
        yield cluster


def admin_of(cluster: Any) -> AsyncAdmin:
    return AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster)))


async def handled(cluster: Any, **options: Any) -> list[int]:
    """Return the offsets that are handled within some seconds."""
    found: list[int] = []

    async def handle(record: Any) -> None:
        found.append(record.offset)

    async with make_consumer(cluster, group_id="g", topics=["orders"], **options) as consumer:
        task = asyncio.create_task(consumer.process(handle))
        await asyncio.sleep(5)
        await produce(cluster, "orders", 1)
        await asyncio.sleep(5)
        consumer.wakeup()
        await task
    return found


@pytest.mark.parametrize(
    ("deleted", "reset", "expected"),
    [
        (0, "earliest", [1, 2, 3, 4, 8, 9, 10]),
        (4, "earliest", [4, 8, 9, 10]),
        (6, "earliest", [8, 9, 10]),
        (10, "earliest", [10]),
        (4, "latest", [10]),
    ],
)
@virtual_time
async def test_what_is_finished_stays_so_where_retention_deletes_past_the_committed_offset(
    caplog, deleted, reset, expected
):
    async with cluster_with(NOTE, deleted=deleted) as cluster:
        assert await handled(cluster, auto_offset_reset=reset) == expected

    lines = "\n".join(record.getMessage() for record in caplog.records)
    reason = f"Offset 1 of orders-0 is not in its log, auto_offset_reset={reset!r} says where"
    assert (reason in lines) is (deleted > 0)


@virtual_time
async def test_the_call_raises_if_nothing_says_where_to_read_on():
    async with cluster_with(NOTE, deleted=4) as cluster:
        with pytest.raises(OffsetOutOfRangeError, match="auto_offset_reset='none'"):
            await handled(cluster, auto_offset_reset="none")


@pytest.mark.parametrize("note", DAMAGED + FOREIGN, ids=lambda note: note[:12])
@virtual_time
async def test_a_note_that_cannot_be_read_is_told_and_its_records_are_handled(caplog, note):
    caplog.set_level(logging.INFO)
    async with cluster_with(note) as cluster:
        assert await handled(cluster) == list(range(1, COUNT + 1))

    [line] = [r for r in caplog.records if "metadata of the committed offset" in r.getMessage()]
    assert "orders-0" in line.getMessage()
    assert (line.levelname == "WARNING") is (note in DAMAGED)


@pytest.mark.parametrize("count", [COUNT, 600], ids=["reading", "paused"])
@virtual_time
async def test_the_records_of_a_topic_that_was_recreated_are_not_taken_for_finished_ones(count):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", count, key=lambda n: None if 0 < n < COUNT else b"waits")
        found: list[int] = []
        is_stuck = True

        async def handle(record: Any) -> None:
            if is_stuck and record.key is not None:
                await asyncio.sleep(1e9)
            found.append(record.offset)

        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        async with consumer, admin_of(cluster) as admin:
            task = asyncio.create_task(consumer.process(handle, ordering="key", concurrency=16))
            await eventually(lambda: len(found) == COUNT - 1)
            await asyncio.sleep(10)  # offset 0 is committed, with a note of the others
            assert bool(consumer.paused()) is (count > COUNT)
            is_stuck = False
            found.clear()
            await admin.delete_topics(["orders"])
            await asyncio.sleep(1)
            await cluster.create_topic("orders", partitions=1)
            await produce(cluster, "orders", COUNT)
            await asyncio.sleep(400)
            task.cancel()
            await asyncio.wait({task})

        assert sorted(found) == list(range(COUNT))


@pytest.mark.parametrize(
    ("ordering", "first", "rest"),
    [("partition", [b"0"], [b"1", b"2", b"new"]), ("none", [b"0", b"2"], [b"1", b"3", b"new"])],
)
@virtual_time
async def test_records_before_a_truncation_are_handled_and_those_that_wait_behind_it_are_not(
    ordering, first, rest
):
    handled: list[bytes] = []
    may_go_on = asyncio.Event()

    async def handle(record: Any) -> None:
        if record.value in {b"1", b"3"}:
            await may_go_on.wait()
        handled.append(record.value)

    async with fetching(group_id="g", leaders=(1,)) as (cluster, consumer):
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 0))
        cluster.on(OffsetCommitRequest, stored)
        cluster.append([b"0", b"1", b"2"])
        cluster.append([b"3", b"lost"])
        task = asyncio.create_task(consumer.process(handle, ordering=ordering, concurrency=2))
        await eventually(lambda: handled == first)
        cluster.logs["orders", 0].pop()  # by an unclean leader election
        cluster.move(0, 2)
        cluster.append([b"new"])
        await asyncio.sleep(5)
        may_go_on.set()
        await eventually(lambda: b"new" in handled)
        await asyncio.sleep(10)
        consumer.wakeup()
        await task

        assert sorted(handled) == sorted(first + rest)
        (topic,) = cluster.requests(OffsetCommitRequest)[-1].message.topics
        assert topic.partitions[0].committed_offset == 4


@pytest.mark.parametrize("is_cancelled", [False, True], ids=["finished", "cancelled"])
@virtual_time
async def test_nothing_beyond_a_truncation_is_committed_before_new_records_are_there(is_cancelled):
    handled: list[bytes] = []
    may_go_on = asyncio.Event()

    async def handle(record: Any) -> None:
        if record.value == b"lost":
            await may_go_on.wait()
        handled.append(record.value)

    async with fetching(group_id="g", leaders=(1,)) as (cluster, consumer):
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 0))
        cluster.on(OffsetCommitRequest, stored)
        cluster.append([b"0", b"1", b"2"])
        cluster.append([b"3", b"lost"])
        task = asyncio.create_task(consumer.process(handle, ordering="none", concurrency=2))
        await eventually(lambda: handled == [b"0", b"1", b"2", b"3"])
        cluster.logs["orders", 0].pop()  # by an unclean leader election
        cluster.move(0, 2)
        await asyncio.sleep(10)
        if is_cancelled:
            task.cancel()
        else:
            may_go_on.set()
            consumer.wakeup()
        await asyncio.wait({task})

        assert await consumer.position(P0) == 3
        requests = cluster.requests(OffsetCommitRequest)
        committed = [r.message.topics[0].partitions[0].committed_offset for r in requests]
        assert committed[-1] == 3


@virtual_time
async def test_a_note_names_nothing_beyond_a_truncation():
    handled: list[bytes] = []

    async def handle(record: Any) -> None:
        if record.value == b"1":
            await asyncio.sleep(1e9)
        handled.append(record.value)

    async with fetching(group_id="g", leaders=(1,)) as (cluster, consumer):
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 0))
        cluster.on(OffsetCommitRequest, stored)
        cluster.append([b"0", b"1", b"2"])
        cluster.append([b"3", b"lost"])
        task = asyncio.create_task(consumer.process(handle, ordering="none"))
        await eventually(lambda: handled == [b"0", b"2", b"3", b"lost"])
        await asyncio.sleep(6)
        cluster.logs["orders", 0].pop()  # by an unclean leader election
        cluster.move(0, 2)
        await asyncio.sleep(10)
        task.cancel()
        await asyncio.wait({task})

        notes = [
            decode_finished(1, one.committed_metadata or "")
            for request in cluster.requests(OffsetCommitRequest)
            for topic in request.message.topics
            for one in topic.partitions
        ]
        assert notes == [{2, 3, 4}, {2}]


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (3, [b"1", b"new 3"]),
        (2, [b"1", b"new 2", b"new 3"]),
        (1, [b"new 1", b"new 2", b"new 3"]),
        (0, [b"new 0", b"new 1", b"new 2", b"new 3"]),
    ],
)
@virtual_time
async def test_a_successor_notices_by_the_epoch_of_the_commit_what_was_truncated(left, expected):
    handled: list[bytes] = []

    async def handle(record: Any) -> None:
        if record.value == b"1" and not is_successor:
            await asyncio.sleep(1e9)
        handled.append(record.value)

    is_successor = False
    async with fetching(group_id="g", leaders=(1,)) as (cluster, consumer):
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 0))
        cluster.on(OffsetCommitRequest, stored)
        cluster.append([b"0"])
        cluster.append([b"1"])
        cluster.move(0, 2)
        cluster.append([b"2"])
        task = asyncio.create_task(consumer.process(handle, ordering="none"))
        await eventually(lambda: handled == [b"0", b"2"])
        await asyncio.sleep(10)
        task.cancel()
        await asyncio.wait({task})
        (topic,) = cluster.requests(OffsetCommitRequest)[-1].message.topics
        (commit,) = topic.partitions
        offset, epoch = commit.committed_offset, commit.committed_leader_epoch
        note = commit.committed_metadata or ""
        del cluster.logs["orders", 0][left:]  # by an unclean leader election
        cluster.move(0, 3)
        cluster.append([b"new %d" % number for number in range(left, 4)])
        cluster.on(OffsetFetchRequest, fetched("orders", 0, offset, note=note, leader_epoch=epoch))
        is_successor = True
        handled.clear()

        async with make_consumer(cluster, group_id="g") as successor:
            successor.assign([P0])
            task = asyncio.create_task(successor.process(handle))
            await asyncio.sleep(10)
            task.cancel()
            await asyncio.wait({task})

    assert (offset, epoch) == (1, cluster.topics["orders"].epochs[0] - 1)
    assert handled == expected


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_a_topic_that_was_recreated_keeps_no_other_from_being_committed(protocol):
    async with reference_cluster() as cluster:
        for topic in ("orders", "bills"):
            await cluster.create_topic(topic, partitions=1)
            await produce(cluster, topic, COUNT)
        handled: list[tuple[str, int]] = []

        async def handle(record: Any) -> None:
            handled.append((record.topic, record.offset))

        options: dict[str, Any] = {"group_id": "g", "topics": ["orders", "bills"]}
        options["group_protocol"] = protocol
        options |= {"enable_auto_commit": False, "auto_commit_interval_ms": 1000}
        async with make_consumer(cluster, **options) as consumer, admin_of(cluster) as admin:
            task = asyncio.create_task(consumer.process(handle))
            await eventually(lambda: len(handled) == 2 * COUNT)
            rule = cluster.faults.on("OffsetCommit").once().delay(5_000)
            for topic in ("orders", "bills"):
                await produce(cluster, topic, 1)
            await eventually(lambda: rule.hits == 1)
            for topic in ("orders", "bills"):
                await produce(cluster, topic, 1)
            await eventually(lambda: len(handled) == 2 * COUNT + 4)
            consumer.wakeup()  # the last commit waits for the one before it
            await asyncio.sleep(0.1)
            await admin.delete_topics(["bills"])
            await cluster.create_topic("bills", partitions=1)
            await task

            committed = (await consumer.committed([P0]))[P0]
        assert committed is not None
        assert committed.offset == COUNT + 2


def stored(request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Answer that offsets are committed."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=one.partition_index)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
