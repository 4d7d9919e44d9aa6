"""What consumers of groups can be told and asked, on the reference broker and on Apache Kafka."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    CommitFailedError,
    Consumer,
    NewPartitions,
    Producer,
    SubscriptionPattern,
    TopicPartition,
    read,
)
from support.brokers import Kafka, make_topic
from support.real_time import eventually

_numbers = itertools.count()
of_both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])
Bytes = Consumer[bytes, bytes]


def produce(kafka: Kafka, topic: str, numbers: range) -> None:
    with Producer(kafka.bootstrap, linger_ms=5) as producer:
        for n in numbers:
            producer.send(topic, b"%d" % n)


def values(numbers: range) -> Counter[bytes]:
    return Counter(b"%d" % n for n in numbers)


@contextmanager
def member(kafka: Kafka, group: str, protocol: str, **options: Any) -> Iterator[Bytes]:
    options = {"auto_offset_reset": "earliest", "group_id": group, **options}
    with Bytes(kafka.bootstrap, group_protocol=protocol, **options) as consumer:
        yield consumer


def read_until(consumer: Bytes, is_enough: Callable[[list[bytes]], bool]) -> list[bytes]:
    found: list[bytes] = []

    def polled() -> bool:
        found.extend(record.value for record in consumer.poll(0.2))
        return is_enough(found)

    eventually(polled)
    return found


@of_both_protocols
@pytest.mark.parametrize("is_re2", [True, False], ids=["re2", "python"])
def test_a_pattern_finds_topics_that_are_there_and_that_come(
    kafka: Kafka, group: str, protocol: str, is_re2: bool
) -> None:
    prefix = f"found{next(_numbers)}"
    first, _ = make_topic(kafka, f"{prefix}.a"), make_topic(kafka, f"other.{prefix}.a")
    produce(kafka, first, range(10))
    text = rf"{prefix}\.[ab].*"

    with member(kafka, group, protocol, metadata_max_age_ms=500) as consumer:
        consumer.subscribe(pattern=SubscriptionPattern(text) if is_re2 else text)
        assert Counter(read_until(consumer, lambda found: len(found) >= 10)) == values(range(10))
        second = make_topic(kafka, f"{prefix}.b")
        produce(kafka, second, range(10, 20))
        found = read_until(consumer, lambda found: len(found) >= 10)

        assert Counter(found) == values(range(10, 20))
        assert {p.topic for p in consumer.assignment()} == {first, second}


@of_both_protocols
def test_partitions_that_a_topic_gets_are_read_from_their_beginning(
    kafka: Kafka, topic: str, group: str, protocol: str
) -> None:
    with member(kafka, group, protocol, metadata_max_age_ms=500) as consumer:
        consumer.subscribe([topic])
        eventually(lambda: consumer.poll(0.1) is not None and len(consumer.assignment()) == 3)
        with Admin(kafka.bootstrap) as admin:
            admin.create_partitions({topic: NewPartitions(5)})
        with Producer(kafka.bootstrap, metadata_max_age_ms=200) as producer:
            for n in range(10):
                producer.send(topic, b"%d" % n, partition=3 + n % 2)

        assert Counter(read_until(consumer, lambda f: len(f) >= 10)) == values(range(10))
        assert consumer.partitions_for(topic, timeout=20) == set(range(5))


@of_both_protocols
def test_commits_without_waiting_are_stored_and_told_in_order(
    kafka: Kafka, topic: str, group: str, protocol: str
) -> None:
    p0 = TopicPartition(topic, 0)
    with Producer(kafka.bootstrap) as producer:
        for n in range(20):
            producer.send(topic, b"%d" % n, partition=0)
    told: list[tuple[int, BaseException | None]] = []

    with member(kafka, group, protocol, enable_auto_commit=False) as consumer:
        consumer.subscribe([topic])
        read_until(consumer, lambda found: len(found) >= 20)
        for offset in range(1, 21):
            consumer.commit_async(
                {p0: offset}, lambda offsets, error: told.append((offsets[p0].offset, error))
            )
        eventually(lambda: consumer.poll(0.1) is not None and len(told) == 20)

        committed = consumer.committed([p0])[p0]
    assert told == [(offset, None) for offset in range(1, 21)]
    assert committed is not None
    assert committed.offset == 20


def test_a_rebalance_that_a_member_asks_for_gives_everybody_a_new_generation(
    kafka: Kafka, topic: str, group: str
) -> None:
    with ExitStack() as stack:
        members = [stack.enter_context(member(kafka, group, "classic")) for _ in range(2)]
        for each in members:
            each.subscribe([topic])

        def polled() -> list[int]:
            for each in members:
                each.poll(0.05)
            return [each.group_metadata().generation_id for each in members]

        eventually(lambda: len(set(polled())) == 1 and all(m.assignment() for m in members))
        (before,) = set(polled())
        members[0].enforce_rebalance("a test wants it")
        eventually(lambda: min(polled()) > before)
        eventually(lambda: sum(len(m.assignment()) for m in members) == 3 and bool(polled()))


@of_both_protocols
def test_what_was_handed_out_before_a_rebalance_cannot_be_committed_after_it(
    kafka: Kafka, group: str, protocol: str
) -> None:
    topic = make_topic(kafka, "owned")
    produce(kafka, topic, range(10))

    with member(kafka, group, protocol, enable_auto_commit=False) as first:
        first.subscribe([topic])
        records = first.poll(20)
        first.unsubscribe()
        with member(kafka, group, protocol, enable_auto_commit=False) as second:
            second.subscribe([topic])
            assert len(read_until(second, lambda found: len(found) >= 10)) == 10
            second.commit()

            with pytest.raises(CommitFailedError):
                first.commit(records)
            found = second.committed([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]
            assert found is not None
            assert found.offset == 10


@of_both_protocols
def test_a_duration_begins_with_the_records_of_so_long_ago(
    kafka: Kafka, group: str, protocol: str
) -> None:
    topic = make_topic(kafka, "durations")
    with Producer(kafka.bootstrap) as producer:
        now = time.time_ns() // 1_000_000
        for hours in (5, 3, 2, 0):
            producer.send(topic, b"%d" % hours, timestamp_ms=now - hours * 3_600_000)

    with member(kafka, group, protocol, auto_offset_reset="by_duration:PT2H30M") as consumer:
        consumer.subscribe([topic])
        assert read_until(consumer, lambda found: len(found) >= 2) == [b"2", b"0"]
    tables = list(read(kafka.bootstrap, topic, start=timedelta(hours=4), end=timedelta(hours=1)))
    assert [value for t in tables for value in t.column("value").to_pylist()] == [b"3", b"2"]


@of_both_protocols
def test_a_static_member_that_comes_back_keeps_its_partitions(
    kafka: Kafka, topic: str, group: str, protocol: str
) -> None:
    with ExitStack() as stack:
        other = stack.enter_context(member(kafka, group, protocol, group_instance_id="other"))
        other.subscribe([topic])
        mine = Bytes(
            kafka.bootstrap,
            topics=[topic],
            group_id=group,
            group_protocol=protocol,
            group_instance_id="mine",
        )
        eventually(
            lambda: (
                all(each.poll(0.05) is not None for each in (other, mine))
                and sorted(len(each.assignment()) for each in (other, mine)) == [1, 2]
            )
        )
        before, others = mine.assignment(), other.assignment()
        mine.close(10)  # a static member stays in the group
        with member(kafka, group, protocol, group_instance_id="mine", topics=[topic]) as again:
            eventually(lambda: again.poll(0.1) is not None and again.assignment() == before)
            other.poll(0.1)
            assert other.assignment() == others
