"""Jobs that wait for their next attempt."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from typing import Any

from pyk.clients import TopicPartition
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.delays import Delays
from pyk.clients.processing.jobs import Job, Jobs, Ordering
from pyk.runtime.virtual_time import virtual_time


class Record:
    offset = 0
    key = None


class Waker:
    """A runner that only counts how often it is woken."""

    def __init__(self) -> None:
        self.count = 0

    def wake(self) -> None:
        self.count += 1

    def cancel(self, jobs: Any) -> None:
        raise AssertionError

    def fail(self, error: BaseException) -> None:
        raise AssertionError


def waiting(jobs: Jobs, waker: Waker) -> tuple[Delays, weakref.ref[Record]]:
    """Return delays in which the job of a record waits for 5 s."""
    record = Record()
    jobs.add(jobs.begin(Assignment(TopicPartition("orders", 0))), [record])
    job = jobs.next()
    assert isinstance(job, Job)
    delays = Delays(jobs, waker, contextlib.nullcontext())
    delays.call_again(job, 5.0)
    return delays, weakref.ref(record)


@virtual_time
async def test_a_job_runs_again_after_its_time_and_is_forgotten_then():
    jobs, waker = Jobs(Ordering.NONE, 1), Waker()
    delays, record = waiting(jobs, waker)

    await asyncio.sleep(4.9)
    assert (waker.count, jobs.next()) == (0, None)
    await asyncio.sleep(0.2)

    assert waker.count == 1
    job = jobs.next()
    assert job is not None
    jobs.finish(job)
    job.partition.running.clear()
    del job
    gc.collect()
    assert record() is None
    delays.close()


@virtual_time
async def test_nothing_runs_again_once_the_call_has_ended():
    jobs, waker = Jobs(Ordering.NONE, 1), Waker()
    delays, _ = waiting(jobs, waker)

    delays.close()
    await asyncio.sleep(10)

    assert (waker.count, jobs.next()) == (0, None)
