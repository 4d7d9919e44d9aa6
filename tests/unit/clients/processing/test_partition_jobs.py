"""Each partition has jobs of its own: in batches, and when it goes."""

from __future__ import annotations

from pyk.clients import TopicPartition
from pyk.clients.consumer import ConsumerRecord
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.jobs import Jobs, Ordering, PartitionJobs


def begun(jobs: Jobs, number: int, count: int = 2) -> PartitionJobs:
    """Begin a partition with some records."""
    partition = jobs.begin(Assignment(TopicPartition("orders", number)))
    jobs.add(partition, [ConsumerRecord("orders", number, n) for n in range(count)])
    return partition


def test_a_batch_has_records_of_one_partition():
    jobs = Jobs(Ordering.NONE, 4)
    first, second = begun(jobs, 0), begun(jobs, 1)

    batches = [jobs.next_batch(10), jobs.next_batch(10)]

    assert [one and (one.partition, len(one.members)) for one in batches] == [
        (first, 2),
        (second, 2),
    ]


def test_only_the_partitions_that_go_are_closed():
    jobs = Jobs(Ordering.NONE, 4)
    going, staying = begun(jobs, 0), begun(jobs, 1)

    assert jobs.close({going.topic_partition}) == [going]

    assert (going.is_closing, staying.is_closing) == (True, False)
    job = jobs.next()
    assert job is not None
    assert job.partition is staying


def test_a_partition_that_is_forgotten_is_cancelled_and_leaves_the_others():
    jobs = Jobs(Ordering.NONE, 4)
    gone, staying = begun(jobs, 0), begun(jobs, 1)

    jobs.forget([gone])

    assert (gone.is_cancelled, staying.is_cancelled) == (True, False)
    assert list(jobs) == [staying]
    assert jobs.of(gone.assignment) is None
    assert jobs.of(staying.assignment) is staying


def test_forgetting_former_jobs_of_a_partition_keeps_those_that_began_since():
    jobs = Jobs(Ordering.NONE, 4)
    former = begun(jobs, 0)
    following = jobs.begin(former.assignment)

    jobs.forget([former])

    assert (former.is_cancelled, following.is_cancelled) == (True, False)
    assert jobs.of(former.assignment) is following
