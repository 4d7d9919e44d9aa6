"""Handlers are watched while ``process()`` runs, and not after it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyk.clients import TopicPartition
from pyk.clients.consumer import ConsumerRecord
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.handler_watch import HandlerWatch
from pyk.runtime.supervisor import Supervisor
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.guarded_jobs import GuardedJobs

LIMIT = 20.0
INTERVAL = LIMIT / 10


class Watched:
    """A consumer with one job that runs, and the watch of its handlers."""

    def __init__(self) -> None:
        clock, jobs = current_clock(), GuardedJobs()
        self.supervisor = Supervisor(clock)
        client = SimpleNamespace(clock=clock, supervisor=self.supervisor)
        self.core = SimpleNamespace(client=client, long_calls=None)
        self.looks: list[float] = []
        jobs.add(jobs.begin(Assignment(TopicPartition("orders", 0))), [record(7)])
        assert jobs.next() is not None
        self.watch = HandlerWatch(
            cast(Any, self.core), jobs, jobs.lock, LIMIT, lambda: self.looks.append(clock.now())
        )

    def problems(self) -> tuple[str, ...]:
        assert self.core.long_calls is not None
        return self.core.long_calls(current_clock().now())


def record(offset: int) -> ConsumerRecord[bytes, bytes]:
    return ConsumerRecord("orders", 0, offset)


@virtual_time
async def test_a_call_that_does_not_return_is_told_once_and_shows_in_health(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watched = Watched()
    watched.watch.start()
    await asyncio.sleep(LIMIT)
    assert watched.problems() == ()
    await asyncio.sleep(5 * INTERVAL)

    what = "the handler of the record of orders-0 at offset 7, attempt 0 has not returned for"
    assert watched.problems() == (f"{what} 28 s",)
    assert caplog.messages == [f"A handler hangs, or takes long: {what} 20 s"]
    await watched.supervisor.close(0)


@virtual_time
async def test_each_look_is_one_for_others_too_until_the_watch_stops() -> None:
    watched = Watched()
    began = current_clock().now()
    watched.watch.start()
    await asyncio.sleep(2.5 * INTERVAL)

    watched.watch.stop()
    await asyncio.sleep(5 * INTERVAL)

    assert watched.looks == pytest.approx([began + INTERVAL, began + 2 * INTERVAL])
    assert watched.supervisor.task_names == []
    assert watched.core.long_calls is None


@virtual_time
async def test_a_watch_that_has_not_begun_may_be_stopped() -> None:
    Watched().watch.stop()
