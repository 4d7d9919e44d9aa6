"""What was fetched reaches the application, and stops reaching it, at the right record."""

from __future__ import annotations

import asyncio
from typing import Any

from pyk.clients import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import PartitionData
from pyk.runtime.virtual_time import virtual_time
from support.consuming import P0, fetching

P1 = TopicPartition("orders", 1)


@virtual_time
async def test_a_partition_paused_in_the_loop_body_hands_out_no_further_record():
    async with fetching(leaders=(1, 1, 1)) as (cluster, consumer):
        for number in range(3):
            cluster.append([b"%d" % n for n in range(20)], partition=number)
        seen: list[tuple[int, int]] = []

        async for record in consumer:
            seen.append((record.partition, record.offset))
            if seen.count((1, 4)) == 1 and consumer.paused() == set():
                consumer.pause(P1)
            if len(seen) == 45:
                break
        consumer.resume(P1)
        async for record in consumer:
            seen.append((record.partition, record.offset))
            if len(seen) == 60:
                break

        assert seen.index((1, 5)) == 45
        assert len(set(seen)) == 60


@virtual_time
async def test_a_seek_in_the_loop_body_decides_the_next_record():
    async with fetching() as (cluster, consumer):
        cluster.append([b"%d" % n for n in range(20)])
        seen: list[int] = []

        async for record in consumer:
            seen.append(record.offset)
            if record.offset == 3:
                consumer.seek(P0, 17)
            if record.offset == 19:
                break

        assert seen == [0, 1, 2, 3, 17, 18, 19]


@virtual_time
async def test_records_at_hand_are_read_before_the_position_is_reset():
    async with fetching(fetch_max_wait_ms=100) as (cluster, consumer):
        cluster.append([b"%d" % n for n in range(10)])

        def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
            if asked.fetch_offset < 10:
                return data
            return PartitionData(
                partition_index=number,
                error_code=ErrorCode.OFFSET_OUT_OF_RANGE,
                high_watermark=-1,
            )

        cluster.edit = edit
        seen: list[int] = []

        async for record in consumer:
            seen.append(record.offset)
            await asyncio.sleep(1)  # the next fetch is answered meanwhile
            if len(seen) == 12:
                break

        assert seen == [*range(10), 0, 1]


@virtual_time
async def test_partitions_may_be_assigned_while_their_positions_are_looked_up():
    async with fetching(leaders=(1, 1, 1)) as (cluster, consumer):
        for number in range(3):
            cluster.append([b"a"] * 3, partition=number)

        for n in range(400):
            consumer.assign([("orders", n % 3)])
            for _ in range(n % 7):
                await asyncio.sleep(0.0004)
        seen = [record.partition for record in await consumer.poll(5)]

        assert seen == [0, 0, 0]
