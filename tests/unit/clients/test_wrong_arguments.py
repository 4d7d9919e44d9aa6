"""A wrong argument is named in the line that has it, before anything is connected or sent."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    AsyncConsumer,
    AsyncProducer,
    ConfigurationError,
    Consumer,
    Producer,
    RebalanceListener,
    SubscriptionPattern,
    TopicPartition,
)

NOWHERE = "127.0.0.1:1"
NUMBER_OF_SECONDS = r"timeout must be a number of seconds, not '1'"
FINITE = r"timeout must be None or a finite number from 0 on, not nan"
NAN = float("nan")


@pytest.fixture
def producer() -> Iterator[Producer[Any, Any]]:
    producer = Producer[Any, Any](NOWHERE)
    yield producer
    producer.close()


@pytest.fixture
async def async_producer() -> AsyncIterator[AsyncProducer[Any, Any]]:
    producer = AsyncProducer[Any, Any](NOWHERE)
    yield producer
    await producer.close()


@pytest.fixture
def consumer() -> Iterator[Consumer[Any, Any]]:
    consumer = Consumer[Any, Any](NOWHERE, group_id="readers")
    yield consumer
    consumer.close()


@pytest.fixture
async def async_consumer() -> AsyncIterator[AsyncConsumer[Any, Any]]:
    consumer = AsyncConsumer[Any, Any](NOWHERE, group_id="readers")
    yield consumer
    await consumer.close()


# -- timeouts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [Producer.start, Producer.flush])
def test_a_producer_refuses_a_wrong_timeout(
    producer: Producer[Any, Any], call: Callable[..., object]
) -> None:
    with pytest.raises(TypeError, match=NUMBER_OF_SECONDS):
        call(producer, "1")
    with pytest.raises(ValueError, match=FINITE):
        call(producer, NAN)


def test_partitions_for_refuses_a_wrong_timeout(producer: Producer[Any, Any]) -> None:
    with pytest.raises(TypeError, match=NUMBER_OF_SECONDS):
        producer.partitions_for("orders", "1")  # type: ignore[arg-type]


@pytest.mark.parametrize("call", [AsyncProducer.start, AsyncProducer.flush])
async def test_an_async_producer_refuses_a_wrong_timeout(
    async_producer: AsyncProducer[Any, Any], call: Callable[..., Awaitable[object]]
) -> None:
    with pytest.raises(TypeError, match=NUMBER_OF_SECONDS):
        await call(async_producer, "1")
    with pytest.raises(ValueError, match=FINITE):
        await call(async_producer, NAN)


@pytest.mark.parametrize("call", [Consumer.start, Consumer.poll, Consumer.close])
def test_a_consumer_refuses_a_wrong_timeout(
    consumer: Consumer[Any, Any], call: Callable[..., object]
) -> None:
    consumer.subscribe(["orders"])

    with pytest.raises(TypeError, match=NUMBER_OF_SECONDS):
        call(consumer, "1")
    with pytest.raises(ValueError, match=FINITE):
        call(consumer, NAN)


@pytest.mark.parametrize("call", [AsyncConsumer.start, AsyncConsumer.poll, AsyncConsumer.close])
async def test_an_async_consumer_refuses_a_wrong_timeout(
    async_consumer: AsyncConsumer[Any, Any], call: Callable[..., Awaitable[object]]
) -> None:
    async_consumer.subscribe(["orders"])

    with pytest.raises(TypeError, match=NUMBER_OF_SECONDS):
        await call(async_consumer, "1")
    with pytest.raises(ValueError, match=FINITE):
        await call(async_consumer, NAN)


def test_an_admin_refuses_a_wrong_timeout() -> None:
    admin = Admin(NOWHERE)

    with pytest.raises(TypeError, match=NUMBER_OF_SECONDS):
        admin.list_topics(timeout="1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=FINITE):
        admin.list_topics(timeout=NAN)
    with pytest.raises(TypeError, match=NUMBER_OF_SECONDS):
        admin.close("1")  # type: ignore[arg-type]
    admin.close()


# -- constructors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("client", [Consumer, AsyncConsumer])
def test_a_topic_in_the_place_of_bootstrap_servers_is_named(client: Any) -> None:
    expected = (
        rf"^{client.__name__}\(\) got bootstrap_servers twice: 'orders' by position, "
        r"'127.0.0.1:1' by name; give topics by name: topics=\[…\]$"
    )
    with pytest.raises(TypeError, match=expected):
        client("orders", bootstrap_servers=NOWHERE)


@pytest.mark.parametrize("client", [Admin, AsyncProducer, Producer])
def test_bootstrap_servers_that_are_given_twice_are_named(client: Any) -> None:
    expected = "got bootstrap_servers twice: 'a:1' by position, 'b:2' by name$"
    with pytest.raises(TypeError, match=rf"^{client.__name__}\(\) {expected}"):
        client("a:1", bootstrap_servers="b:2")


@pytest.mark.parametrize("client", [Admin, AsyncConsumer, Consumer, Producer])
def test_a_second_positional_argument_is_refused_with_the_name_of_the_client(client: Any) -> None:
    expected = r"takes one positional argument, bootstrap_servers, not 2: give all others by name$"
    with pytest.raises(TypeError, match=rf"^{client.__name__}\(\) {expected}"):
        client(NOWHERE, "orders")


# -- what to send ----------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", [["orders"], 5, b"orders", None])
def test_a_topic_to_send_to_is_a_str(producer: Producer[Any, Any], topic: Any) -> None:
    expected = f"topic must be a str, not {type(topic).__name__}"
    with pytest.raises(TypeError, match=expected):
        producer.send(topic, b"value")
    with pytest.raises(TypeError, match=expected):
        producer.send_batch(topic, [b"value"])


@pytest.mark.parametrize("partition", ["0", True, 1.0])
def test_a_partition_to_send_to_is_an_int(producer: Producer[Any, Any], partition: Any) -> None:
    expected = f"partition must be an int, not {type(partition).__name__}"
    with pytest.raises(TypeError, match=expected):
        producer.send("orders", b"value", partition=partition)
    with pytest.raises(TypeError, match=expected):
        producer.send_batch("orders", [{"value": b"value", "partition": partition}])


@pytest.mark.parametrize("partition", [-1, 2**31, 2**70])
def test_a_partition_that_cannot_exist_is_refused(
    producer: Producer[Any, Any], partition: int
) -> None:
    expected = f"partition must be from 0 to 2147483647, not {partition}"
    with pytest.raises(ValueError, match=expected):
        producer.send("orders", b"value", partition=partition)
    with pytest.raises(ValueError, match=expected):
        producer.send_batch("orders", [{"value": b"value", "partition": partition}])


@pytest.mark.parametrize("time", [2**63, 2**70])
def test_a_time_beyond_64_bits_is_refused(producer: Producer[Any, Any], time: int) -> None:
    expected = f"timestamp_ms is {time}, more than 64 bits hold: give milliseconds since 1970"
    with pytest.raises(ValueError, match=expected):
        producer.send("orders", b"value", timestamp_ms=time)
    with pytest.raises(ValueError, match=expected):
        producer.send_batch("orders", [{"value": b"value", "timestamp_ms": time}])


@pytest.mark.parametrize(
    ("time", "advice"),
    [
        (1.5, "float; convert seconds, as time.time() returns them, with int(seconds * 1000)"),
        (datetime(2026, 1, 1, tzinfo=UTC), "datetime; convert a datetime with int(moment."),
        ("1", "str"),
    ],
)
def test_a_time_that_is_no_number_of_milliseconds_says_how_to_make_one(
    producer: Producer[Any, Any], time: Any, advice: str
) -> None:
    expected = re.escape(f"timestamp_ms must be an int of milliseconds since 1970, not {advice}")
    with pytest.raises(TypeError, match=expected):
        producer.send("orders", b"value", timestamp_ms=time)


def test_a_time_before_1970_is_refused(producer: Producer[Any, Any]) -> None:
    with pytest.raises(ValueError, match="timestamp_ms is -1, before 1970"):
        producer.send("orders", b"value", timestamp_ms=-1)


def test_values_headers_and_their_names_are_bytes_or_str(producer: Producer[Any, Any]) -> None:
    with pytest.raises(TypeError, match="value must be bytes or str, not int: give the producer"):
        producer.send("orders", 5)
    with pytest.raises(TypeError, match="header name must be a str, not int: 5"):
        producer.send("orders", b"value", headers={5: b""})  # type: ignore[dict-item]


async def test_the_async_producer_refuses_the_same(
    async_producer: AsyncProducer[Any, Any],
) -> None:
    with pytest.raises(TypeError, match="topic must be a str, not list"):
        await async_producer.send(["orders"], b"value")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="partition must be an int, not bool"):
        await async_producer.send("orders", b"value", partition=True)


async def test_python_warns_of_a_forgotten_await_by_the_name_of_the_call(
    async_producer: AsyncProducer[Any, Any],
) -> None:
    with pytest.warns(RuntimeWarning, match=r"^coroutine 'AsyncProducer\.send' was never awaited$"):
        async_producer.send("orders", b"value")


# -- what to read ----------------------------------------------------------------------------------


@pytest.mark.parametrize("records", ["1", 1.5, True])
async def test_a_number_of_records_is_an_int(
    consumer: Consumer[Any, Any], async_consumer: AsyncConsumer[Any, Any], records: Any
) -> None:
    with pytest.raises(TypeError, match="max_records must be an int, not "):
        consumer.poll(max_records=records)
    with pytest.raises(TypeError, match="max_records must be an int, not "):
        await async_consumer.poll(max_records=records)


@pytest.mark.parametrize("topics", [5, b"orders", [5], [None], TopicPartition("orders", 0)])
def test_topics_to_read_are_str(topics: Any) -> None:
    with pytest.raises(TypeError, match=r"topics? must be a"):
        Consumer(NOWHERE, topics=topics)
    with pytest.raises(TypeError, match=r"topics? must be a"):
        AsyncConsumer(NOWHERE, topics=topics)
    with pytest.raises(TypeError, match=r"topics? must be a"):
        Consumer(NOWHERE).subscribe(topics)


def test_a_pattern_that_is_not_a_regular_expression_is_named() -> None:
    with pytest.raises(ValueError, match=r"pattern '\[' is not a regular expression: unterm"):
        Consumer(NOWHERE).subscribe(pattern="[")


@pytest.mark.parametrize("pattern", [r"(a)\1", "a(?=b)", "["])
def test_a_subscription_pattern_is_in_the_syntax_of_re2(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not in the syntax of RE2: "):
        SubscriptionPattern(pattern)


def test_a_subscription_pattern_that_python_would_take_is_told_so() -> None:
    with pytest.raises(ValueError, match=r"at position 4: .* plain str, has it$"):
        SubscriptionPattern("pay-(?!test).*")
    with pytest.raises(ValueError, match=r"missing closing \)$"):
        SubscriptionPattern("(a")


def test_the_pattern_of_a_subscription_pattern_is_a_str() -> None:
    with pytest.raises(TypeError, match="must be a str, not 5"):
        SubscriptionPattern(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", [5, b"orders"])
def test_a_pattern_is_a_str(pattern: Any) -> None:
    with pytest.raises(TypeError, match=r"pattern must be a str, re.compile\(str\) or Sub"):
        Consumer(NOWHERE).subscribe(pattern=pattern)


def test_the_class_of_a_listener_is_not_a_listener() -> None:
    class Listener(RebalanceListener):
        pass

    with pytest.raises(TypeError, match=r"is the class itself: give an object, Listener\(\)"):
        Consumer(NOWHERE).subscribe(["orders"], listener=Listener)  # type: ignore[arg-type]


@pytest.mark.parametrize("partitions", [None, 5, "orders", TopicPartition("orders", 0)])
def test_partitions_are_given_as_a_list(consumer: Consumer[Any, Any], partitions: Any) -> None:
    with pytest.raises(TypeError, match="partition"):
        consumer.assign(partitions)


@pytest.mark.parametrize("number", ["0", 1.0, True, None])
def test_the_number_of_a_partition_is_an_int(consumer: Consumer[Any, Any], number: Any) -> None:
    with pytest.raises(TypeError, match=r"a partition must be TopicPartition\(topic, partition\)"):
        consumer.assign([("orders", number)])


@pytest.mark.parametrize("offset", ["0", 1.0, True, None])
def test_an_offset_is_an_int(consumer: Consumer[Any, Any], offset: Any) -> None:
    consumer.assign([("orders", 0)])

    with pytest.raises(TypeError, match="offset of orders-0 must be an int or OffsetAndMetadata, "):
        consumer.seek(("orders", 0), offset)
    with pytest.raises(TypeError, match="offset of orders-0 must be an int or OffsetAndMetadata, "):
        consumer.commit({TopicPartition("orders", 0): offset})


# -- options ---------------------------------------------------------------------------------------


def test_bootstrap_servers_are_not_bytes() -> None:
    with pytest.raises(ConfigurationError, match="bootstrap_servers must be a str or a sequence"):
        Producer(b"localhost:9092")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="bootstrap_servers must name each as a str"):
        Producer(["localhost:9092", 5])  # type: ignore[list-item]


def test_a_partitioner_is_not_a_name() -> None:
    with pytest.raises(
        ConfigurationError, match="partitioner must be a callable, not 'murmur2'; leave it out"
    ):
        Producer(NOWHERE, partitioner="murmur2")  # type: ignore[arg-type]


async def test_a_str_does_not_say_whether_to_leave_the_group() -> None:
    leave: Any = "no"
    consumer = Consumer[Any, Any](NOWHERE, group_id="g")
    with pytest.raises(TypeError, match="leave_group must be True, False or None, not 'no'"):
        consumer.close(leave_group=leave)
    consumer.close()

    awaited = AsyncConsumer[Any, Any](NOWHERE, group_id="g")
    with pytest.raises(TypeError, match="leave_group must be True, False or None, not 'no'"):
        await awaited.close(leave_group=leave)
    await awaited.close()
