"""Many records in one call: their places, their order, the fate of each."""

from __future__ import annotations

import enum

import pyarrow as pa
import pytest

from pyk.clients.errors import (
    BufferExhaustedError,
    KafkaTimeoutError,
    RecordTooLargeError,
    TopicAuthorizationFailedError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.records.murmur2 import partition_for_key
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.producing_cluster import producing
from support.scripted_broker import SILENCE


@virtual_time
async def test_values_fill_one_partition_after_the_other_and_every_row_knows_where():
    async with producing(partitions=3, batch_size=1_000) as (cluster, producer):
        values = [b"%04d" % n for n in range(1_000)]

        batch = await producer.send_batch("orders", values)
        places = await batch

        assert len(batch) == len(places) == 1_000
        for value, place in zip(values, places, strict=True):
            assert cluster.log(partition=place.partition).values[place.offset] == value
        assert {place.partition for place in places} == {0, 1, 2}
        assert batch.done()
        assert (await batch[-1]) == places[999]


@virtual_time
async def test_pairs_go_where_their_keys_belong_in_order():
    async with producing(partitions=6) as (cluster, producer):
        pairs = [(f"key {n % 40}", b"%d" % n) for n in range(500)]

        places = await (await producer.send_batch("orders", pairs))

        for (key, value), place in zip(pairs, places, strict=True):
            assert place.partition == partition_for_key(key.encode(), 6)
            assert cluster.log(partition=place.partition).values[place.offset] == value
        for partition in range(6):
            numbers = [int(value) for value in cluster.log(partition=partition).values]
            assert numbers == sorted(numbers)


@virtual_time
async def test_records_without_keys_keep_their_order_among_those_with_keys():
    async with producing(partitions=3) as (cluster, producer):
        pairs = [(b"k%d" % n if n % 3 else None, b"%d" % n) for n in range(200)]

        await (await producer.send_batch("orders", pairs))

        for partition in range(3):
            numbers = [int(value) for value in cluster.log(partition=partition).values]
            assert numbers == sorted(numbers)


@virtual_time
async def test_mappings_take_the_arguments_of_send():
    async with producing(partitions=3) as (cluster, producer):
        batch = await producer.send_batch(
            "orders",
            [
                {"value": "one", "partition": 2, "timestamp_ms": 5, "headers": {"h": b"1"}},
                {"value": "two", "key": "k", "partition": 2},
                (b"k", b"three"),
                "four",
            ],
        )
        places = await batch

        log = cluster.log(partition=2)
        assert [place.partition for place in places[:2]] == [2, 2]
        assert log.values[:2] == [b"one", b"two"]
        assert log.headers[0] == (("h", b"1"),)
        assert places[0].timestamp == log.timestamps[0] == 5
        assert sorted(cluster.values()) == [b"four", b"one", b"three", b"two"]


@virtual_time
async def test_serializers_make_bytes_of_each():
    async with producing(key_serializer=str.encode, value_serializer=repr) as (cluster, producer):
        await (await producer.send_batch("orders", [("a", 1), ("b", None), (None, 3)]))

        assert cluster.log().keys == [b"a", b"b", None]
        assert cluster.values() == [b"1", b"", b"3"]


@virtual_time
async def test_a_partitioner_of_the_user_is_asked_for_each():
    async with producing(partitions=3, partitioner=lambda key, _, available: 1) as (
        cluster,
        producer,
    ):
        await (await producer.send_batch("orders", [b"a", b"b"]))
        await (await producer.send_batch("orders", [(b"k", b"c")]))
        await (await producer.send_batch("orders", pa.table({"value": [b"d"]})))

        assert cluster.log(partition=1).values == [b"a", b"b", b"c", b"d"]


@virtual_time
async def test_a_table_is_written_column_by_column():
    headers = pa.array(
        [[{"key": "h", "value": b"1"}], None, []],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    )
    table = pa.table(
        {
            "key": pa.array([b"a", None, b"b"]),
            "value": pa.array(["x", None, "z"]),
            "headers": headers,
            "partition": pa.array([2, 2, 2], pa.int32()),
            "timestamp": pa.array([1, 2, None], pa.timestamp("us", tz="UTC")).cast(
                pa.timestamp("ms", tz="UTC"), safe=False
            ),
        }
    )
    async with producing(partitions=3) as (cluster, producer):
        places = await (await producer.send_batch("orders", table))

        log = cluster.log(partition=2)
        assert log.values == [b"x", b"", b"z"]
        assert log.keys == [b"a", None, b"b"]
        assert log.headers == [(("h", b"1"),), (), ()]
        assert log.timestamps[:2] == [0, 0]
        assert log.timestamps[2] == places[2].timestamp > 1_600_000_000_000
        assert [place.offset for place in places] == [0, 1, 2]


@virtual_time
async def test_rows_of_a_table_go_where_their_keys_belong_in_order():
    keys = [b"k%d" % (n % 17) if n % 5 else None for n in range(900)]
    table = pa.table({"key": keys, "value": [b"%d" % n for n in range(900)]})
    chunked = pa.concat_tables([table.slice(0, 100), table.slice(100, 333), table.slice(433)])
    async with producing(partitions=4, batch_size=1_000) as (cluster, producer):
        batch = await producer.send_batch("orders", chunked)
        places = await batch

        for row, (key, place) in enumerate(zip(keys, places, strict=True)):
            assert cluster.log(partition=place.partition).values[place.offset] == b"%d" % row
            if key is not None:
                assert place.partition == partition_for_key(key, 4)
        for start, end in ((0, 100), (100, 433), (433, 900)):
            for partition in range(4):
                log = [int(value) for value in cluster.log(partition=partition).values]
                block = [number for number in log if start <= number < end]
                assert block == sorted(block)


@virtual_time
async def test_explicit_partitions_of_a_table_may_be_null():
    table = pa.table(
        {
            "value": [b"%d" % n for n in range(30)],
            "partition": [1 if n % 2 else None for n in range(30)],
        }
    )
    async with producing(partitions=3) as (cluster, producer):
        places = await (await producer.send_batch("orders", table))

        assert {place.partition for place in places[1::2]} == {1}
        assert len({place.partition for place in places[::2]}) == 1
        assert len(cluster.values()) == 30


@virtual_time
async def test_nothing_to_send_is_done_at_once():
    async with producing() as (_, producer):
        for nothing in ([], (), pa.table({"value": pa.array([], pa.binary())})):
            batch = await producer.send_batch("orders", nothing)

            assert batch.done()
            assert len(await batch) == 0


@pytest.mark.parametrize(
    ("records", "kind", "message"),
    [
        ([b"fine", 5], TypeError, "value_serializer"),
        ([(b"k", b"v", b"x")], ValueError, "mapping"),
        ([{"value": b"v", "topic": "other"}], ValueError, "'topic'"),
        ([{"value": b"v", "partition": -1}], ValueError, "partition must be from 0"),
        ([{"value": b"v", "timestamp_ms": -5}], ValueError, "1970"),
        ([{"value": b"v", "timestamp_ms": 1.7e9}], TypeError, "not float; convert seconds"),
        (pa.table({"value": [b"v"], "timestamp": [1.7e9]}), TypeError, "'timestamp'.* not double"),
        ([b"fine", b"x" * 2_000_000], RecordTooLargeError, "max_request_size"),
        (pa.table({"key": [b"k"]}), ValueError, "'value'"),
        (pa.table({"value": [b"v"], "topic": ["t"]}), ValueError, "topic"),
        (pa.table({"value": [b"v"], "partition": [-1]}), ValueError, "partition -1"),
        (pa.table({"value": [b"x" * 2_000_000]}), RecordTooLargeError, "max_request_size"),
    ],
)
def test_an_invalid_record_raises_before_any_record_is_sent(records, kind, message):
    @virtual_time
    async def run():
        async with producing() as (cluster, producer):
            with pytest.raises(kind, match=message):
                await producer.send_batch("orders", records)
            await producer.flush()

            assert cluster.values() == []

    run()


@virtual_time
async def test_each_record_has_its_own_fate():
    async with producing(partitions=2) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm", partition=0)
        await producer.send_and_wait("orders", b"warm", partition=1)
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED

        def deny_partition_1(request):
            def judge(place, data):
                return (denied, -1) if place[1] == 1 else cluster.log().append(data)

            return cluster.answer(request, judge)

        cluster.on(ProduceRequest, deny_partition_1)
        table = pa.table({"value": [b"a", b"b", b"c"], "partition": [0, 1, 0]})
        batch = await producer.send_batch("orders", table)

        with pytest.raises(TopicAuthorizationFailedError, match="orders"):
            await batch
        assert {row: error.code for row, error in batch.failures().items()} == {1: denied}
        assert (await batch[2]).offset == 2


class Topics(enum.StrEnum):
    ORDERS = "orders"


@pytest.mark.parametrize("topic", ["orders", Topics.ORDERS])
@virtual_time
async def test_rows_that_find_no_room_fail_in_the_result(topic):
    async with producing(buffer_memory=5_000, batch_size=1_000, max_block_ms=500) as (
        cluster,
        producer,
    ):
        await producer.send_and_wait("orders", b"warm")
        cluster.on(ProduceRequest, SILENCE)
        before = current_clock().now()

        batch = await producer.send_batch(topic, [b"x" * 100] * 100)

        assert current_clock().now() - before == pytest.approx(0.5, abs=0.01)
        assert not batch.done()
        cluster.on(ProduceRequest, cluster.produce)
        with pytest.raises(BufferExhaustedError):
            await batch
        failures = batch.failures()
        accepted = 100 - len(failures)
        assert list(failures) == list(range(accepted, 100))
        assert 0 < accepted < 60
        assert all(isinstance(error, BufferExhaustedError) for error in failures.values())
        assert len(cluster.values()) == 1 + accepted
        assert producer.stats().buffer_available_bytes == 5_000


@virtual_time
async def test_a_table_larger_than_the_buffer_passes_through_it():
    async with producing(buffer_memory=5_000, batch_size=1_000, partitions=3) as (
        cluster,
        producer,
    ):
        table = pa.table({"key": [b"%d" % n for n in range(2_000)], "value": [b"x" * 50] * 2_000})

        places = await (await producer.send_batch("orders", table))

        assert len(cluster.values()) == len(places) == 2_000


@virtual_time
async def test_a_split_batch_still_returns_the_offset_of_each_record():
    async with producing() as (cluster, producer):
        cluster.log().max_batch_bytes = 400
        values = [b"%03d" % n + b"x" * 40 for n in range(50)]

        places = await (await producer.send_batch("orders", values))

        assert [place.offset for place in places] == list(range(50))
        assert cluster.values() == values


@virtual_time
async def test_waiting_for_a_batch_ends_with_the_timeout():
    async with producing(max_block_ms=1_000) as (_, producer):
        with pytest.raises(KafkaTimeoutError, match="payments"):
            await producer.send_batch("payments", [b"one"])


@virtual_time
async def test_one_record_is_not_many():
    async with producing() as (_, producer):
        for one in ("orders", b"orders", {"value": b"orders"}, 5, None):
            with pytest.raises(TypeError, match="send_batch takes many records"):
                await producer.send_batch("orders", one)


@virtual_time
async def test_the_result_of_send_batch_has_a_repr():
    async with producing() as (_, producer):
        places = await (await producer.send_batch("orders", [b"a", b"b"]))

        assert repr(places) == "<RecordMetadata of 2 records>"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"value": [1, 2]}, "the column 'value' must hold bytes or str, not int64"),
        ({"value": ["a"], "key": [1.5]}, "the column 'key' must hold bytes or str, not double"),
        (
            {"value": ["a"], "partition": ["x"]},
            "the column 'partition' must hold ints of 32 bits, not string",
        ),
    ],
)
@virtual_time
async def test_a_column_of_the_wrong_type_is_named(table: dict[str, list[object]], message: str):
    async with producing() as (_, producer):
        with pytest.raises(TypeError, match=message):
            await producer.send_batch("orders", pa.table(table))
