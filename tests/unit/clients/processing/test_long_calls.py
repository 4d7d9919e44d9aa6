from __future__ import annotations

import pytest

from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.processing.jobs import Job, Jobs, Ordering
from pyk.clients.processing.long_calls import LongCalls, told
from pyk.clients.topic_partition import TopicPartition


def running(count: int) -> list[Job]:
    """Return jobs whose handlers run, each in its first attempt."""
    jobs = Jobs(Ordering.NONE, 4)
    partition = jobs.begin(Assignment(TopicPartition("orders", 0)))
    jobs.add(partition, [ConsumerRecord("orders", 0, offset) for offset in range(count)])
    taken = [job for _ in range(count) if (job := jobs.next()) is not None]
    for job in taken:
        job.attempts = 1
    return taken


@pytest.mark.parametrize(
    ("limit", "interval"), [(300.0, 10.0), (30.0, 3.0), (5.0, 0.5), (0.01, 0.5)]
)
def test_it_looks_ten_times_in_the_time_of_a_call_within_bounds(limit, interval):
    assert LongCalls(limit).interval == interval


def test_a_call_is_named_once_and_remains_a_problem_until_it_returns():
    calls, (first, second) = LongCalls(5), running(2)

    assert calls.look([first], 10) == []
    assert calls.look([first, second], 14) == []
    assert calls.problems(14) == ()
    assert calls.look([first, second], 15) == [first]
    assert calls.look([first, second], 16) == []
    assert calls.problems(17.0) == (
        "the handler of the record of orders-0 at offset 0, attempt 1 has not returned for 7 s",
    )
    first.partition.running.discard(first)
    assert calls.look([second], 19) == [second]
    assert len(calls.problems(19)) == 1


def test_the_next_attempt_is_another_call():
    calls, (job,) = LongCalls(5), running(1)
    calls.look([job], 0)
    job.attempts = 2

    assert calls.look([job], 5) == []
    assert calls.look([job], 10) == [job]


def test_a_call_goes_on_when_its_partition_has_gone():
    calls, (job,) = LongCalls(5), running(1)
    calls.look([job], 0)

    assert calls.look([], 5) == [job]


@pytest.mark.parametrize(("seconds", "text"), [(0.5, "0.5 s"), (300.0, "300 s"), (7.04, "7 s")])
def test_a_part_of_a_second_is_not_told_as_none(seconds: float, text: str) -> None:
    (job,) = running(1)

    assert told(job, seconds).endswith(f"has not returned for {text}")
