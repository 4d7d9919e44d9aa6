"""What ``send`` makes of its arguments, without a broker."""

from __future__ import annotations

import asyncio
import collections.abc
import enum
import inspect
from datetime import datetime

import pytest

from pyk.clients import AsyncProducer, Producer
from pyk.clients.errors import SerializationError
from pyk.clients.producer.arguments import as_bytes, as_headers, serialized
from pyk.clients.producer.batching.delivery import Delivery
from pyk.clients.producer.faces.send_path import YIELD_EVERY, AsyncSendPath, BlockingSendPath
from pyk.runtime.virtual_time import START_MS, VirtualClock
from support.producer_parts import make_accumulator


class Waited(Exception):  # noqa: N818
    """The send path left the record to the part that waits."""


class Blocking(BlockingSendPath):
    def _send_slowly(self, record):
        raise Waited(record)


class Async(AsyncSendPath):
    async def _send_slowly(self, record):
        raise Waited(record)


def make_path(kind=Blocking, accumulator=None, **options):
    defaults = {"key_serializer": None, "value_serializer": None, "partitioner": None}
    accumulator = accumulator or make_accumulator(partitions=3, buffer_memory=10_000)
    return kind(accumulator, clock=VirtualClock(2.0), **(defaults | options))


def records_of(accumulator):
    """Return (partition, timestamp, key, value) of all that was appended."""
    from pyk.protocol.records import read_batches

    found = []
    for batch in [*(parts := accumulator.drain.take(float("inf")))[0], *parts[1]]:
        if batch.is_open:
            accumulator.drain.close(batch)
        batch.seal()
        for whole in read_batches(batch.data):
            found += [(batch.partition, r.timestamp, r.key, r.value) for r in whole]
    return found


def test_a_record_is_stamped_with_the_wall_clock_unless_it_has_a_time():
    accumulator = make_accumulator(partitions=3)
    path = make_path(accumulator=accumulator)

    path.send("orders", b"now", partition=1)
    path.send("orders", b"then", partition=1, timestamp_ms=5)

    assert records_of(accumulator) == [
        (1, START_MS + 2_000, None, b"now"),
        (1, 5, None, b"then"),
    ]


class Topics(enum.StrEnum):
    ORDERS = "orders"


def test_a_topic_may_be_the_member_of_an_enum_where_a_serializer_is_given():
    accumulator = make_accumulator(partitions=3)
    path = make_path(accumulator=accumulator, value_serializer=str.encode)

    path.send(Topics.ORDERS, "value", partition=1)

    assert [value for _, _, _, value in records_of(accumulator)] == [b"value"]


def test_texts_and_buffers_become_bytes_and_none_stays_none():
    accumulator = make_accumulator(partitions=3)
    path = make_path(accumulator=accumulator)

    path.send("orders", "é", bytearray(b"k"), partition=0, timestamp_ms=0)
    path.send("orders", None, None, partition=0, timestamp_ms=0)

    assert records_of(accumulator) == [(0, 0, b"k", "é".encode()), (0, 0, None, None)]


@pytest.mark.parametrize("topic_partition", [("unknown", None), ("orders", 3)])
def test_records_for_unknown_topics_or_partitions_take_the_slow_path(topic_partition):
    topic, partition = topic_partition

    with pytest.raises(Waited) as caught:
        make_path().send(topic, "v", "k", partition=partition, headers={"h": "x"}, timestamp_ms=1)

    (record,) = caught.value.args
    assert (record.topic, record.partition) == (topic, partition)
    assert (record.value, record.key, record.headers) == (b"v", b"k", (("h", b"x"),))


def test_a_full_buffer_is_left_to_the_part_that_waits():
    path = make_path()
    path.send("orders", b"x" * 9_000)

    with pytest.raises(Waited):
        path.send("orders", b"x" * 9_000)


@pytest.mark.parametrize(
    ("arguments", "keywords", "error"),
    [
        (("orders", 5), {}, TypeError),
        (("orders", b"v", 5.0), {}, TypeError),
        (("orders", b"v"), {"partition": -1}, ValueError),
        (("orders", b"v"), {"timestamp_ms": -1}, ValueError),
        (("orders", b"v"), {"timestamp_ms": 1 << 63}, ValueError),
        (("orders", b"v"), {"timestamp_ms": 1_700_000_000.5}, TypeError),
        (("unknown", b"v"), {"timestamp_ms": 1_700_000_000.5}, TypeError),
        (("orders", b"v"), {"timestamp_ms": 5.0}, TypeError),
        (("orders", b"v"), {"timestamp_ms": True}, TypeError),
        (("orders", b"v"), {"timestamp_ms": "5"}, TypeError),
        (("orders", b"v"), {"timestamp_ms": datetime(2026, 1, 1)}, TypeError),
        (("orders", b"v"), {"headers": {5: b""}}, TypeError),
        (("orders", b"v"), {"headers": {"h": 5}}, TypeError),
        (("orders", b"v"), {"headers": [("h", b"", b"")]}, TypeError),
        ((b"orders", b"v"), {}, TypeError),
        ((), {}, TypeError),
        (("orders", b"v"), {"unknown": 1}, TypeError),
    ],
)
def test_mistakes_of_the_caller_raise_at_once_and_leave_nothing_behind(arguments, keywords, error):
    accumulator = make_accumulator(partitions=3)

    with pytest.raises(error):
        make_path(accumulator=accumulator).send(*arguments, **keywords)

    assert accumulator.drain.unfinished_batches == 0
    assert accumulator.budget.available == accumulator.budget.total


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        (5, "headers must be a mapping or"),
        ("ab", "headers must be a mapping or"),
        (["ab"], r"a header must be a pair \(name, value\), not 'ab'"),
        ({"trace": 5}, "header 'trace' must be bytes or str, not int$"),
    ],
)
def test_invalid_headers_are_named(headers, words):
    with pytest.raises(TypeError, match=words):
        as_headers(headers)


def test_a_partitioner_that_returns_no_number_is_named():
    path = make_path(partitioner=lambda key, partitions, available: None)

    with pytest.raises(TypeError, match="the partitioner must return a number, not NoneType"):
        path.send("orders", b"v")


def test_headers_are_a_mapping_or_pairs():
    pairs = (("a", b"1"), ("b", None))

    assert as_headers({"a": "1", "b": None}) == pairs
    assert as_headers([("a", bytearray(b"1")), ("b", None)]) == pairs


def test_anything_with_a_buffer_is_bytes():
    import array

    assert as_bytes(array.array("b", [1, 2]), "value") == b"\1\2"
    assert as_bytes(memoryview(b"abcdef")[::2], "value") == b"ace"


def test_a_serializer_is_a_callable_or_has_a_method_and_never_gets_none():
    class WithMethod:
        def serialize(self, topic, value):
            return f"{topic}:{value}"

    assert serialized(str, "orders", 5, "value") == b"5"
    assert serialized(WithMethod(), "orders", 5, "value") == b"orders:5"
    assert serialized(str, "orders", None, "value") is None


def test_a_serializer_that_fails_is_named_with_its_cause():
    with pytest.raises(SerializationError, match="key_serializer failed for topic") as caught:
        serialized(lambda value: 1 // 0, "orders", "boom", "key")

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_send_of_the_compiled_class_is_not_overridden():
    assert "send" not in vars(Producer)
    assert "send" not in vars(AsyncProducer)


async def test_an_async_send_is_over_at_once_and_may_be_made_a_task():
    path = make_path(Async)

    sent = path.send("orders", b"v")

    assert isinstance(sent, collections.abc.Coroutine)
    assert inspect.isawaitable(sent)
    assert isinstance(await sent, Delivery)
    assert isinstance(await asyncio.create_task(path.send("orders", b"v")), Delivery)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(path.send("orders", b"v"))
    assert isinstance(task.result(), Delivery)
    assert all(isinstance(one, Delivery) for one in await asyncio.gather(path.send("orders", b"v")))


async def test_a_loop_over_async_sends_lets_others_run():
    path = make_path(Async, accumulator=make_accumulator(buffer_memory=1 << 30))
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(count())
    for _ in range(10 * YIELD_EVERY):
        await path.send("orders", b"v")
    counting.cancel()

    assert turns >= 10


async def test_an_async_send_that_has_to_wait_is_a_coroutine():
    with pytest.raises(Waited):
        await make_path(Async).send("unknown", b"v")


def test_a_float_is_never_taken_for_milliseconds():
    with pytest.raises(TypeError, match=r"timestamp_ms must be an int.*not float.*seconds \* 1000"):
        make_path().send("orders", b"v", timestamp_ms=1_700_000_000.5)


@pytest.mark.parametrize(("made", "name"), [(5, "int"), (5.0, "float"), ([b"v"], "list")])
def test_a_serializer_that_does_not_return_bytes_is_named(made, name):
    path = make_path(value_serializer=lambda value: made)

    with pytest.raises(TypeError, match=f"value_serializer .* returned {name}, not bytes"):
        path.send("orders", b"v")


@pytest.mark.parametrize("kind", [Blocking, Async])
def test_on_delivery_is_called_with_the_delivery_once_it_is_settled(kind):
    accumulator = make_accumulator(partitions=3)
    told = []

    async def send(path):
        sent = path.send("orders", b"v", partition=0, on_delivery=told.append)
        return await sent if kind is Async else sent

    delivery = asyncio.run(send(make_path(kind, accumulator)))
    ((batch,), _) = accumulator.drain.take(float("inf"))[::-1]
    assert told == []
    batch.result.complete(7)

    assert told == [delivery]
    assert told[0].result().offset == 7


@pytest.mark.parametrize("kind", [Blocking, Async])
def test_on_delivery_must_be_callable(kind):
    accumulator = make_accumulator(partitions=3)

    with pytest.raises(TypeError, match="on_delivery must be callable, not str"):
        make_path(kind, accumulator).send("orders", b"v", on_delivery="me")

    assert accumulator.drain.unfinished_batches == 0
