"""The blocking and the asyncio consumer over real sockets: threads, waits, signals, forks."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyk.clients import (
    AsyncConsumer,
    BootstrapError,
    ClosedError,
    ConcurrentUseError,
    ConfigurationError,
    Consumer,
    CorruptRecordError,
    DeserializationError,
    ForkedClientError,
    KafkaError,
    KafkaTimeoutError,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    StateError,
    TopicPartition,
    WakeupError,
)
from pyk.reference_broker import Cluster

# Far below every default timeout, far above what a busy machine takes: it did not hang.
IN_TIME = 8

_numbers = itertools.count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    name = f"{request.node.originalname}-{next(_numbers)}"
    cluster.create_topic(name, partitions=3)
    return name


def produce(cluster, topic, count, **options) -> None:
    """Write values 0, 1, 2 … to the three partitions in turn."""
    with Producer(cluster.bootstrap, **options) as producer:
        for n in range(count):
            producer.send(topic, b"%d" % n, b"key %d" % n, partition=n % 3)


def partitions(topic):
    return [TopicPartition(topic, number) for number in range(3)]


def reader(cluster, topic=None, **options) -> Consumer:
    options.setdefault("auto_offset_reset", "earliest")
    return Consumer(cluster.bootstrap, topics=None if topic is None else [topic], **options)


def read(consumer, count, timeout=20.0):
    """Return the values of so many records."""
    values = []
    deadline = time.monotonic() + timeout
    while len(values) < count:
        assert time.monotonic() < deadline, f"{len(values)} of {count} records came"
        values += [record.value for record in consumer.poll(0.2)]
    return values


def took(function) -> float:
    before = time.monotonic()
    function()
    return time.monotonic() - before


def test_the_topics_of_the_constructor_are_read_without_a_group(cluster, topic):
    produce(cluster, topic, 300)

    with reader(cluster, topic) as consumer:
        values = read(consumer, 300)
        assert consumer.assignment() == set(partitions(topic))
        assert consumer.subscription() == {topic}

    assert sorted(values, key=int) == [b"%d" % n for n in range(300)]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read(cluster, topic, compression):
    produce(cluster, topic, 600, compression_type=compression)

    with reader(cluster, topic) as consumer:
        assert sorted(read(consumer, 600), key=int) == [b"%d" % n for n in range(600)]


def test_iteration_commits_what_the_loop_body_finished(cluster, topic):
    produce(cluster, topic, 300)
    seen = []

    def fail_at_the_hundredth() -> None:
        with reader(cluster, topic, group_id=topic) as consumer:
            for record in consumer:
                seen.append(record.value)
                if len(seen) == 100:
                    raise RuntimeError("this one is not finished")

    with pytest.raises(RuntimeError):
        fail_at_the_hundredth()
    with reader(cluster, topic, group_id=topic) as consumer:
        rest = read(consumer, 201)

    assert sorted(seen[:-1] + rest, key=int) == [b"%d" % n for n in range(300)]
    assert seen[-1] in rest


def test_leaving_a_loop_with_break_finishes_its_last_record(cluster, topic):
    produce(cluster, topic, 30)
    seen = []

    with reader(cluster, topic, group_id=topic) as consumer:
        for record in consumer:
            seen.append(record.value)
            if len(seen) == 10:
                break
    with reader(cluster, topic, group_id=topic) as consumer:
        seen += read(consumer, 20)

    assert sorted(seen, key=int) == [b"%d" % n for n in range(30)]


def test_close_in_a_finally_block_does_not_finish_the_record_that_failed(cluster, topic):
    produce(cluster, topic, 3)
    consumer = reader(cluster, topic, group_id=topic)

    def fail() -> None:
        try:
            for record in consumer:
                raise RuntimeError(record.value)
        finally:
            consumer.close()

    with pytest.raises(RuntimeError):
        fail()

    with reader(cluster, topic, group_id=topic) as again:
        assert len(read(again, 3)) == 3


def test_positions_can_be_set_and_asked_for(cluster, topic):
    produce(cluster, topic, 30)
    first, second, third = partitions(topic)

    with reader(cluster) as consumer:
        consumer.assign(partitions(topic))
        assert consumer.position(first) == 0
        consumer.seek(first, 7)
        consumer.seek_to_end(second)
        consumer.pause(third)
        assert consumer.paused() == {third}
        assert consumer.position(second) == 10
        assert sorted(read(consumer, 3)) == [b"21", b"24", b"27"]
        assert consumer.position(first) == 10
        consumer.resume(third)
        assert len(read(consumer, 10)) == 10
        consumer.seek_to_beginning()
        assert len(read(consumer, 30)) == 30
        assert consumer.lag() == dict.fromkeys(partitions(topic), 0)
        assert consumer.health().is_healthy
        assert consumer.stats().records == 43


def test_offsets_are_found_at_the_ends_and_by_time(cluster, topic):
    with Producer(cluster.bootstrap) as producer:
        for second in range(5):
            producer.send(topic, b"x", partition=0, timestamp_ms=1_000_000 + second * 1000)
    first, second, _ = partitions(topic)

    with reader(cluster) as consumer:
        assert consumer.beginning_offsets([first, second]) == {first: 0, second: 0}
        assert consumer.end_offsets([first, second]) == {first: 5, second: 0}
        found = consumer.offsets_for_times({first: 1_002_500, second: 0})
        assert found[first] is not None
        assert (found[first].offset, found[first].timestamp) == (3, 1_003_000)
        assert found[second] is None


def test_offsets_are_committed_in_every_form(cluster, topic):
    produce(cluster, topic, 30)
    first, second, third = partitions(topic)

    with reader(cluster, group_id=topic, enable_auto_commit=False) as consumer:
        consumer.assign([first])
        batch = consumer.poll(5, max_records=4)
        consumer.commit(batch[1])
        assert consumer.committed([first]) == {first: OffsetAndMetadata(2, "", 0)}
        consumer.commit(batch)
        assert consumer.committed([first]) == {first: OffsetAndMetadata(4, "", 0)}
        consumer.commit({second: 5, third: OffsetAndMetadata(6, "note")})
        assert consumer.committed([second, third]) == {
            second: OffsetAndMetadata(5),
            third: OffsetAndMetadata(6, "note"),
        }
        consumer.poll(5, max_records=3)
        consumer.commit()
        assert consumer.committed([first]) == {first: OffsetAndMetadata(7, "", 0)}


def test_deserializers_make_values_and_name_the_record_they_refuse(cluster, topic):
    class Shout:
        def deserialize(self, topic: str, data: bytes) -> str:
            return f"{topic}: {data.decode().upper()}"

    def number(data: bytes) -> int:
        if data == b"4":
            raise ValueError("no four")
        return int(data)

    produce(cluster, topic, 9)
    partition = TopicPartition(topic, 1)  # holds 1, 4 and 7
    with reader(cluster, key_deserializer=Shout(), value_deserializer=number) as consumer:
        consumer.assign([partition])
        batch = consumer.poll(5)
        assert [(record.key, record.value) for record in batch] == [(f"{topic}: KEY 1", 1)]
        with pytest.raises(DeserializationError) as caught:
            consumer.poll(5)
        assert (caught.value.topic_partition, caught.value.offset) == (partition, 1)
        with pytest.raises(DeserializationError):
            next(consumer)
        consumer.seek(partition, caught.value.offset + 1)
        assert next(consumer).value == 7


def test_a_deserializer_must_be_one(cluster):
    with pytest.raises(ConfigurationError, match="value_deserializer must be a callable"):
        Consumer(cluster.bootstrap, value_deserializer=5)


def test_records_become_arrow_tables(cluster, topic):
    produce(cluster, topic, 30)

    with reader(cluster, topic) as consumer:
        rows = []
        while len(rows) < 30:
            rows += consumer.poll(5, max_records=1000).to_arrow(["partition", "value"]).to_pylist()

    assert sorted((row["partition"], int(row["value"])) for row in rows) == sorted(
        (n % 3, n) for n in range(30)
    )


def test_a_poll_returns_when_its_time_is_over_or_sooner_with_records(cluster, topic):
    with reader(cluster, topic) as consumer:
        assert 0.2 <= took(lambda: consumer.poll(0.2)) < IN_TIME
        assert took(lambda: consumer.poll(0)) < IN_TIME
        threading.Timer(0.2, produce, (cluster, topic, 1)).start()
        assert took(lambda: read(consumer, 1)) < IN_TIME


def test_misuse_is_named(cluster, topic):
    with reader(cluster) as consumer:
        with pytest.raises(StateError, match="not assigned"):
            consumer.seek((topic, 0), 1)
        with pytest.raises(StateError, match="without a group"):
            consumer.commit()
        with pytest.raises(ValueError, match="at least one record"):
            consumer.poll(max_records=0)
        consumer.assign([(topic, 0)])
        with pytest.raises(StateError, match="call unsubscribe"):
            consumer.subscribe([topic])
        with pytest.raises(ValueError, match="cannot seek"):
            consumer.seek((topic, 0), -1)
    with pytest.raises(ClosedError):
        consumer.poll()
    with pytest.raises(ConfigurationError, match="group_protocol"):
        Consumer(cluster.bootstrap, group_protocol="consumer")


def test_properties_configure_a_consumer(cluster, topic):
    produce(cluster, topic, 3)
    properties = {
        "bootstrap.servers": cluster.bootstrap,
        "auto.offset.reset": "earliest",
        "max.poll.records": "2",
    }

    with Consumer.from_properties(properties, topics=[topic], client_id="mine") as consumer:
        assert len(consumer.poll(5)) <= 2


def test_a_consumer_connects_by_itself_when_it_is_first_used(cluster, topic):
    produce(cluster, topic, 3)

    consumer = reader(cluster, topic)
    assert len(read(consumer, 3)) == 3
    consumer.close()
    consumer.close()


def test_nobody_home_is_one_error_soon():
    before = time.monotonic()

    with pytest.raises(BootstrapError, match=r"127\.0\.0\.1:1"), Consumer("127.0.0.1:1"):
        pass

    assert time.monotonic() - before < IN_TIME


def test_listeners_run_in_the_thread_that_polls(cluster, topic):
    seen = []

    class Listener(RebalanceListener):
        def on_partitions_assigned(self, partitions):
            seen.append(("assigned", threading.current_thread(), len(partitions)))
            for partition in partitions:
                consumer.seek(partition, 5)

        def on_partitions_revoked(self, partitions):
            seen.append(("revoked", threading.current_thread(), len(partitions)))
            consumer.commit()

    produce(cluster, topic, 30)
    with reader(cluster, group_id=topic, enable_auto_commit=False) as consumer:
        consumer.subscribe([topic], listener=Listener())
        read(consumer, 15)
        consumer.unsubscribe()
        assert {p.offset for p in consumer.committed(partitions(topic)).values()} == {10}

    here = threading.current_thread()
    assert seen == [("assigned", here, 3), ("revoked", here, 3)]


def test_two_threads_cannot_use_a_consumer_at_once(cluster, topic):
    with reader(cluster, topic) as consumer:
        polling = threading.Thread(target=consumer.poll, args=(1.0,))
        polling.start()
        time.sleep(0.3)

        for use in (consumer.poll, lambda: next(consumer), lambda: consumer.pause((topic, 0))):
            with pytest.raises(ConcurrentUseError):
                use()
        consumer.health()
        consumer.stats()
        polling.join()
        consumer.poll(0)


def test_wakeup_ends_a_poll_of_another_thread(cluster, topic):
    with reader(cluster, topic) as consumer:
        threading.Timer(0.2, consumer.wakeup).start()
        before = time.monotonic()
        with pytest.raises(WakeupError):
            consumer.poll(30)
        assert time.monotonic() - before < IN_TIME

        consumer.poll(0)


def test_another_thread_may_close_a_consumer_that_polls(cluster, topic):
    consumer = reader(cluster, topic, group_id=topic)
    outcome = []

    def poll() -> None:
        try:
            for _ in consumer:
                pass
        except ClosedError:
            outcome.append("closed")

    polling = threading.Thread(target=poll)
    polling.start()
    time.sleep(0.5)
    assert took(lambda: consumer.close(5)) < IN_TIME
    polling.join(5)

    assert outcome == ["closed"]


def test_ctrl_c_ends_a_wait_and_leaves_the_consumer_usable(cluster, topic):
    main = threading.main_thread().ident
    with reader(cluster, topic) as consumer:
        for wait in (lambda: consumer.poll(30), lambda: next(consumer)):
            threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                wait()
        produce(cluster, topic, 3)
        assert len(read(consumer, 3)) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_is_told_that_the_consumer_is_not_its_own(cluster, topic):
    produce(cluster, topic, 30)
    with reader(cluster, topic) as consumer:
        next(consumer)
        child = os.fork()
        if child == 0:
            refused = 0
            for use in (lambda: next(consumer), consumer.poll, consumer.lag):
                try:
                    use()
                except ForkedClientError:
                    refused += 1
            consumer.close()
            os._exit(0 if refused == 3 else 1)
        _, status = os.waitpid(child, 0)

        assert os.waitstatus_to_exitcode(status) == 0
        assert len(read(consumer, 29)) == 29


def test_calls_end_in_time_when_the_broker_is_gone(tmp_path: Path):
    with Cluster(data_dir=tmp_path) as cluster:
        cluster.create_topic("orders", partitions=3)
        produce(cluster, "orders", 30)
        consumer = reader(cluster, "orders", group_id="g")
        read(consumer, 30)
        cluster.kill()

        assert took(lambda: consumer.poll(0.3)) < IN_TIME
        for call in (
            lambda: consumer.commit(timeout=0.3),
            lambda: consumer.end_offsets(partitions("orders"), timeout=0.3),
            lambda: consumer.committed(partitions("orders"), timeout=0.3),
        ):
            before = time.monotonic()
            with pytest.raises(KafkaTimeoutError):
                call()
            assert time.monotonic() - before < IN_TIME
        assert took(lambda: consumer.close(1)) < IN_TIME


def test_a_restarted_broker_is_read_on_from(tmp_path: Path):
    with Cluster(data_dir=tmp_path) as cluster:
        cluster.create_topic("orders", partitions=3)
        produce(cluster, "orders", 30)
        with reader(cluster, "orders", group_id="g") as consumer:
            assert len(read(consumer, 30)) == 30
            cluster.kill()
            cluster.start()
            produce(cluster, "orders", 30)
            assert len(read(consumer, 30)) >= 30


def test_damaged_records_are_raised_and_can_be_passed_over(cluster, topic):
    with Producer(cluster.bootstrap, linger_ms=0) as producer:
        for n in range(3):
            producer.send_and_wait(topic, b"value %d" % n, partition=0)
    partition = TopicPartition(topic, 0)

    with reader(cluster) as consumer, cluster.faults.on("Fetch").corrupt(-8):
        consumer.assign([partition])
        assert [record.value for record in consumer.poll(5)] == [b"value 0", b"value 1"]
        for _ in range(2):
            with pytest.raises(CorruptRecordError) as caught:
                consumer.poll(5)
        assert caught.value.offset == consumer.position(partition) == 2
    with reader(cluster) as consumer:
        consumer.assign([partition])
        assert len(read(consumer, 3)) == 3


def test_threads_that_use_a_consumer_while_it_is_closed_get_typed_errors(cluster, topic):
    produce(cluster, topic, 300)
    surprises: list[BaseException] = []
    with reader(cluster, topic, group_id=topic) as consumer:

        def use(number: int) -> None:
            calls = [
                lambda: consumer.poll(0.01),
                lambda: next(consumer),
                lambda: consumer.commit(timeout=1),
                lambda: consumer.lag(timeout=1),
                consumer.seek_to_beginning,
                consumer.health,
                consumer.stats,
                consumer.assignment,
            ]
            for turn in range(100):
                try:
                    calls[(number + turn) % len(calls)]()
                except KafkaError:
                    pass
                except BaseException as error:
                    surprises.append(error)

        threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        consumer.close(2)
        for thread in threads:
            thread.join(20)

    assert surprises == []
    assert not any(thread.is_alive() for thread in threads)


def test_a_closed_consumer_leaves_no_threads_and_no_sockets(cluster, topic):
    def held() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    with reader(cluster, topic, group_id=topic) as consumer:
        consumer.poll(0.1)
    time.sleep(0.1)
    before = held()
    for _ in range(10):
        with reader(cluster, topic, group_id=topic) as consumer:
            consumer.poll(0.1)
    deadline = time.monotonic() + 5
    while held() > before and time.monotonic() < deadline:
        time.sleep(0.05)

    assert held() <= before


FORGETFUL = """
import sys
from pyk.clients import Consumer

consumer = Consumer(sys.argv[1], topics=[sys.argv[2]], auto_offset_reset="earliest")
print(len(consumer.poll(10)))
"""


def test_a_program_that_forgets_to_close_its_consumer_ends(cluster, topic):
    produce(cluster, topic, 3)
    program = [sys.executable, "-c", FORGETFUL, cluster.bootstrap, topic]

    done = subprocess.run(program, capture_output=True, text=True, timeout=20, check=True)

    assert int(done.stdout) > 0
    assert done.stderr == ""


async def test_the_asyncio_consumer_is_the_same_awaited(cluster, topic):
    await asyncio.to_thread(produce, cluster, topic, 300)
    first, *_ = partitions(topic)
    seen = []

    consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
        cluster.bootstrap, topics=[topic], group_id=topic, auto_offset_reset="earliest"
    )
    async with consumer:
        async for record in consumer:
            seen.append(record.value)
            if len(seen) == 100:
                break
        await consumer.commit()
        committed = await consumer.committed(partitions(topic))
        assert sum(offset.offset for offset in committed.values() if offset) == 100
        while len(seen) < 300:
            seen += [record.value for record in await consumer.poll(5)]
        await consumer.seek(first, 0)
        assert (await anext(consumer)).offset == 0
        assert await consumer.position(first) == 1
        assert (await consumer.lag())[first] == 99

    assert sorted(seen, key=int) == [b"%d" % n for n in range(300)]


async def test_other_tasks_run_while_records_are_at_hand(cluster, topic):
    await asyncio.to_thread(produce, cluster, topic, 3000)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    async with AsyncConsumer(
        cluster.bootstrap, topics=[topic], auto_offset_reset="earliest", max_poll_records=100
    ) as consumer:
        await anext(consumer)
        await asyncio.sleep(0.5)
        turns, read_so_far = 0, 0
        async for _ in consumer:
            read_so_far += 1
            if read_so_far == 2000:
                break
    counting.cancel()

    assert turns >= 15


async def test_two_tasks_cannot_use_a_consumer_at_once(cluster, topic):
    async with AsyncConsumer(cluster.bootstrap, topics=[topic]) as consumer:
        polling = asyncio.create_task(consumer.poll(1))
        await asyncio.sleep(0.1)

        with pytest.raises(ConcurrentUseError):
            await consumer.poll(0)
        await polling


async def test_a_task_that_waits_for_a_record_can_be_cancelled(cluster, topic):
    async with AsyncConsumer(cluster.bootstrap, topics=[topic]) as consumer:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(consumer), 0.2)
        await asyncio.to_thread(produce, cluster, topic, 3)
        assert (await asyncio.wait_for(anext(consumer), 5)).value in (b"0", b"1", b"2")
