"""Batches of jobs: what they take, how they are split, and what finished jobs keep."""

from __future__ import annotations

import pytest

from pyk.clients import TopicPartition
from pyk.clients.consumer import ConsumerRecord
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.jobs import Job, Jobs, Ordering, PartitionJobs
from pyk.clients.processing.results import ProducerRecord
from pyk.protocol.records import RecordSpan, parse_batch
from support.record_batches import ORIGIN, sealed

ORDERS = TopicPartition("orders", 0)


def added(
    ordering: Ordering, count: int, *, keys: int | None = 2, done: frozenset[int] = frozenset()
) -> tuple[Jobs, PartitionJobs]:
    jobs = Jobs(ordering, 16)
    partition = jobs.begin(Assignment(ORDERS), done)
    jobs.add(
        partition,
        [
            ConsumerRecord("orders", 0, n, key=None if keys is None else b"%d" % (n % keys))
            for n in range(count)
        ],
    )
    return jobs, partition


def batch_of(jobs: Jobs, limit: int) -> Job:
    job = jobs.next_batch(limit)
    assert job is not None
    return job


def span_of(*values: bytes) -> RecordSpan:
    batch = parse_batch(memoryview(sealed(*values)))
    assert batch is not None
    return batch.open().span(ORIGIN)


def offsets_of(job: Job) -> list[int]:
    return [member.offset for member in job.members]


@pytest.mark.parametrize(
    ("ordering", "offsets"),
    [
        (Ordering.PARTITION, [0, 1, 2, 3]),
        (Ordering.KEY, [0, 2, 4, 6]),
        (Ordering.NONE, [0, 1, 2, 3]),
    ],
)
def test_a_batch_takes_what_waits_behind_its_first_record(ordering, offsets):
    jobs, _ = added(ordering, 8)

    assert offsets_of(batch_of(jobs, 4)) == offsets


def test_records_without_a_key_share_a_batch():
    jobs, _ = added(Ordering.KEY, 5, keys=None)

    assert offsets_of(batch_of(jobs, 4)) == [0, 1, 2, 3]
    assert offsets_of(batch_of(jobs, 4)) == [4]


def test_a_batch_of_several_keys_lets_all_of_them_go_on():
    jobs, _ = added(Ordering.KEY, 8)
    first = batch_of(jobs, 5)
    assert offsets_of(first) == [0, 2, 4, 6, 1]
    assert jobs.next() is None

    jobs.finish(first)

    assert offsets_of(batch_of(jobs, 5)) == [3, 5, 7]


def test_each_half_of_a_batch_gets_one_more_call():
    jobs, _ = added(Ordering.PARTITION, 5)
    job = batch_of(jobs, 5)
    job.attempts = 3

    job.split()

    assert offsets_of(job) == [0, 1]
    assert job.then is not None
    assert offsets_of(job.then) == [2, 3, 4]
    assert [job.attempts, job.then.attempts] == [2, 2]


def test_what_comes_after_a_batch_waits_for_the_last_of_its_parts():
    jobs, _ = added(Ordering.PARTITION, 6)
    job = batch_of(jobs, 4)
    job.split()
    job.split()
    handled = [*offsets_of(job)]
    jobs.finish(job)

    while (following := jobs.next_batch(4)) is not None:
        handled += offsets_of(following)
        jobs.finish(following)

    assert handled == [0, 1, 2, 3, 4, 5]


def test_a_finished_job_that_is_kept_holds_neither_its_record_nor_its_results():
    jobs, _ = added(Ordering.NONE, 4)
    stuck, job = batch_of(jobs, 1), batch_of(jobs, 3)
    job.results = (ProducerRecord("bills"),)
    for member in job.members:
        member.span = span_of(b"0")

    jobs.finish(job)

    assert stuck.record is not None
    assert [member.span for member in job.members] == [None] * 3
    assert [member.record for member in job.members] == [None] * 3
    assert job.results == ()


def test_what_is_written_counts_as_finished_for_a_restart():
    jobs, partition = added(Ordering.NONE, 7)
    first, second, third, fourth = (batch_of(jobs, 1) for _ in range(4))
    jobs.finish(second)
    jobs.finish(fourth)

    assert partition.restart() == (0, [1, 3])
    assert partition.restart({first}) == (2, [3])
    assert partition.restart({first, third}) == (4, [])
    assert partition.restart({third}) == (0, [1, 2, 3])


def test_nothing_is_left_for_a_restart_once_everything_is_written():
    jobs, partition = added(Ordering.NONE, 2)

    assert partition.restart({batch_of(jobs, 1), batch_of(jobs, 1)}) == (None, [])


def test_records_that_follow_each_other_are_not_taken_for_others():
    _, partition = added(Ordering.NONE, 3)

    assert partition.next_offset == 3
    assert [partition.follows(offset) for offset in (2, 3, 9)] == [False, True, True]


def test_a_partition_whose_records_were_all_finished_before_begins_behind_them():
    jobs, partition = added(Ordering.NONE, 3, done=frozenset(range(3)))

    assert jobs.next() is None
    assert partition.first_unfinished is None
    assert partition.next_offset == 3
