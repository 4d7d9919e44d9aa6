"""A bounded read returns exactly its range, whatever the log looks like, and then ends."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyk.clients import AsyncAdmin, AsyncProducer, aread
from pyk.clients.errors import (
    KafkaError,
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicRecreatedError,
    UnknownTopicOrPartitionError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import RecordBatchBuilder, set_base_offset_and_epoch
from pyk.runtime.virtual_time import current_clock, run_virtual, virtual_time
from support.consuming import (
    P0,
    cluster_with_orders,
    fetching,
    network_of,
    produce,
    reference_cluster,
)
from support.environments import client_options
from support.scripted_broker import PORT

# What compaction leaves of a batch whose last offset it keeps.
EMPTY_BATCH = bytearray(RecordBatchBuilder().seal(last_offset_delta=97))
set_base_offset_and_epoch(EMPTY_BATCH, 2, 0)


def reading(cluster: Any, **options: Any) -> Any:
    return aread(cluster.bootstrap, "orders", **client_options(network_of(cluster)), **options)


def scripted_reading(cluster: Any, **options: Any) -> Any:
    options = {**client_options(cluster.network), **options}
    return aread(f"broker1:{PORT}", "orders", **options)


async def read(cluster: Any, **options: Any) -> pa.Table:
    """Return all records of a bounded read as one table."""
    return pa.concat_tables([table async for table in reading(cluster, **options)])


def values(table: pa.Table) -> list[int]:
    return [int(value) for value in table.column("value").to_pylist()]


def make_producer(cluster: Any, **options: Any) -> AsyncProducer[bytes, bytes]:
    return AsyncProducer(cluster.bootstrap, **client_options(network_of(cluster)), **options)


async def write_singly(cluster: Any, count: int) -> None:
    """Write values 0, 1, 2 … in batches of one record."""
    async with make_producer(cluster, batch_size=0, linger_ms=0) as producer:
        for number in range(count):
            await (await producer.send("orders", b"%d" % number))


@virtual_time
async def test_without_limits_it_returns_what_is_there_when_it_begins():
    async with cluster_with_orders(10) as cluster:
        tables = reading(cluster)
        first = await anext(tables)
        await produce(cluster, "orders", 5)

        assert values(first) == list(range(10))
        assert [table async for table in tables] == []


@virtual_time
async def test_offsets_limit_a_partition_and_leave_out_the_others():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=3)
        await produce(cluster, "orders", 30, partitions=3)

        table = await read(cluster, start={1: 2}, end={1: 5})

        assert values(table) == [7, 10, 13]


@virtual_time
async def test_times_limit_it_to_the_records_between_them():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        async with make_producer(cluster) as producer:
            for number in range(10):
                await producer.send("orders", b"%d" % number, timestamp_ms=1_000 * number)

        between = await read(
            cluster,
            start=datetime.fromtimestamp(2.5, UTC),
            end=datetime.fromtimestamp(6, UTC),
        )
        until_now = await read(cluster, start=datetime.fromtimestamp(7, UTC))
        later = await read(cluster, start=datetime.fromtimestamp(100, UTC))

        assert values(between) == [3, 4, 5]
        assert values(until_now) == [7, 8, 9]
        assert values(later) == []


@virtual_time
async def test_a_timedelta_counts_back_from_now():
    async with cluster_with_orders(3) as cluster:
        await asyncio.sleep(7200)
        await produce(cluster, "orders", 2)

        assert values(await read(cluster, start=timedelta(hours=1))) == [0, 1]


@virtual_time
async def test_an_empty_range_is_one_empty_table_with_the_columns():
    async with cluster_with_orders(0) as cluster:
        tables = [table async for table in reading(cluster, columns=["offset", "value"])]

        assert [(table.num_rows, table.column_names) for table in tables] == [
            (0, ["offset", "value"])
        ]


@virtual_time
async def test_only_the_named_columns_come_in_every_order():
    async with cluster_with_orders(3) as cluster:
        for order in ("arrival", "time"):
            table = await read(cluster, columns=["value"], order=order, end={0: 2})
            assert table.to_pydict() == {"value": [b"0", b"1"]}


@virtual_time
async def test_partitions_are_merged_by_time():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=3)
        async with make_producer(cluster) as producer:
            for number in range(3000):
                partition = 0 if number < 1000 else number % 3
                await producer.send(
                    "orders", b"%d" % number, partition=partition, timestamp_ms=number
                )

        table = await read(cluster, order="time")

        assert values(table) == list(range(3000))


@pytest.mark.parametrize("is_committed", [True, False])
@virtual_time
async def test_a_range_that_ends_with_transaction_markers_ends(is_committed):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        async with make_producer(cluster, transactional_id="orders") as producer:
            await producer.begin_transaction()
            await producer.send("orders", b"1")
            await (producer.commit_transaction if is_committed else producer.abort_transaction)()

        table = await read(cluster, isolation_level="read_committed")

        assert values(table) == ([1] if is_committed else [])


@virtual_time
async def test_committed_reads_end_where_the_first_open_transaction_begins():
    async with cluster_with_orders(2) as cluster:
        async with make_producer(cluster, transactional_id="orders") as producer:
            await producer.begin_transaction()
            await (await producer.send("orders", b"2"))

            committed = await read(cluster, isolation_level="read_committed")
            uncommitted = await read(cluster)
            await producer.abort_transaction()

        assert values(committed) == [0, 1]
        assert values(uncommitted) == [0, 1, 2]


@virtual_time
async def test_offsets_that_retention_has_deleted_raise_and_earliest_passes_over_them():
    async with cluster_with_orders(10) as cluster:
        async with AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster))) as admin:
            await admin.delete_records({P0: 4})

        with pytest.raises(OffsetOutOfRangeError, match="starts at 4 and ends at 10"):
            await read(cluster, start={0: 3})
        with pytest.raises(OffsetOutOfRangeError, match="no offset 11"):
            await read(cluster, end={0: 11})
        assert values(await read(cluster)) == list(range(4, 10))


@pytest.mark.parametrize("start", ["earliest", {0: 0}], ids=["earliest", "offset"])
@virtual_time
async def test_records_deleted_before_the_first_is_read_matter_only_to_named_offsets(start):
    async with cluster_with_orders(10) as cluster:
        async with AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster))) as admin:
            with cluster.faults.on("Fetch").once().error("OFFSET_NOT_AVAILABLE"):
                tables = reading(cluster, start=start)
                first = asyncio.ensure_future(anext(tables))
                await asyncio.sleep(0.05)
                await admin.delete_records({P0: 4})

                if start == "earliest":
                    assert values(await first) == list(range(4, 10))
                else:
                    with pytest.raises(OffsetOutOfRangeError):
                        await first
        await tables.close()


@virtual_time
async def test_records_may_be_deleted_again_and_again_before_the_first_is_read():
    async with fetching(leaders=(1,)) as (cluster, _):
        for number in range(10):
            cluster.append([b"%d" % number])

        def delete_first(topic: str, _: int, asked: Any, data: Any) -> Any:
            if asked.fetch_offset < 6:
                log = cluster.logs[topic, 0]
                del log[: asked.fetch_offset + 3 - log[0][0]]
                data.error_code, data.records = ErrorCode.OFFSET_OUT_OF_RANGE, b""
            return data

        cluster.edit = delete_first

        tables = [table async for table in scripted_reading(cluster)]

        assert values(pa.concat_tables(tables)) == list(range(6, 10))


@pytest.mark.parametrize("left", [1, 6])
@pytest.mark.parametrize("order", ["arrival", "time"])
@virtual_time
async def test_a_log_that_is_shorter_than_when_the_read_began_is_an_error_and_no_silence(
    order, left
):
    async with fetching(leaders=(1,)) as (cluster, _):
        for number in range(10):
            cluster.append([b"%d" % number])
        tables = scripted_reading(cluster, order=order, fetch_max_bytes=1)
        found = values(await anext(tables))
        before = current_clock().now()

        del cluster.logs["orders", 0][left:]
        cluster.topics["orders"].epochs[0] += 1
        with pytest.raises(LogTruncatedError) as raised:
            [found.extend(values(table)) async for table in tables]

        assert raised.value.topic_partition == P0
        assert found == list(range(len(found)))
        assert current_clock().now() - before < 15


@virtual_time
async def test_a_leader_that_takes_a_while_to_know_what_is_replicated_is_waited_for():
    async with fetching(leaders=(1,)) as (cluster, _):
        for number in range(10):
            cluster.append([b"%d" % number])
        tables = scripted_reading(cluster, fetch_max_bytes=1)
        found = values(await anext(tables))
        last = cluster.logs["orders", 0][6:]
        del cluster.logs["orders", 0][6:]

        async def read_on() -> list[int]:
            return [value async for table in tables for value in values(table)]

        reading_on = asyncio.create_task(read_on())
        for entry in last:
            await asyncio.sleep(8)
            cluster.logs["orders", 0].append(entry)

        assert found + await reading_on == list(range(10))


@virtual_time
async def test_a_topic_that_is_created_again_during_the_read_raises():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await write_singly(cluster, 100)
        tables = reading(cluster, max_partition_fetch_bytes=100)
        await anext(tables)
        async with AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster))) as admin:
            await admin.delete_topics(["orders"])
        await cluster.create_topic("orders")
        await write_singly(cluster, 100)

        with pytest.raises(TopicRecreatedError):
            async for _ in tables:
                pass


@virtual_time
async def test_a_topic_that_is_deleted_during_the_read_raises():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await write_singly(cluster, 100)
        tables = reading(cluster, max_partition_fetch_bytes=100)
        await anext(tables)
        async with AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster))) as admin:
            await admin.delete_topics(["orders"])

        async with asyncio.timeout(60):
            with pytest.raises(UnknownTopicOrPartitionError, match="'orders' was deleted before"):
                async for _ in tables:
                    pass


@virtual_time
async def test_a_topic_or_partition_that_does_not_exist_raises_soon():
    async with cluster_with_orders(1) as cluster:
        began = current_clock().now()

        with pytest.raises(UnknownTopicOrPartitionError, match="has no partition 7"):
            await read(cluster, start={7: 0})
        missing = aread(cluster.bootstrap, "nothing", **client_options(network_of(cluster)))  # type: ignore[misc]
        with pytest.raises(UnknownTopicOrPartitionError, match="'nothing' does not exist: is its"):
            await anext(missing)

        assert current_clock().now() - began < 3


@pytest.mark.parametrize("order", ["arrival", "time"])
@virtual_time
async def test_leaders_that_move_lose_and_repeat_nothing(order):
    async with fetching(leaders=(1, 2, 3)) as (cluster, _):
        for number in range(300):
            cluster.append([b"%d" % number], partition=number % 3)

        found: list[int] = []
        async for table in scripted_reading(cluster, order=order, max_partition_fetch_bytes=300):
            found += values(table)
            cluster.move(len(found) % 3, 1 + len(found) // 7 % 3)

        assert sorted(found) == list(range(300))


@virtual_time
async def test_a_broker_that_stays_away_is_an_error_and_no_silence():
    async with fetching(leaders=(1, 2, 3)) as (cluster, _):
        for number in range(300):
            cluster.append([b"%d" % number], partition=number % 3)
        tables = scripted_reading(cluster, max_partition_fetch_bytes=300)
        await anext(tables)
        await cluster.kill(2)

        with pytest.raises(KafkaError, match="node 2"):
            async for _ in tables:
                pass


@virtual_time
async def test_offsets_that_compaction_removed_before_the_end_do_not_keep_it_waiting():
    async with fetching(leaders=(1,)) as (cluster, _):
        cluster.append([b"0", b"1"])
        cluster.append_bytes(bytes(EMPTY_BATCH), 2, 100)

        tables = [table async for table in scripted_reading(cluster, start={0: 1}, end={0: 100})]

        assert values(pa.concat_tables(tables)) == [1]


@pytest.mark.parametrize("order", ["arrival", "time"])
@virtual_time
async def test_an_abandoned_read_closes_its_connections(order):
    async with cluster_with_orders(10) as cluster:
        async for _ in reading(cluster, order=order):
            break
        await asyncio.sleep(1)

        tasks = {task.get_name() for task in asyncio.all_tasks()}
        assert not [name for name in tasks if "resolve positions" in name]


@settings(max_examples=25)
@given(
    counts=st.lists(st.integers(0, 50), min_size=1, max_size=4),
    seed=st.randoms(use_true_random=False),
    by_time=st.booleans(),
)
def test_every_record_between_the_limits_comes_once_and_in_order(counts, seed, by_time):
    async def scenario() -> None:
        async with reference_cluster() as cluster:
            await cluster.create_topic("orders", partitions=len(counts))
            async with make_producer(cluster) as producer:
                for partition, count in enumerate(counts):
                    for offset in range(count):
                        when = seed.randrange(1, 1000)
                        await producer.send(
                            "orders", b"%d" % offset, partition=partition, timestamp_ms=when
                        )
            ranges = {p: sorted(seed.choices(range(n + 1), k=2)) for p, n in enumerate(counts)}

            table = await read(
                cluster,
                start={partition: start for partition, (start, _) in ranges.items()},
                end={partition: end for partition, (_, end) in ranges.items()},
                order="time" if by_time else "arrival",
            )

            rows = table.select(["partition", "offset"]).to_pylist()
            for partition, (start, end) in ranges.items():
                offsets = [row["offset"] for row in rows if row["partition"] == partition]
                assert offsets == list(range(start, end))

    run_virtual(scenario())
