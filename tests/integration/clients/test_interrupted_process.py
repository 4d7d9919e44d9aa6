"""Ctrl-C while ``Consumer.process`` begins and ends."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
from typing import Any

import pytest

from pyk.clients import Consumer, Producer, ShareConsumer
from pyk.clients.consumer.buffer.read_buffer import PROCESS_ENDS
from pyk.clients.errors import WakeupError
from pyk.clients.processing.options import HandlerOptions
from pyk.clients.processing.session import HandlerSession
from pyk.clients.processing.thread_driver import ThreadRunner
from support.blocking_consuming import produce, read, reader
from support.interrupts import interrupted_everywhere
from support.real_time import IN_TIME, eventually


def test_a_call_that_is_interrupted_while_its_handlers_finish_gives_back_what_they_have(
    cluster, topic
):
    produce(cluster, topic, 30)
    began, may_return = threading.Event(), threading.Event()

    def hang(record: Any) -> None:
        if (record.partition, record.offset) == (1, 2):
            began.set()
            may_return.wait(IN_TIME)

    with reader(cluster, topic, group_id=topic) as consumer:

        def interrupt() -> None:
            assert began.wait(IN_TIME)
            jobs = consumer._handlers._jobs  # type: ignore[union-attr]
            consumer.wakeup()
            eventually(lambda: jobs.is_stopping)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                consumer.process(hang)
        finally:
            may_return.set()
            interrupting.join()
        handled: list[int] = []

        def handle(record: Any) -> None:
            if record.partition == 1:
                handled.append(record.offset)
            if len(handled) == 8:
                consumer.wakeup()

        giving_up = threading.Timer(IN_TIME, consumer.wakeup)
        giving_up.start()
        consumer.process(handle)
        giving_up.cancel()

    assert handled == [2, 3, 4, 5, 6, 7, 8, 9]


def options_of(consumer: Consumer[Any, Any], handler: Any, **options: Any) -> HandlerOptions:
    """Return what ``consumer.process`` makes of its arguments."""
    config = consumer._core.config
    return HandlerOptions.checked(handler, deadline=None, kind=Producer, config=config, **options)


def test_a_second_handler_that_fails_before_an_interruption_ends_no_later_poll(cluster, topic):
    produce(cluster, topic, 3)
    polls_have_ended, may_return = threading.Event(), threading.Event()
    all_began = threading.Barrier(3)

    class Runner(ThreadRunner):
        def _stop_workers(self, patience: float) -> None:
            polls_have_ended.set()
            super()._stop_workers(patience)

    def fail(record: Any) -> None:
        all_began.wait(IN_TIME)
        if record.value > 0:
            assert polls_have_ended.wait(IN_TIME)
        if record.value == 2:
            eventually(lambda: bool(consumer._core.buffer.attention & PROCESS_ENDS))
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            may_return.wait(IN_TIME)
            return
        raise ValueError(record.value)

    with reader(cluster, topic, group_id=topic, value_deserializer=int) as consumer:
        options = options_of(consumer, fail, concurrency=3, ordering="none")
        with pytest.raises(KeyboardInterrupt):
            Runner(consumer, options).run()
        may_return.set()

        assert sorted(read(consumer, 3)) == [0, 1, 2]


class InterruptedSession(HandlerSession):
    """A session whose program is interrupted in the instant when it has begun."""

    async def begin(self) -> None:
        await super().begin()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_a_call_that_is_interrupted_as_it_has_begun_leaves_the_consumer_as_it_was(cluster, topic):
    produce(cluster, topic, 3)
    with reader(cluster, topic, group_id=topic, value_deserializer=int) as consumer:
        options = options_of(consumer, print, concurrency=1, ordering="partition")
        with pytest.raises(KeyboardInterrupt):
            ThreadRunner(consumer, options, InterruptedSession).run()

        assert sorted(read(consumer, 3)) == [0, 1, 2]


def is_as_it_was(consumer: Consumer[Any, Any] | ShareConsumer[Any, Any]) -> bool:
    """Return whether nothing of a ``process()`` is left, and forget a wakeup that is left."""
    core: Any = consumer._core
    with contextlib.suppress(WakeupError):
        consumer.poll(0)
    calls = getattr(core, "position_calls", None)
    return (
        consumer._processor is None
        and consumer._handlers is None
        and (calls is None or (calls.handled is None and core.group.progress.handled is None))
    )


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of weak references
@pytest.mark.parametrize("kind", [Consumer, ShareConsumer])
def test_a_call_that_is_interrupted_anywhere_leaves_nothing_behind(cluster, topic, kind):
    with kind(cluster.bootstrap, topics=[topic], group_id=f"{topic}-{kind.__name__}") as consumer:

        def process() -> None:
            consumer.wakeup()
            consumer.process(print)

        consumer.poll(0)
        process()  # imports what it needs, or all that imports do would be interrupted, too
        left: list[int] = []
        points = interrupted_everywhere(process, lambda _: left.append(not is_as_it_was(consumer)))

        assert points > 10, points
        assert [number for number, is_left in enumerate(left, 1) if is_left] == []
        process()
    gc.collect()  # or what was interrupted would be found in another test, which allows none
