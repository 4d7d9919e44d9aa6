"""``Consumer.process`` handles records in threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients import (
    ConcurrentUseError,
    ConfigurationError,
    Consumer,
    InvalidTopicError,
    KafkaTimeoutError,
    Producer,
    ProducerRecord,
    RetryPolicy,
    StateError,
    UnknownTopicOrPartitionError,
    current_attempt,
    replay_dead_letters,
)
from support.blocking_consuming import partitions, produce, reader
from support.real_time import IN_TIME, took


class Handling:
    """A call of ``process`` in a thread of its own, until a number of records is handled."""

    def __init__(self, consumer: Consumer[Any, Any], count: int) -> None:
        self.handled: list[tuple[int, int]] = []
        self.consumer = consumer
        self.count = count
        self.lock = threading.Lock()

    def handle(self, record: Any) -> None:
        with self.lock:
            self.handled.append((record.partition, record.offset))
            if len(self.handled) == self.count:
                self.consumer.wakeup()


def test_every_record_is_handled_once_and_committed(cluster, topic):
    produce(cluster, topic, 300)
    with reader(cluster, topic, group_id=topic) as consumer:
        handling = Handling(consumer, 300)
        consumer.process(handling.handle, concurrency=8)

        committed = consumer.committed(partitions(topic))

    assert len(set(handling.handled)) == len(handling.handled) == 300
    assert [one and one.offset for one in committed.values()] == [100, 100, 100]
    for number in range(3):
        assert [o for p, o in handling.handled if p == number] == list(range(100))


def test_as_many_handlers_run_at_once_as_are_asked_for(cluster, topic):
    produce(cluster, topic, 8)
    together = threading.Barrier(8, timeout=20)
    with reader(cluster, topic, group_id=topic) as consumer:
        handling = Handling(consumer, 8)

        def handle(record: Any) -> None:
            together.wait()
            handling.handle(record)

        consumer.process(handle, concurrency=8, ordering="none")

    assert len(handling.handled) == 8


def test_the_error_of_a_handler_is_raised_and_its_record_is_read_again(cluster, topic):
    produce(cluster, topic, 30)
    with reader(cluster, topic, group_id=topic) as consumer:

        def handle(record: Any) -> None:
            if record.offset == 4:
                raise ValueError(f"no {record.value!r}")

        with pytest.raises(ValueError, match="no b'") as caught:
            consumer.process(handle)
        committed = consumer.committed(partitions(topic))

    assert "attempt 1" in caught.value.__notes__[0]
    offsets = [one.offset for one in committed.values() if one is not None]
    assert max(offsets) == 4


def test_closing_in_a_handler_ends_the_call(cluster, topic):
    produce(cluster, topic, 30)
    was_cancelled = threading.Event()
    with reader(cluster, topic, group_id=topic) as consumer:

        def handle(record: Any) -> None:
            attempt = current_attempt()
            consumer.close()
            pause = threading.Event()
            while not attempt.is_cancelled:
                pause.wait(0.01)
            was_cancelled.set()

        consumer.process(handle)

    assert was_cancelled.wait(20)


def test_a_handler_that_stops_because_its_deadline_is_over_has_failed(cluster, topic):
    produce(cluster, topic, 1)
    with reader(cluster, topic, group_id=topic) as consumer:

        def handle(record: Any) -> None:
            attempt = current_attempt()
            pause = threading.Event()
            while not attempt.is_cancelled:
                pause.wait(0.01)

        with pytest.raises(KafkaTimeoutError, match="longer than its deadline"):
            consumer.process(handle, deadline=0.1)

        committed = consumer.committed(partitions(topic)).values()
        assert {one.offset for one in committed if one is not None} == {0}


def test_a_record_that_keeps_failing_becomes_a_dead_letter(cluster, topic):
    produce(cluster, topic, 30)
    dead_topic = f"{topic}.dead"
    cluster.create_topic(dead_topic)
    calls: list[int] = []
    with reader(cluster, topic, group_id=topic) as consumer:

        def handle(record: Any) -> None:
            if record.value == b"7":
                calls.append(current_attempt().number)
                if len(calls) == 2:
                    consumer.wakeup()
                raise LookupError("no such customer")

        policy = RetryPolicy(attempts=2, backoff=0.01)
        consumer.process(handle, ordering="none", retry=policy, dead_letter=dead_topic)

        with reader(cluster, dead_topic) as dead_letters:
            dead = next(iter(dead_letters))
    assert calls == [1, 2]
    assert (dead.key, dead.value) == (b"key 7", b"7")
    assert dict(dead.headers)["pyk-error"] == b"LookupError"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"concurrency": 0}, ValueError, "concurrency must be 1 or more"),
        ({"ordering": "topic"}, ValueError, "ordering must be one of partition, key, none"),
        ({"retry": 3}, TypeError, "retry must be a RetryPolicy, not int"),
        ({"dead_letter": 3}, TypeError, "dead_letter must be the name of a topic, or callable"),
        (
            {"dead_letter": "later", "retry": RetryPolicy(topics={"later": 60})},
            ValueError,
            "dead_letter must not be one of the retry topics, 'later'",
        ),
        ({"dead_letter": "bad name"}, InvalidTopicError, "'bad name' is not a valid topic name"),
        ({"deadline": 0}, ValueError, "deadline must be a number of seconds above 0"),
    ],
)
def test_wrong_arguments_are_refused(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    consumer: Consumer[Any, Any] = Consumer("localhost:1", group_id="g")
    noop: Callable[[Any], None] = print
    with pytest.raises(error, match=words):
        consumer.process(noop, **options)


def test_a_consumer_without_a_group_is_refused_before_it_connects() -> None:
    consumer: Consumer[Any, Any] = Consumer("localhost:1")
    with pytest.raises(ConfigurationError, match="give it a group_id, or read with poll"):
        consumer.process(print)
    with pytest.raises(ConfigurationError, match="give it a group_id, or read with poll"):
        consumer.process_batches(print)


def test_an_async_handler_of_a_blocking_consumer_is_refused_before_it_is_called() -> None:
    async def handle(record: object) -> None: ...

    consumer: Consumer[Any, Any] = Consumer("localhost:1", group_id="g")
    handler: Any = handle
    with pytest.raises(TypeError, match="cannot await it; use AsyncConsumer"):
        consumer.process(handler)


def test_there_is_no_attempt_outside_of_handlers():
    with pytest.raises(StateError, match="nothing is handled here"):
        current_attempt()


def test_dead_letters_are_replayed_once_with_the_bytes_and_headers_of_the_record(cluster, topic):
    dead_topic = f"{topic}.dead"
    cluster.create_topic(dead_topic, partitions=2)
    headers = [("mine", b"1"), ("pyk-origin-topic", topic.encode()), ("pyk-error", b"KeyError")]
    with Producer[bytes, bytes](cluster.bootstrap) as producer:
        producer.send(dead_topic, b"value", b"key", headers=headers)
        producer.send(dead_topic, b"of somebody else", b"key")

    assert replay_dead_letters(cluster.bootstrap, dead_topic) == 1
    assert replay_dead_letters(cluster.bootstrap, dead_topic) == 0
    with reader(cluster, topic) as consumer:
        record = next(iter(consumer))

    assert (record.key, record.value, record.headers) == (b"key", b"value", (("mine", b"1"),))


def test_a_replay_leaves_out_dead_letters_of_transactions_that_were_aborted(cluster, topic):
    dead_topic = f"{topic}.dead"
    cluster.create_topic(dead_topic)
    headers = [("pyk-origin-topic", topic.encode())]
    with Producer[bytes, bytes](cluster.bootstrap, transactional_id=topic) as producer:
        for value in (b"aborted", b"committed"):
            producer.begin_transaction()
            producer.send_and_wait(dead_topic, value, headers=headers)
            if value == b"aborted":
                producer.abort_transaction()
            else:
                producer.commit_transaction()

    assert replay_dead_letters(cluster.bootstrap, dead_topic) == 1
    assert billed(cluster, topic, 1) == [b"committed"]


def test_large_records_go_to_the_dead_letters_and_back(cluster, topic):
    dead_topic, limits = f"{topic}.dead", {"max.message.bytes": "3000000"}
    cluster.create_topic(f"{topic}.large", configs=limits)
    cluster.create_topic(dead_topic, configs=limits)
    values = [os.urandom(2_000_000), b"compresses well" * 300_000]
    with Producer[bytes, bytes](
        cluster.bootstrap, max_request_size=5_000_000, compression_type="gzip"
    ) as producer:
        producer.send_batch(f"{topic}.large", values).result()
    dead: list[int] = []
    with reader(cluster, f"{topic}.large", group_id=topic) as consumer:

        def handle(record: Any) -> None:
            dead.append(record.offset)
            if len(dead) == len(values):
                consumer.wakeup()
            raise LookupError("no such customer")

        consumer.process(handle, dead_letter=dead_topic)

    assert replay_dead_letters(cluster.bootstrap, dead_topic) == 2
    with reader(cluster, f"{topic}.large") as again:
        found = [next(again).value for _ in range(2 * len(values))]
    assert found == values + values


def test_a_replay_tells_of_records_that_it_leaves(cluster, topic, caplog):
    produce(cluster, topic, 3)

    assert replay_dead_letters(cluster.bootstrap, topic) == 0
    assert f"Left 3 records of {topic}: pyk has not moved them there" in caplog.text


def test_a_replay_of_a_topic_that_does_not_exist_raises_and_creates_none(cluster):
    for _ in range(2):
        with pytest.raises(UnknownTopicOrPartitionError, match=r"'no\.dead' does not exist"):
            replay_dead_letters(cluster.bootstrap, "no.dead")


def test_a_handler_that_reads_is_told_to_leave_the_consumer_alone(cluster, topic):
    produce(cluster, topic, 1)
    with (
        reader(cluster, topic, group_id=topic) as consumer,
        pytest.raises(ConcurrentUseError, match="a handler of process"),
    ):
        consumer.process(lambda record: consumer.poll(1))


def test_a_handler_that_begins_another_call_is_refused_and_its_record_is_not_committed(
    cluster, topic
):
    produce(cluster, topic, 30)
    refused: list[ConcurrentUseError] = []
    with reader(cluster, topic, group_id=topic, auto_commit_interval_ms=50) as consumer:

        def handle(record: Any) -> None:
            if record.value == b"7":
                try:
                    consumer.process(print)
                except ConcurrentUseError as error:
                    refused.append(error)
                    consumer.wakeup()
                raise LookupError("no such customer")

        with pytest.raises(LookupError):
            consumer.process(handle)
        committed = consumer.committed(partitions(topic))

    assert len(refused) == 1
    assert committed[partitions(topic)[1]] is not None
    assert [one and one.offset for one in committed.values()][1] == 2


EXACTLY_ONCE = {"enable_auto_commit": False, "isolation_level": "read_committed"}


def billed(cluster: Any, topic: str, count: int) -> list[bytes]:
    """Return the values of ``topic`` that are committed, once there are so many."""
    found: list[bytes] = []
    with Consumer[bytes, bytes](
        cluster.bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        consumer.assign(partitions(topic))
        while len(found) < count:
            found += [record.value for record in consumer.poll()]
        found += [record.value for record in consumer.poll(0.2)]
    return found


@pytest.mark.parametrize("options", [{}, {"transactional_id": "billing"}], ids=["plain", "txn"])
def test_what_handlers_return_is_written(cluster, topic, options):
    produce(cluster, topic, 300)
    bills = f"{topic}-bills"
    cluster.create_topic(bills, partitions=3)
    producer = Producer[Any, Any](cluster.bootstrap, **options)
    with producer, reader(cluster, topic, group_id=topic, **EXACTLY_ONCE) as consumer:
        handling = Handling(consumer, 300)

        def bill(record: Any) -> list[ProducerRecord]:
            handling.handle(record)
            return [ProducerRecord(bills, b"%d of %d" % (n, record.offset)) for n in range(2)]

        consumer.process(bill, concurrency=8, producer=producer)
        committed = consumer.committed(partitions(topic))

    assert [one and one.offset for one in committed.values()] == [100, 100, 100]
    values = billed(cluster, bills, 600)
    assert sorted(values) == sorted(3 * [b"%d of %d" % (n, o) for n in (0, 1) for o in range(100)])


def test_closing_in_a_handler_leaves_no_transaction_open_and_no_thread(cluster, topic):
    produce(cluster, topic, 30)
    bills = f"{topic}-bills"
    cluster.create_topic(bills, partitions=3)
    with Producer[Any, Any](cluster.bootstrap, transactional_id=topic) as producer:
        consumer = reader(cluster, topic, group_id=topic, **EXACTLY_ONCE)

        def bill(record: Any) -> ProducerRecord:
            if record.offset == 5:
                consumer.close()
            return ProducerRecord(bills, record.value)

        consumer.process(bill, producer=producer)
        threads = {thread.name for thread in threading.enumerate()}
        with producer.transaction():
            producer.send(bills, b"the last one")

    assert b"the last one" in billed(cluster, bills, 1)
    assert not any(name.startswith("pyk-results") for name in threads)


def test_a_producer_of_the_other_kind_is_refused(cluster, topic):
    with (
        reader(cluster, topic, group_id=topic) as consumer,
        pytest.raises(TypeError, match="producer must be a Producer, not str"),
    ):
        consumer.process(print, producer="billing-1")  # type: ignore[arg-type]


def test_closing_ends_within_its_timeout_although_a_handler_never_returns(cluster, topic, caplog):
    produce(cluster, topic, 1)
    began, may_return = threading.Event(), threading.Event()

    def hang(record: Any) -> None:
        began.set()
        may_return.wait(IN_TIME)

    consumer = reader(cluster, topic, group_id=topic)
    handling = threading.Thread(target=consumer.process, args=(hang,))
    handling.start()
    assert began.wait(IN_TIME)

    try:
        assert took(lambda: consumer.close(timeout=2)) < 10
        handling.join(IN_TIME)
        assert not handling.is_alive()
    finally:
        may_return.set()
    assert "1 handler still running after process() has ended" in caplog.text
