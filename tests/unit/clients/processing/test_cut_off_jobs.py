"""Jobs of a log that was truncated, or is read again from before: what is left of those behind."""

from __future__ import annotations

import pytest

from pyk.clients import TopicPartition
from pyk.clients.consumer import ConsumerRecord
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.jobs import LEAST_QUEUE, Job, Jobs, Ordering, PartitionJobs

ORDERS = TopicPartition("orders", 0)


def records(count: int, *, first: int = 0) -> list[ConsumerRecord[bytes, bytes]]:
    return [ConsumerRecord("orders", 0, first + n, key=b"%d" % (n % 2)) for n in range(count)]


def added(ordering: Ordering, count: int) -> tuple[Jobs, PartitionJobs]:
    jobs = Jobs(ordering, 16)
    partition = jobs.begin(Assignment(ORDERS))
    jobs.add(partition, records(count))
    return jobs, partition


def take(jobs: Jobs, count: int) -> list[Job]:
    taken = [job for _ in range(count) if (job := jobs.next()) is not None]
    assert len(taken) == count
    return taken


@pytest.mark.parametrize("ordering", list(Ordering))
def test_new_records_run_although_those_that_were_cut_off_never_began(ordering):
    jobs, partition = added(ordering, 4)

    jobs.cut_back(partition, 0)
    jobs.add(partition, records(4))

    handled = []
    while (job := jobs.next()) is not None:
        handled.append(job.offset)
        jobs.finish(job)
    assert sorted(handled) == [0, 1, 2, 3]
    assert partition.first_unfinished is None


def test_what_was_finished_behind_the_cut_is_not_named_by_commits():
    jobs, partition = added(Ordering.NONE, 5)
    for job in take(jobs, 5)[1:]:
        jobs.finish(job)
    assert partition.restart() == (0, [1, 2, 3, 4])

    jobs.cut_back(partition, 3)
    assert partition.restart() == (0, [1, 2])
    jobs.add(partition, records(2, first=3))

    assert partition.restart() == (0, [1, 2])
    assert partition.unfinished() == [0, 3, 4]


def test_the_first_offset_behind_the_cut_is_not_left_out_as_finished_by_an_earlier_run():
    jobs = Jobs(Ordering.NONE, 4)
    partition = jobs.begin(Assignment(ORDERS), {1, 3})
    jobs.add(partition, records(4))

    jobs.cut_back(partition, 3)
    jobs.add(partition, records(1, first=3))

    assert partition.unfinished() == [0, 2, 3]


@pytest.mark.parametrize("finished", [0, 1, 2, 3])
def test_what_was_cut_off_does_not_count_when_the_partition_has_enough(finished):
    jobs, partition = added(Ordering.NONE, 4)
    for job in take(jobs, 4)[4 - finished :]:
        jobs.finish(job)

    jobs.cut_back(partition, 1)

    jobs.add(partition, records(LEAST_QUEUE - 2, first=1))
    assert not partition.update_pause()
    jobs.add(partition, records(1, first=LEAST_QUEUE - 1))
    assert partition.update_pause()
