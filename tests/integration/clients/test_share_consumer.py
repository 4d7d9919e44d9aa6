"""The blocking share consumer beside a broker in a thread of its own."""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import (
    AcknowledgeType,
    Admin,
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    Producer,
    ShareConsumer,
    TopicPartition,
    errors,
)
from pyk.reference_broker import Cluster
from support.forks import status_of_fork
from support.real_time import eventually

_numbers = itertools.count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A topic with three records, which a group of its name reads from the beginning."""
    name = f"share-{next(_numbers)}"
    cluster.create_topic(name)
    group = ConfigResource(ConfigResourceType.GROUP, name)
    with Admin(cluster.bootstrap) as admin:
        admin.incremental_alter_configs(
            {group: [AlterConfig("share.auto.offset.reset", "earliest")]}
        )
    with Producer(cluster.bootstrap) as producer:
        for value in (b"a", b"b", b"c"):
            producer.send(name, value)
    return name


def reader(cluster: Cluster, topic: str, **options: Any) -> ShareConsumer[Any, Any]:
    return ShareConsumer(cluster.bootstrap, topics=[topic], group_id=topic, **options)


def values(consumer: ShareConsumer[Any, Any], count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        found += [record.value for record in consumer.poll(5)]
    return found


def test_a_properties_file_of_java_configures_it(cluster, topic, tmp_path):
    path = tmp_path / "share.properties"
    path.write_text(
        f"bootstrap.servers={cluster.bootstrap}\ngroup.id={topic}\n"
        "share.acknowledgement.mode=explicit\nmax.poll.records=2\n"
    )

    with ShareConsumer.from_properties(path, topics=[topic]) as consumer:
        for record in consumer.poll(10):
            consumer.acknowledge(record)
        assert consumer.commit()


def test_a_commit_waits_for_all_that_was_acknowledged_before_it(cluster, topic, monkeypatch):
    with reader(cluster, topic, share_acknowledgement_mode="explicit") as consumer:
        ready, visit = consumer._core.ready, consumer._core.fetcher.visit

        async def visit_late() -> None:
            await ready()
            visit()

        monkeypatch.setattr(consumer._core.fetcher, "visit", lambda: None)
        monkeypatch.setattr(consumer._core, "ready", visit_late)
        for record in consumer.poll(10):
            consumer.acknowledge(record)

        committed = consumer.commit()

    assert committed == {TopicPartition(topic, 0): (range(3),)}


def test_what_is_sent_after_a_commit_is_not_of_it(cluster, topic):
    with reader(cluster, topic) as consumer:
        fetcher = consumer._core.fetcher
        assert len(consumer.poll(10)) == 3
        consumer.wakeup()
        with pytest.raises(errors.WakeupError):
            consumer.commit()
        assert fetcher.awaited is None  # or the failures of later polls would not be logged

        consumer.commit()
        assert fetcher.awaited is None


def test_records_of_a_commit_that_was_woken_up_are_acknowledged_by_the_close(cluster, topic):
    consumer = reader(cluster, topic)
    values(consumer, 3)
    consumer.wakeup()
    with pytest.raises(errors.WakeupError):
        consumer.commit()

    consumer.close()

    assert consumer.stats().acknowledged == 3


def test_a_commit_whose_caller_has_gone_accepts_nothing_of_a_later_poll(cluster, topic):
    with reader(cluster, topic) as consumer:
        core = consumer._core
        for _ in range(2):
            assert len(consumer.poll(10, max_records=1)) == 1
        late = consumer._commit(core.commits.begin(), core.limits.deadline(10))
        core.commits.end()

        consumer._thread.call(late)

        assert consumer.stats().acknowledged <= 1


def test_iteration_and_polls_go_together(cluster, topic):
    with reader(cluster, topic) as consumer:
        first = next(iter(consumer))
        assert first.value == b"a"
        assert values(consumer, 2) == [b"b", b"c"]
        assert consumer.subscription() == {topic}


def test_another_thread_wakes_it_up_and_may_not_read(cluster, topic):
    refused: list[BaseException] = []
    with reader(cluster, topic) as consumer:
        values(consumer, 3)

        def intrude() -> None:
            try:
                eventually(lambda: consumer._user is not None)
                consumer.poll(1)
            except errors.ConcurrentUseError as error:
                refused.append(error)
            consumer.wakeup()

        thread = threading.Thread(target=intrude)
        thread.start()
        with pytest.raises(errors.WakeupError):
            consumer.poll(None)
        thread.join()

    assert len(refused) == 1


def test_an_interrupted_poll_loses_nothing(cluster, topic):
    with reader(cluster, topic) as consumer:
        consumer.start()
        limits = consumer._core.limits
        assert [record.value for record in consumer.poll(10, max_records=1)] == [b"a"]
        consumer.commit()
        spans, _ = consumer._take(1, limits.poll_deadline(5))
        assert spans  # and the handler of a signal raises before poll returns
        again = [record.value for record in consumer.poll(5)]

    assert again == [b"b", b"c"]


def test_a_forked_child_is_told_and_the_parent_goes_on(cluster, topic):
    with reader(cluster, topic) as consumer:
        consumer.start()

        def is_not_refused() -> int:
            try:
                consumer.poll(1)
            except errors.ForkedClientError:
                return 0
            return 1

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            assert status_of_fork(is_not_refused) == 0
        assert len(values(consumer, 3)) == 3


def test_a_dropped_consumer_warns_and_gives_its_records_back(cluster, topic):
    dropped = reader(cluster, topic)
    values(dropped, 3)

    with pytest.warns(ResourceWarning, match="without close"):
        del dropped

    with reader(cluster, topic, share_acknowledgement_mode="explicit") as consumer:
        records: list[Any] = []
        while len(records) < 3:
            for record in consumer.poll(5):
                records.append(record)
                consumer.acknowledge(record, AcknowledgeType.ACCEPT)
    assert {record.delivery_count for record in records} == {2}


def test_handlers_run_in_threads(cluster, topic):
    handled: list[bytes] = []
    with reader(cluster, topic) as consumer:
        thread = threading.Thread(
            target=consumer.process, args=(lambda record: handled.append(record.value),)
        )
        thread.start()
        eventually(lambda: len(handled) == 3)
        consumer.wakeup()
        thread.join()
        assert consumer.stats().acknowledged == 3

    assert sorted(handled) == [b"a", b"b", b"c"]


def test_a_handler_that_returns_something_ends_process_and_costs_no_delivery(cluster, topic):
    calls: list[int] = []

    def handle(record: Any) -> str:
        calls.append(record.offset)
        return "done"

    with reader(cluster, topic) as consumer, pytest.raises(errors.StateError, match="not str"):
        consumer.process(handle, concurrency=1)

    assert len(calls) == 1
    with reader(cluster, topic) as other:
        assert values(other, 3) == [b"a", b"b", b"c"]
