"""Consumer groups: sharing partitions, joining, leaving, and committing finished records."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pyk.clients import Admin, Consumer, Producer, TopicPartition
from support.brokers import Kafka, make_topic
from support.real_time import eventually

KINDS: list[dict[str, object]] = [
    {"partition_assignment_strategy": ["range"]},
    {"partition_assignment_strategy": ["roundrobin"]},
    {"partition_assignment_strategy": ["cooperative-sticky"]},
    {"group_protocol": "consumer", "group_remote_assignor": "uniform"},
    {"group_protocol": "consumer", "group_remote_assignor": "range"},
]
of_every_kind = pytest.mark.parametrize("config", KINDS, ids=lambda kind: str([*kind.values()][-1]))


class Member:
    """A consumer in its own thread that keeps the values it read."""

    def __init__(self, bootstrap: str, topic: str, group: str, **config: object) -> None:
        self._stop = threading.Event()
        self.values: list[bytes] = []
        self.assignment: set[TopicPartition] = set()
        self.error: BaseException | None = None
        self._consumer = Consumer(
            bootstrap, topics=[topic], group_id=group, auto_offset_reset="earliest", **config
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self._consumer as consumer:
                while not self._stop.is_set():
                    self.values += [record.value for record in consumer.poll(0.1)]
                    self.assignment = set(consumer.assignment())
        except BaseException as error:
            self.error = error

    def leave(self) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive()
        assert self.error is None


@contextmanager
def members(count: int, *arguments: str, **config: object) -> Iterator[list[Member]]:
    joined = [Member(*arguments, **config) for _ in range(count)]
    try:
        yield joined
    finally:
        for member in joined:
            member.leave()


def produce(kafka: Kafka, topic: str, numbers: range) -> None:
    with Producer(kafka.bootstrap, linger_ms=5) as producer:
        for n in numbers:
            producer.send(topic, b"%d" % n)


@of_every_kind
def test_a_group_shares_the_partitions_and_each_record_is_read_once(
    kafka: Kafka, group: str, config: dict[str, object]
) -> None:
    topic = make_topic(kafka, "shared", partitions=6)

    with members(2, kafka.bootstrap, topic, group, **config) as (first, second):
        eventually(lambda: len(first.assignment) == len(second.assignment) == 3)
        produce(kafka, topic, range(600))
        eventually(lambda: len(first.values) + len(second.values) >= 600)

        assert first.assignment.isdisjoint(second.assignment)
    assert Counter(first.values + second.values) == Counter(b"%d" % n for n in range(600))


@of_every_kind
def test_no_record_is_lost_or_read_twice_while_members_join_and_leave(
    kafka: Kafka, group: str, config: dict[str, object]
) -> None:
    topic = make_topic(kafka, "moving", partitions=6)
    arguments = (kafka.bootstrap, topic, group)

    with members(2, *arguments, **config) as (first, second):
        eventually(lambda: len(first.assignment) == len(second.assignment) == 3)
        produce(kafka, topic, range(300))
        third = Member(*arguments, **config)
        produce(kafka, topic, range(300, 600))
        eventually(lambda: len(third.assignment) == 2)
        first.leave()
        produce(kafka, topic, range(600, 900))
        eventually(lambda: len(second.assignment) == len(third.assignment) == 3)
        everybody = (first, second, third)
        eventually(lambda: sum(len(m.values) for m in everybody) >= 900)
        third.leave()

    read = Counter(first.values + second.values + third.values)
    assert read == Counter(b"%d" % n for n in range(900))


def test_committed_offsets_survive_a_crash_of_the_broker(
    kafka: Kafka, topic: str, group: str
) -> None:
    with Producer(kafka.bootstrap) as producer:
        for n in range(20):
            producer.send(topic, b"%d" % n, partition=0)
    partition = TopicPartition(topic, 0)

    with Consumer(
        kafka.bootstrap, topics=[topic], group_id=group, auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:  # fmt: skip
        records = consumer.poll(20, max_records=7)
        consumer.commit(records)
    kafka.kill_and_restart()

    with Consumer(
        kafka.bootstrap, topics=[topic], group_id=group, auto_offset_reset="earliest"
    ) as consumer:
        assert consumer.committed([partition])[partition].offset == len(records)
        assert next(iter(consumer)).offset == len(records)
    with Admin(kafka.bootstrap) as admin:
        offsets = admin.list_consumer_group_offsets(group)
        assert offsets[partition].offset in {len(records), len(records) + 1}


def test_a_record_whose_loop_body_raised_is_read_again(
    kafka: Kafka, topic: str, group: str
) -> None:
    with Producer(kafka.bootstrap) as producer:
        for n in range(10):
            producer.send(topic, b"%d" % n, partition=0)
    config = {"topics": [topic], "group_id": group, "auto_offset_reset": "earliest"}

    def fail_at_the_fifth() -> None:
        with Consumer(kafka.bootstrap, **config) as consumer:
            for record in consumer:
                if record.offset == 4:
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_at_the_fifth()

    with Consumer(kafka.bootstrap, **config) as consumer:
        assert next(iter(consumer)).offset == 4


def test_acknowledged_records_survive_a_crash_of_the_broker(kafka: Kafka, topic: str) -> None:
    with Producer(kafka.bootstrap) as producer:
        for n in range(500):
            producer.send(topic, b"%d" % n, partition=1)
        producer.flush(30)
        kafka.kill_and_restart()
        assert producer.send_and_wait(topic, b"500", partition=1).offset == 500

    with Consumer(kafka.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 1)])
        values: list[bytes] = []
        while len(values) < 501:
            values += [record.value for record in consumer.poll(10)]
    assert values == [b"%d" % n for n in range(501)]
