"""What a handler hears of its own call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyk.clients import StateError, TopicPartition, current_attempt
from pyk.clients.consumer import ConsumerRecord
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.attempt import RUNNING, Attempt
from pyk.clients.processing.jobs import Job, Jobs, Ordering


def running_job() -> Job:
    jobs = Jobs(Ordering.NONE, 1)
    partition = jobs.begin(Assignment(TopicPartition("orders", 0)))
    jobs.add(partition, [ConsumerRecord("orders", 0, 7)])
    job = jobs.next()
    assert job is not None
    return job


def is_overdue(job: Job) -> None:
    job.is_overdue = lambda: True


def has_time(job: Job) -> None:
    job.is_overdue = lambda: False


def partition_goes(job: Job) -> None:
    job.partition.is_cancelled = True


def partition_is_lost(job: Job) -> None:
    job.partition.assignment.is_lost = True


@pytest.mark.parametrize("end", [is_overdue, partition_goes, partition_is_lost])
def test_each_reason_for_which_a_result_does_not_count_is_told(end: Callable[[Job], None]) -> None:
    job = running_job()
    end(job)

    assert Attempt(job).is_cancelled is True
    assert job.was_told_to_stop is True


@pytest.mark.parametrize("begin", [has_time, lambda job: None], ids=["deadline", "no deadline"])
def test_a_call_whose_result_counts_is_not_told_to_stop(begin: Callable[[Job], None]) -> None:
    job = running_job()
    begin(job)

    assert Attempt(job).is_cancelled is False
    assert job.was_told_to_stop is False


def test_an_attempt_keeps_the_deadline_of_its_call() -> None:
    job = running_job()
    is_overdue(job)
    attempt = Attempt(job)
    has_time(job)  # as the next call has

    assert attempt.is_cancelled


def test_the_attempt_of_a_handler_is_that_of_the_job_that_runs() -> None:
    job = running_job()
    job.attempts = 3
    token = RUNNING.set(job)
    try:
        assert current_attempt().number == 3
    finally:
        RUNNING.reset(token)
    with pytest.raises(StateError, match="nothing is handled here"):
        current_attempt()
