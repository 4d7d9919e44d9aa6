"""Jobs run in the order that was asked for, and are committed up to the first unfinished one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.clients import TopicPartition
from pyk.clients.consumer import ConsumerRecord
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.jobs import LEAST_QUEUE, MAX_AHEAD, Job, Jobs, Ordering, PartitionJobs

ORDERS = TopicPartition("orders", 0)


def records(count: int, *, first: int = 0, keys: int = 3) -> list[ConsumerRecord[bytes, bytes]]:
    return [
        ConsumerRecord("orders", 0, first + n, key=b"%d" % ((first + n) % keys), value=b"")
        for n in range(count)
    ]


def jobs_of(
    ordering: Ordering, count: int, *, concurrency: int = 16, keys: int = 3
) -> tuple[Jobs, PartitionJobs]:
    jobs = Jobs(ordering, concurrency)
    partition = jobs.begin(Assignment(ORDERS))
    jobs.add(partition, records(count, keys=keys))
    return jobs, partition


def take_all(jobs: Jobs) -> list[Job]:
    taken = []
    while (job := jobs.next()) is not None:
        taken.append(job)
    return taken


def finish(jobs: Jobs, job: Job) -> bool:
    job.partition.running.discard(job)
    return jobs.finish(job)


@pytest.mark.parametrize(
    ("ordering", "offsets"),
    [(Ordering.PARTITION, [0]), (Ordering.KEY, [0, 1, 2]), (Ordering.NONE, [*range(9)])],
)
def test_as_many_jobs_run_as_the_order_allows(ordering, offsets):
    jobs, _ = jobs_of(ordering, 9)

    assert [job.offset for job in take_all(jobs)] == offsets


def test_records_without_a_key_have_no_order():
    jobs = Jobs(Ordering.KEY, 4)
    jobs.add(jobs.begin(Assignment(ORDERS)), [ConsumerRecord("orders", 0, n) for n in range(5)])

    assert len(take_all(jobs)) == 5


def test_a_finished_job_lets_the_next_of_its_key_run():
    jobs, _ = jobs_of(Ordering.KEY, 9)
    first = take_all(jobs)[1]

    finish(jobs, first)

    assert [job.offset for job in take_all(jobs)] == [4]


def test_a_job_whose_order_has_nothing_left_lets_later_ones_run():
    jobs, partition = jobs_of(Ordering.KEY, 1, keys=1)
    (first,) = take_all(jobs)
    finish(jobs, first)

    jobs.add(partition, records(2, first=1, keys=1))

    assert [job.offset for job in take_all(jobs)] == [1]


def test_jobs_begin_without_a_history():
    jobs = Jobs(Ordering.NONE, 4)
    partition = jobs.begin(Assignment(ORDERS))
    assert partition.follows(0)
    assert not partition.is_paused_by_application
    jobs.add(partition, records(1))

    (job,) = take_all(jobs)

    assert (job.attempts, job.is_moved, job.was_told_to_stop) == (0, False, False)
    assert (job.results, job.members, job.then) == ((), (job,), None)


def test_only_what_is_before_the_first_unfinished_job_is_committed():
    jobs, partition = jobs_of(Ordering.NONE, 6)
    running = take_all(jobs)

    for index in (0, 1, 3, 4):
        finish(jobs, running[index])

    assert partition.first_unfinished == 2
    assert partition.restart()[1] == [3, 4]
    finish(jobs, running[2])
    assert partition.first_unfinished == 5
    finish(jobs, running[5])
    assert partition.first_unfinished is None


def test_what_an_earlier_run_has_finished_is_left_out():
    jobs = Jobs(Ordering.NONE, 4)
    partition = jobs.begin(Assignment(ORDERS), {2, 3, 5})
    jobs.add(partition, records(4, first=1))
    jobs.add(partition, records(2, first=5))

    assert [job.offset for job in take_all(jobs)] == [1, 4, 6]
    assert partition.restart()[1] == [2, 3, 5]


def test_a_partition_with_enough_records_is_paused_until_half_of_them_are_finished():
    jobs, partition = jobs_of(Ordering.NONE, LEAST_QUEUE)

    assert partition.update_pause()
    assert partition.is_paused
    resumed = [finish(jobs, job) for job in take_all(jobs)]
    assert resumed.index(True) == LEAST_QUEUE // 2 - 1
    assert resumed.count(True) == 1


def test_a_partition_is_paused_later_where_many_handlers_run_at_once():
    jobs, partition = jobs_of(Ordering.NONE, 2 * LEAST_QUEUE - 1, concurrency=LEAST_QUEUE)
    assert not partition.update_pause()

    jobs.add(partition, records(1, first=2 * LEAST_QUEUE - 1))

    assert partition.update_pause()


def test_nothing_begins_while_jobs_stop():
    jobs, _ = jobs_of(Ordering.NONE, 3)
    assert jobs.ready_count == 3

    jobs.is_stopping = True

    assert jobs.next() is None
    assert jobs.next_batch(3) is None
    assert jobs.ready_count == 0


def test_a_partition_is_paused_when_one_record_holds_up_too_many():
    jobs, partition = jobs_of(Ordering.NONE, 1)
    stuck = take_all(jobs)
    for first in range(1, MAX_AHEAD, 100):
        jobs.add(partition, records(100, first=first))
        for job in take_all(jobs):
            finish(jobs, job)

    assert partition.update_pause()
    assert partition.first_unfinished == stuck[0].offset


def test_a_partition_that_keeps_too_many_is_paused_until_it_keeps_half_of_them():
    jobs, first = Jobs(Ordering.NONE, 4), MAX_AHEAD - MAX_AHEAD // 2 - 1
    unfinished = {0, first, first + 1}
    partition = jobs.begin(Assignment(ORDERS), frozenset(range(MAX_AHEAD)) - unfinished)

    jobs.add(partition, records(MAX_AHEAD - 1))
    assert not partition.update_pause()
    jobs.add(partition, records(1, first=MAX_AHEAD - 1))
    assert partition.update_pause()

    assert [finish(jobs, job) for job in take_all(jobs)] == [False, True, False]


def test_nothing_of_a_closed_partition_begins():
    jobs, partition = jobs_of(Ordering.KEY, 9)
    running = jobs.next()
    assert running is not None

    closing = jobs.close({ORDERS})
    finish(jobs, running)

    assert closing == [partition]
    assert jobs.next() is None
    assert partition.first_unfinished == 1


@pytest.mark.parametrize("ordering", list(Ordering))
def test_a_truncated_log_takes_only_the_jobs_that_were_cut_off(ordering):
    jobs, partition = jobs_of(ordering, 10)
    running = [job for job in (jobs.next(), jobs.next(), jobs.next()) if job is not None]

    jobs.cut_back(partition, 4)
    assert [partition.follows(offset) for offset in (3, 4)] == [False, True]
    jobs.add(partition, records(2, first=4))

    assert partition.unfinished() == [0, 1, 2, 3, 4, 5]
    handled = [job.offset for job in running]
    for job in running:
        finish(jobs, job)
    while (following := jobs.next()) is not None:
        handled.append(following.offset)
        finish(jobs, following)
    assert sorted(handled) == [0, 1, 2, 3, 4, 5]
    assert partition.restart() == (None, [])


@pytest.mark.parametrize("ordering", list(Ordering))
def test_a_job_that_was_cut_off_while_it_ran_does_not_finish_the_record_in_its_place(ordering):
    jobs, partition = jobs_of(ordering, 3, keys=1)
    running = jobs.next()
    assert running is not None

    jobs.cut_back(partition, 0)
    jobs.add(partition, records(2, keys=1))
    finish(jobs, running)

    assert partition.unfinished() == [0, 1]
    assert [job.offset for job in take_all(jobs)] == ([0, 1] if ordering is Ordering.NONE else [0])


@pytest.mark.parametrize("ordering", [Ordering.KEY, Ordering.NONE])
def test_a_batch_that_is_to_be_called_again_is_no_part_of_another(ordering):
    jobs, _ = jobs_of(ordering, 4, keys=4)
    first = jobs.next_batch(2)
    assert first is not None
    jobs.resume(first)

    second, again = jobs.next_batch(10), jobs.next_batch(10)

    assert second is not None
    assert [job.offset for job in second.members] == [2, 3]
    assert again is first
    assert [job.offset for job in first.members] == [0, 1]


@pytest.mark.parametrize("ordering", list(Ordering))
def test_what_waits_of_other_partitions_is_not_cut_off(ordering):
    jobs, partition = jobs_of(ordering, 3)
    other = jobs.begin(Assignment(TopicPartition("orders", 1)))
    jobs.add(other, records(3))

    jobs.cut_back(partition, 0)

    handled = []
    while (job := jobs.next()) is not None:
        handled.append((job.partition, job.offset))
        finish(jobs, job)
    assert handled == [(other, 0), (other, 1), (other, 2)]


def test_a_job_that_was_cut_off_while_it_ran_does_not_count_when_the_partition_has_enough():
    jobs, partition = jobs_of(Ordering.NONE, 1)
    running = jobs.next()
    assert running is not None

    jobs.cut_back(partition, 0)
    finish(jobs, running)

    jobs.add(partition, records(LEAST_QUEUE - 1))
    assert not partition.update_pause()
    jobs.add(partition, records(1, first=LEAST_QUEUE - 1))
    assert partition.update_pause()


def test_a_truncated_log_keeps_no_offset_of_an_earlier_run_from_there_on():
    jobs = Jobs(Ordering.NONE, 4)
    partition = jobs.begin(Assignment(ORDERS), {1, 3})
    jobs.add(partition, records(4))

    jobs.cut_back(partition, 2)
    jobs.add(partition, records(2, first=2))

    assert partition.unfinished() == [0, 2, 3]


@pytest.mark.parametrize("is_split", [False, True])
def test_a_batch_that_waits_for_its_next_attempt_is_cut_off_with_its_lanes(is_split):
    jobs, partition = jobs_of(Ordering.KEY, 6)
    batch = jobs.next_batch(6)
    assert batch is not None
    if is_split:
        batch.split()
    jobs.resume(batch)

    jobs.cut_back(partition, 0)
    jobs.add(partition, records(3))

    assert [job.offset for job in take_all(jobs)] == [0, 1, 2]


@given(
    st.sampled_from(list(Ordering)),
    st.integers(1, 60),
    st.integers(1, 8),
    st.integers(1, 6),
    st.integers(0, 2**32),
)
def test_any_schedule_keeps_the_order_and_commits_no_gap(ordering, count, concurrency, keys, seed):
    jobs, partition = jobs_of(ordering, count, concurrency=concurrency, keys=keys)
    chance = random.Random(seed)
    running: list[Job] = []
    done: list[int] = []

    while len(done) < count:
        while len(running) < concurrency and (job := jobs.next()) is not None:
            running.append(job)
        job = running.pop(chance.randrange(len(running)))
        done.append(job.offset)
        finish(jobs, job)
        unfinished = sorted(set(range(count)).difference(done))
        assert partition.first_unfinished == (unfinished[0] if unfinished else None)
        ahead = [offset for offset in sorted(done) if unfinished and offset > unfinished[0]]
        assert partition.restart()[1] == ahead

    if ordering is Ordering.PARTITION:
        assert done == sorted(done)
    if ordering is Ordering.KEY:
        for key in range(keys):
            assert [o for o in done if o % keys == key] == list(range(key, count, keys))
