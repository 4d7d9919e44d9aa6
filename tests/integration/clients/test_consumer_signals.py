"""A blocking consumer in a program that signals interrupt again and again."""

from __future__ import annotations

import gc
import itertools
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from pyk.clients import Consumer
from support.blocking_consuming import partitions, produce, reader
from support.garbage import without_garbage_collection
from support.interruptions import Interrupt, interrupted_at
from support.interrupts import handled_everywhere

INTERVALS = [0.0003 + 0.00007 * number for number in range(30)]


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Interrupt the block after a delay, at any point of its poll, and suppress the exception."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code is Consumer.poll.__code__:
                raise Interrupt
            frame = frame.f_back

    before = signal.signal(signal.SIGALRM, interrupt)
    with without_garbage_collection():
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
        except Interrupt:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_no_record_is_lost_or_repeated_when_polls_are_interrupted_anywhere(cluster, topic):
    # Opening a batch has to take less time than the intervals between the signals.
    produce(cluster, topic, 3000, batch_size=1000)
    polled = []
    with reader(cluster, topic, group_id=topic, max_poll_records=20) as consumer:
        consumer.poll(20, max_records=1)
        consumer.seek_to_beginning()
        for turn in range(3000):
            if sum(map(len, polled)) >= 3000:
                break
            with interrupted_after(INTERVALS[turn % len(INTERVALS)]):
                polled.append(consumer.poll(0.2))
        committed = consumer.committed(partitions(topic))

    read = sorted(int(record.value) for batch in polled for record in batch)
    assert read == list(range(3000))
    assert all(offset is None or offset.offset <= 1000 for offset in committed.values())


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_a_consumer_can_be_closed_again_after_a_close_that_was_interrupted_anywhere(cluster, topic):
    for number in itertools.count(1):
        consumer = reader(cluster, topic)
        consumer.start()
        with interrupted_at(number, "faces/consumer.py:_do", "engine/steps.py:run") as interruption:
            consumer.close()

        consumer.close()

        assert consumer._thread.is_closed
        if not interruption.is_over:
            break
    assert number > 6
    gc.collect()  # or what was interrupted would be found in another test, which allows none


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal")
def test_the_handler_of_a_signal_may_look_at_a_consumer_at_any_point_of_a_poll(cluster, topic):
    produce(cluster, topic, 900, batch_size=1000)
    polled = []

    def look() -> None:
        assert consumer.stats().assigned_partitions == 3
        assert len(consumer.health().partitions) == 3

    with reader(cluster, topic, group_id=topic, max_poll_records=3) as consumer:
        polled += consumer.poll(20)
        assert handled_everywhere(lambda: polled.extend(consumer.poll(20)), look) > 2

    assert len({(record.partition, record.offset) for record in polled}) == len(polled)
