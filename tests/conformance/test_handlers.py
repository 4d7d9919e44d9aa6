"""``process()``: the same scenarios on the reference broker and on Apache Kafka."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import Counter, defaultdict
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    AlterConfig,
    AsyncConsumer,
    ConfigResource,
    ConfigResourceType,
    Consumer,
    Producer,
    RetryPolicy,
    ShareConsumer,
    read,
    replay_dead_letters,
)
from pyk.clients.errors import NonEmptyGroupError
from support.brokers import Kafka, make_topic
from support.real_time import eventually

KEYS = 10
of_both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])
of_all_orders = pytest.mark.parametrize("ordering", ["partition", "key", "none"])


class Handled:
    """What handlers were called with, in the order of the calls; ends their call after ``count``
    different records."""

    def __init__(self, count: int) -> None:
        self.values: list[bytes] = []
        self.of_keys: dict[bytes | None, list[int]] = defaultdict(list)
        self._count = count
        self._lock = threading.Lock()
        self._consumers: list[Any] = []

    def consumer_of(self, consumer: Any) -> None:
        self._consumers.append(consumer)

    def add(self, record: Any) -> None:
        with self._lock:
            self.values.append(record.value)
            self.of_keys[record.key].append(int(record.value))
            is_all = len(set(self.values)) >= self._count
        if is_all:
            for consumer in self._consumers:
                consumer.wakeup()


def produce(kafka: Kafka, topic: str, numbers: range) -> None:
    with Producer(kafka.bootstrap, linger_ms=5) as producer:
        for n in numbers:
            producer.send(topic, b"%d" % n, key=b"%d" % (n % KEYS))


def values(numbers: range) -> Counter[bytes]:
    return Counter(b"%d" % n for n in numbers)


def committed(kafka: Kafka, group: str) -> int:
    """Return how many records are committed, all partitions together."""
    with Admin(kafka.bootstrap) as admin:
        found = admin.list_consumer_group_offsets(group).values()
        return sum(each.offset for each in found if each is not None)


def options(topic: str, group: str, protocol: str = "classic") -> dict[str, Any]:
    return {
        "topics": [topic],
        "group_id": group,
        "group_protocol": protocol,
        "auto_offset_reset": "earliest",
    }


@of_both_protocols
@of_all_orders
def test_each_record_is_handled_once_in_its_order_and_committed(
    kafka: Kafka, topic: str, group: str, protocol: str, ordering: str
) -> None:
    produce(kafka, topic, range(300))
    handled = Handled(300)

    with Consumer[bytes, bytes](kafka.bootstrap, **options(topic, group, protocol)) as consumer:
        handled.consumer_of(consumer)
        consumer.process(handled.add, concurrency=16, ordering=ordering)

    assert Counter(handled.values) == values(range(300))
    if ordering != "none":
        assert all(numbers == sorted(numbers) for numbers in handled.of_keys.values())
    assert committed(kafka, group) == 300


@of_both_protocols
async def test_a_thousand_tasks_wait_side_by_side(
    kafka: Kafka, topic: str, group: str, protocol: str
) -> None:
    await asyncio.to_thread(produce, kafka, topic, range(1000))
    handled, waiting, most = Handled(1000), 0, 0

    async with AsyncConsumer[bytes, bytes](
        kafka.bootstrap, **options(topic, group, protocol)
    ) as consumer:
        handled.consumer_of(consumer)

        async def handle(record: Any) -> None:
            nonlocal waiting, most
            waiting += 1
            most = max(most, waiting)
            await asyncio.sleep(0.5)
            waiting -= 1
            handled.add(record)

        await consumer.process(handle, concurrency=1000, ordering="none")

    assert Counter(handled.values) == values(range(1000))
    assert most > 500
    assert await asyncio.to_thread(committed, kafka, group) == 1000


@of_both_protocols
def test_what_is_finished_behind_a_slow_record_is_not_handled_again(
    kafka: Kafka, group: str, protocol: str
) -> None:
    topic = make_topic(kafka, "behind")
    produce(kafka, topic, range(50))
    first, again = Handled(49), Handled(1)

    with Consumer[bytes, bytes](kafka.bootstrap, **options(topic, group, protocol)) as consumer:
        first.consumer_of(consumer)
        is_over, workers = threading.Event(), set()

        def handle(record: Any) -> None:
            workers.add(threading.current_thread())
            if record.offset == 10:
                is_over.wait(60)
                return  # too late: the consumer is closed
            first.add(record)

        thread = threading.Thread(
            target=lambda: consumer.process(handle, concurrency=8, ordering="none")
        )
        thread.start()
        eventually(lambda: len(first.values) == 49)
        # The call ends, and with it each thread whose last handler has returned.
        eventually(lambda: sum(worker.is_alive() for worker in workers) == 1)
        consumer.close(5)
        is_over.set()
        thread.join(60)
    with Consumer[bytes, bytes](kafka.bootstrap, **options(topic, group, protocol)) as consumer:
        again.consumer_of(consumer)
        consumer.process(again.add)

    assert values(range(50)) - Counter(first.values) == Counter(again.values) == {b"10": 1}
    assert committed(kafka, group) == 50


@of_both_protocols
def test_a_member_that_joins_while_handlers_run_takes_over_without_loss(
    kafka: Kafka, group: str, protocol: str
) -> None:
    topic = make_topic(kafka, "joined", partitions=6)
    handled, sent = Handled(sys.maxsize), 0
    consumers = [
        Consumer[bytes, bytes](kafka.bootstrap, **options(topic, group, protocol)) for _ in range(2)
    ]

    def handle(record: Any) -> None:
        time.sleep(0.02)
        handled.add(record)

    def work(consumer: Consumer[bytes, bytes]) -> None:
        with consumer:
            consumer.process(handle, concurrency=4, ordering="key")

    threads = [threading.Thread(target=work, args=(consumer,)) for consumer in consumers]
    for consumer, thread in zip(consumers, threads, strict=True):
        thread.start()
        while len(consumer.assignment()) < 3:
            produce(kafka, topic, range(sent, sent + 30))
            sent += 30
            eventually(lambda least=sent - 60: len(handled.values) >= least)
    eventually(lambda: len(handled.values) >= sent)
    for consumer, thread in zip(consumers, threads, strict=True):
        consumer.wakeup()
        thread.join(60)

    assert Counter(handled.values) == values(range(sent))
    assert all(numbers == sorted(numbers) for numbers in handled.of_keys.values())
    assert committed(kafka, group) == sent


@of_both_protocols
def test_handlers_go_on_when_a_broker_was_killed(
    kafka: Kafka, topic: str, group: str, protocol: str
) -> None:
    produce(kafka, topic, range(100))
    handled = Handled(200)

    with Consumer[bytes, bytes](kafka.bootstrap, **options(topic, group, protocol)) as consumer:
        handled.consumer_of(consumer)
        thread = threading.Thread(target=lambda: consumer.process(handled.add, concurrency=8))
        thread.start()
        eventually(lambda: len(handled.values) >= 100)
        kafka.kill_and_restart()
        produce(kafka, topic, range(100, 200))
        thread.join(120)

    assert not thread.is_alive()
    assert set(handled.values) == set(values(range(200)))
    assert committed(kafka, group) == 200


@of_both_protocols
def test_a_record_that_fails_goes_over_the_retry_topic_to_the_dead_letters_and_back(
    kafka: Kafka, group: str, protocol: str
) -> None:
    topic = make_topic(kafka, "letters")
    later, dead = make_topic(kafka, "letters.later"), make_topic(kafka, "letters.dead")
    produce(kafka, topic, range(5))
    handled, calls = Handled(4), 0
    policy = RetryPolicy(attempts=2, backoff=0.01, topics={later: 0.5})
    of_all = options(topic, group, protocol) | {"topics": [topic, later]}

    def handle(record: Any) -> None:
        nonlocal calls
        if record.value == b"3":
            calls += 1
            raise LookupError("no such customer")
        handled.add(record)

    with Consumer[bytes, bytes](kafka.bootstrap, **of_all) as consumer:
        thread = threading.Thread(
            target=lambda: consumer.process(handle, retry=policy, dead_letter=dead)
        )
        thread.start()
        eventually(lambda: len(records_of(kafka, dead)) == 1)
        consumer.wakeup()
        thread.join(60)
    (letter,) = records_of(kafka, dead)

    assert calls == 4
    assert Counter(handled.values) == values(range(5)) - Counter([b"3"])
    assert letter["value"] == b"3"
    headers = {header["key"]: header["value"] for header in letter["headers"]}
    assert (headers["pyk-origin-topic"], headers["pyk-attempts"]) == (topic.encode(), b"4")
    assert headers["pyk-error-text"] == b"no such customer"
    with Consumer(kafka.bootstrap, **options(topic, group, protocol)) as application:
        eventually(lambda: application.poll(0.1) is not None and application.assignment())
        with pytest.raises(NonEmptyGroupError, match="nothing was written"):
            replay_dead_letters(kafka.bootstrap, dead, group_id=group)
    assert replay_dead_letters(kafka.bootstrap, dead) == 1
    assert [record["value"] for record in records_of(kafka, topic)][-1] == b"3"
    assert replay_dead_letters(kafka.bootstrap, dead) == 0


def records_of(kafka: Kafka, topic: str) -> list[dict[str, Any]]:
    columns = ["value", "headers"]
    return [
        row for table in read(kafka.bootstrap, topic, columns=columns) for row in table.to_pylist()
    ]


@of_both_protocols
def test_batches_of_tables_have_each_record_once(
    kafka: Kafka, topic: str, group: str, protocol: str
) -> None:
    produce(kafka, topic, range(500))
    stored: list[bytes] = []

    with Consumer[bytes, bytes](kafka.bootstrap, **options(topic, group, protocol)) as consumer:

        def store(records: Any) -> None:
            stored.extend(records.to_arrow().column("value").to_pylist())
            if len(stored) == 500:
                consumer.wakeup()

        consumer.process_batches(store, max_records=100)

    assert Counter(stored) == values(range(500))
    assert committed(kafka, group) == 500


def test_members_of_a_share_group_handle_each_record(kafka: Kafka, topic: str, group: str) -> None:
    of_group = ConfigResource(ConfigResourceType.GROUP, group)
    with Admin(kafka.bootstrap) as admin:
        from_start = AlterConfig("share.auto.offset.reset", "earliest")
        admin.incremental_alter_configs({of_group: [from_start]})
    produce(kafka, topic, range(300))
    handled, failed = Handled(300), threading.Event()
    consumers = [
        ShareConsumer[bytes, bytes](kafka.bootstrap, topics=[topic], group_id=group)
        for _ in range(3)
    ]

    def handle(record: Any) -> None:
        if record.value == b"7" and not failed.is_set():
            failed.set()
            raise LookupError("once")
        handled.add(record)

    def work(consumer: ShareConsumer[bytes, bytes]) -> None:
        with consumer:
            consumer.process(handle, concurrency=8, retry=RetryPolicy(attempts=2, backoff=0.01))

    threads = [threading.Thread(target=work, args=(consumer,)) for consumer in consumers]
    for consumer, thread in zip(consumers, threads, strict=True):
        handled.consumer_of(consumer)
        thread.start()
    for thread in threads:
        thread.join(120)

    assert not any(thread.is_alive() for thread in threads)
    assert Counter(handled.values) == values(range(300))
