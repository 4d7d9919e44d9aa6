"""The blocking consumer with threads, signals and forks, and how it is closed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from types import FrameType
from typing import Any

import pytest

from pyk.clients import (
    ClosedError,
    ConcurrentUseError,
    KafkaTimeoutError,
    RebalanceListener,
    TopicPartition,
    WakeupError,
)
from support.blocking_consuming import partitions, produce, read, reader
from support.forks import refused_in_a_fork
from support.real_time import (
    IN_TIME,
    called_by_many_threads,
    eventually,
    left_open_by,
    took,
)


def test_a_poll_returns_at_its_timeout_or_earlier_with_records(cluster, topic):
    with reader(cluster, topic) as consumer:
        assert 0.2 <= took(lambda: consumer.poll(0.2)) < IN_TIME
        assert took(lambda: consumer.poll(0)) < IN_TIME
        threading.Timer(0.2, produce, (cluster, topic, 1)).start()
        assert took(lambda: read(consumer, 1)) < IN_TIME


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


def test_a_thread_that_looks_while_the_first_poll_begins_takes_nothing_back(cluster, topic):
    produce(cluster, topic, 3)
    polls, may_go_on, values = threading.Event(), threading.Event(), []

    def deserialize(value: bytes) -> bytes:
        polls.set()
        may_go_on.wait(20)
        return value

    def poll_meanwhile(frame: FrameType, event: str, _: object) -> Any:
        """Let another thread poll once this one has found out that none does."""
        if frame.f_code.co_name != "_leave_interrupted_poll":
            return None
        if event == "line" and frame.f_lineno > frame.f_code.co_firstlineno + 2:
            polling.start()
            polls.wait(20)
            return None
        return poll_meanwhile

    with reader(cluster, topic, value_deserializer=deserialize) as consumer:
        polling = threading.Thread(target=lambda: values.extend(read(consumer, 3)))
        sys.settrace(poll_meanwhile)
        try:
            consumer.lag()
        finally:
            sys.settrace(None)
        may_go_on.set()
        if polling.ident is None:
            polling.start()
        polling.join(20)

        assert sorted(values) == [b"0", b"1", b"2"]
        assert consumer.poll(0.5) == ()


def test_wakeup_ends_a_poll_of_another_thread(cluster, topic):
    with reader(cluster, topic) as consumer:
        threading.Timer(0.2, consumer.wakeup).start()
        before = time.monotonic()
        with pytest.raises(WakeupError):
            consumer.poll(30)
        assert time.monotonic() - before < IN_TIME

        consumer.poll(0)


def test_another_thread_can_close_a_consumer_that_polls(cluster, topic):
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


def test_a_second_thread_that_closes_a_consumer_waits_for_the_first(cluster, topic):
    closes, may_go_on, outcomes = threading.Event(), threading.Event(), []

    class Listener(RebalanceListener):
        def on_partitions_revoked(self, partitions):
            closes.set()
            may_go_on.wait(20)

    def close() -> None:
        outcomes.append(consumer.close())

    produce(cluster, topic, 3)
    consumer = reader(cluster, group_id=topic)
    consumer.subscribe([topic], listener=Listener())
    read(consumer, 3)
    threads = [threading.Thread(target=close) for _ in range(3)]
    threads[0].start()
    closes.wait(20)
    assert took(lambda: consumer.close(0.1)) < IN_TIME
    for thread in threads[1:]:
        thread.start()
    assert outcomes == []
    may_go_on.set()
    for thread in threads:
        thread.join(20)

    assert outcomes == [None] * 3
    with pytest.raises(ClosedError):
        consumer.poll(0)


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
def test_a_forked_child_cannot_use_the_consumer_of_its_parent(cluster, topic):
    produce(cluster, topic, 30)
    with reader(cluster, topic) as consumer:
        next(consumer)

        uses = (lambda: next(consumer), consumer.poll, consumer.lag)
        assert refused_in_a_fork(consumer, *uses) == 3
        assert len(read(consumer, 29)) == 29


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_is_refused_although_a_thread_was_inside_the_consumer(cluster, topic):
    is_inside, may_leave = threading.Event(), threading.Event()

    def call() -> None:
        with consumer._use:
            is_inside.set()
            may_leave.wait(IN_TIME)

    with reader(cluster, topic, group_id=topic) as consumer:
        calling = threading.Thread(target=call)
        calling.start()
        is_inside.wait(IN_TIME)

        uses = (
            lambda: next(consumer),
            consumer.poll,
            consumer.commit,
            consumer.seek_to_end,
            consumer.lag,
            lambda: consumer.process(print),
        )
        assert refused_in_a_fork(consumer, *uses) == len(uses)
        may_leave.set()
        calling.join(IN_TIME)


def test_threads_that_use_a_consumer_while_it_is_closed_get_typed_errors(cluster, topic):
    produce(cluster, topic, 300)
    with reader(cluster, topic, group_id=topic) as consumer:
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
        with called_by_many_threads(calls, turns=100) as surprises:
            time.sleep(0.3)
            consumer.close(2)

    assert surprises == []


def test_a_closed_consumer_leaves_no_threads_and_no_sockets(cluster, topic):
    def use() -> None:
        with reader(cluster, topic, group_id=topic) as consumer:
            consumer.poll(0.1)

    assert left_open_by(use, times=10) == (0, 0)


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


@pytest.fixture
def hasty_interpreter() -> Iterator[None]:
    """Switch between threads a thousand times as often as by default, to find races."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty_interpreter")
def test_the_assignment_can_change_while_positions_and_records_are_fetched(cluster, topic):
    produce(cluster, topic, 300)
    everything = partitions(topic)
    with reader(cluster, max_poll_records=20) as consumer:
        for turn in range(300):
            consumer.assign(everything[turn % 3 :])
            if turn % 5 == 0:
                consumer.seek_to_beginning()
            if turn % 4 == 0:
                consumer.poll(0.001)
            if turn % 7 == 0:
                consumer.pause(everything[2])
                consumer.resume(everything[2])

        consumer.assign(everything)
        consumer.seek_to_beginning()
        assert sorted(map(int, read(consumer, 300, timeout=60))) == list(range(300))
        assert consumer.health().is_healthy


@pytest.mark.usefixtures("hasty_interpreter")
def test_any_thread_can_read_the_state_of_a_consumer_while_its_assignment_changes(cluster, topic):
    produce(cluster, topic, 30)
    everything = partitions(topic)
    with reader(cluster) as consumer:
        consumer.assign(everything)
        calls = [consumer.stats, consumer.health, consumer.assignment, consumer.subscription]
        with called_by_many_threads(calls, turns=100) as surprises:
            for turn in range(100):
                consumer.assign(everything[turn % 3 :])

    assert surprises == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.usefixtures("hasty_interpreter")
def test_any_thread_can_look_at_a_member_that_polls_rebalances_and_closes(cluster, topic, protocol):
    produce(cluster, topic, 300)
    options = {"group_id": topic, "group_protocol": protocol}

    def poll() -> None:
        with contextlib.suppress(ClosedError):
            for _ in consumer:
                pass

    def share() -> None:
        for _ in range(3):
            with reader(cluster, topic, **options) as other:
                eventually(lambda: other.poll(0.1) is not None and bool(other.assignment()))

    answers = Answers()
    consumer = reader(cluster, topic, max_poll_records=5, **options)
    threads = [threading.Thread(target=each) for each in (poll, share)]
    calls = [
        answers.of(lambda: consumer.lag(timeout=1), whole),
        answers.of(consumer.health, lambda health: whole(health.partitions)),
        answers.of(consumer.stats, lambda stats: 0 <= stats.assigned_partitions <= 3),
        answers.of(lambda: consumer.partitions_for(topic, timeout=1), {0, 1, 2}.__eq__),
        answers.of(consumer.assignment, whole),
        answers.of(consumer.group_metadata, lambda metadata: metadata.group_id == topic),
    ]
    with called_by_many_threads(calls) as surprises:
        for thread in threads:
            thread.start()
        threads[1].join(60)
        consumer.close(5)
        threads[0].join(20)

    assert surprises == []
    assert answers.odd == []
    assert {ClosedError} <= answers.errors <= {ClosedError, ConcurrentUseError, KafkaTimeoutError}
    assert not any(thread.is_alive() for thread in threads)


class Answers:
    """What calls of many threads returned or raised."""

    def __init__(self) -> None:
        self.odd: list[object] = []
        self.errors: set[type[BaseException]] = set()

    def of(self, call: Callable[[], Any], makes_sense: Callable[[Any], bool]) -> Callable[[], None]:
        """Return the call, which remembers an answer that makes no sense."""

        def remembered() -> None:
            try:
                answer = call()
            except BaseException as error:
                self.errors.add(type(error))
                raise
            if not makes_sense(answer):
                self.odd.append(answer)

        return remembered


def whole(partitions: Collection[TopicPartition]) -> bool:
    """Return whether these are partitions of the topic of a test."""
    return {partition.partition for partition in partitions} <= {0, 1, 2}


@pytest.mark.usefixtures("hasty_interpreter")
def test_records_are_read_in_order_and_once_while_partitions_are_paused_and_resumed(cluster, topic):
    produce(cluster, topic, 600)
    seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
    with reader(cluster, topic, max_poll_records=7) as consumer:
        for count, record in enumerate(consumer, 1):
            seen[record.partition].append(record.offset)
            if count % 11 == 0:
                consumer.pause((topic, count % 3))
            if count % 11 == 5:
                consumer.resume(*consumer.paused())
            if count == 450:
                break
        consumer.resume(*consumer.paused())
        while sum(map(len, seen.values())) < 600:
            for record in consumer.poll(5):
                seen[record.partition].append(record.offset)

    assert list(seen.values()) == [list(range(200))] * 3


def test_a_consumer_that_is_dropped_leaves_its_group_and_ends_its_thread(cluster, topic):
    produce(cluster, topic, 30)
    dropped = reader(cluster, topic, group_id=topic)
    read(dropped, 30)
    dropped.poll(0)
    background = dropped._thread._thread
    assert background is not None

    with pytest.warns(ResourceWarning, match=r"was dropped without close\(\)"):
        del dropped
    eventually(lambda: not background.is_alive())

    with reader(cluster, topic, group_id=topic) as other:
        eventually(lambda: other.poll(0.1) == [] and len(other.assignment()) == 3)
        assert [p.offset for p in other.committed(partitions(topic)).values()] == [10, 10, 10]


def test_a_consumer_works_without_a_with_statement(cluster, topic):
    produce(cluster, topic, 30)

    consumer = reader(cluster, group_id=topic)
    consumer.subscribe([topic])
    assert len(read(consumer, 30)) == 30
    consumer.commit()
    consumer.close()

    consumer = reader(cluster, group_id=topic)
    committed = consumer.committed(partitions(topic))
    consumer.close()
    assert [offset.offset for offset in committed.values()] == [10, 10, 10]


@pytest.mark.parametrize("inner", ["close", "unsubscribe"])
@pytest.mark.parametrize("outer", ["close", "unsubscribe"])
def test_a_listener_may_close_a_consumer_that_is_closed(cluster, topic, outer, inner):
    revoked = []

    class Listener(RebalanceListener):
        def on_partitions_revoked(self, partitions):
            revoked.append(len(partitions))
            getattr(consumer, inner)()

    produce(cluster, topic, 3)
    consumer = reader(cluster, group_id=f"{topic}-{outer}-{inner}")
    consumer.subscribe([topic], listener=Listener())
    read(consumer, 3)

    getattr(consumer, outer)()
    consumer.close()

    assert revoked == [3]


def test_a_callback_of_a_commit_may_close_a_consumer_that_is_closed(cluster, topic):
    told = []

    def close(offsets, error):
        told.append(error)
        consumer.close()

    produce(cluster, topic, 3)
    consumer = reader(cluster, topic, group_id=topic)
    read(consumer, 3)
    consumer.commit_async(None, close)

    consumer.close()

    assert told == [None]
