"""What users of a blocking client get once its event loop does not work any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pyk.clients import Producer, ShareConsumer, StateError
from pyk.clients.engine.loop_drivers import MOST_FAILED_TURNS
from pyk.clients.engine.thread import LoopThread
from support.blocking_consuming import reader
from support.failing_turns import fail_turns
from support.real_time import IN_TIME, eventually


def end_loop(thread: LoopThread) -> None:
    """Let the loop fail until it is given up."""
    fail_turns(thread, MOST_FAILED_TURNS)
    assert thread.loop is not None
    thread.loop.poke()


def error_of(call: Callable[[], object]) -> BaseException | None:
    """Return what a call raises in another thread, within some time."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    calling = threading.Thread(target=run, daemon=True)
    calling.start()
    calling.join(IN_TIME)
    return raised[0] if raised else None


@pytest.fixture(params=["alone", "member", "share"])
def consumer(request: Any, cluster: Any, topic: str) -> Iterator[Any]:
    if request.param == "share":
        consumer: Any = ShareConsumer(cluster.bootstrap, topics=[topic], group_id=topic)
    else:
        group_id = topic if request.param == "member" else None
        consumer = reader(cluster, topic, group_id=group_id)
    consumer.poll(0)
    yield consumer
    consumer.close()


def check_failure(error: BaseException | None) -> None:
    """Check that this is why the loop has ended."""
    assert isinstance(error, StateError)
    assert "no more" in str(error)


@pytest.mark.parametrize("use", [next, lambda consumer: consumer.poll(None)])
def test_a_thread_that_waits_for_records_gets_the_failure(
    consumer: Any, use: Callable[[Any], object]
) -> None:
    threading.Timer(0.1, end_loop, (consumer._thread,)).start()

    check_failure(error_of(lambda: use(consumer)))


@pytest.mark.parametrize("consumer", ["member", "share"], indirect=True)
def test_a_thread_that_lets_records_be_handled_gets_the_failure(consumer: Any) -> None:
    threading.Timer(0.1, end_loop, (consumer._thread,)).start()

    check_failure(error_of(lambda: consumer.process(lambda record: None)))


def test_every_poll_after_a_failure_raises_it_and_the_health_shows_it(consumer: Any) -> None:
    end_loop(consumer._thread)
    eventually(lambda: not consumer._thread._thread.is_alive())

    for _ in range(2):
        for use in (next, lambda consumer: consumer.poll(0)):
            check_failure(error_of(lambda use=use: use(consumer)))
    assert "no more" in consumer.health().problems[0]
    assert not consumer.health().is_healthy


def test_a_delivery_and_later_sends_get_the_failure(cluster: Any, topic: str) -> None:
    with Producer[bytes, bytes](cluster.bootstrap, linger_ms=60_000) as producer:
        delivery = producer.send(topic, b"never")
        end_loop(producer._thread)

        check_failure(delivery.exception(IN_TIME))
        check_failure(error_of(lambda: producer.send(topic, b"neither")))
        check_failure(error_of(producer.flush))
