"""The end of a batch, data loss, and the ranges of each task."""

from __future__ import annotations

import pytest

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.planning import (
    Admission,
    OffsetRange,
    pack_ranges,
    plan_ranges,
    plan_tasks,
    split_ranges,
)

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))
B0 = TopicPartition("b", 0)


def range_of(size: int, partition: int = 0, start: int = 0) -> OffsetRange:
    return OffsetRange("a", partition, start, start + size)


class TestRanges:
    def test_each_partition_is_read_from_start_to_end(self) -> None:
        plan = plan_ranges({A0: 3, A1: 5}, {A0: 9, A1: 7}, {A0: 0, A1: 2})

        assert plan.ranges == (OffsetRange("a", 0, 3, 9), OffsetRange("a", 1, 5, 7))
        assert plan.losses == ()

    def test_empty_ranges_make_no_task(self) -> None:
        assert plan_ranges({A0: 3, A1: 5}, {A0: 3, A1: 7}, {A0: 0, A1: 0}).ranges == (
            OffsetRange("a", 1, 5, 7),
        )

    def test_a_new_partition_is_read_from_its_beginning(self) -> None:
        plan = plan_ranges({A0: 3}, {A0: 3, A1: 4}, {A0: 0, A1: 0})

        assert plan.ranges == (OffsetRange("a", 1, 0, 4),)
        assert plan.losses == ()

    def test_a_new_partition_that_lost_its_beginning_is_a_data_loss(self) -> None:
        plan = plan_ranges({A0: 3}, {A0: 3, A1: 9}, {A0: 0, A1: 4})

        assert plan.ranges == (OffsetRange("a", 1, 4, 9),)
        assert plan.losses == ("a-1 offsets 0 to 3 are gone: the log now starts at 4",)

    def test_a_new_subscription_to_an_old_topic_is_not_a_data_loss(self) -> None:
        plan = plan_ranges({A0: 3}, {A0: 3, B0: 90}, {A0: 0, B0: 40})

        assert plan.ranges == (OffsetRange("b", 0, 40, 90),)
        assert plan.losses == ()

    @pytest.mark.parametrize(
        ("start", "end", "log_start", "ranges", "loss"),
        [
            (3, 9, 5, ((5, 9),), "a-0 offsets 3 to 4 are gone: the log now starts at 5"),
            (3, 9, 12, (), "a-0 offsets 3 to 8 are gone: the log now starts at 12"),
            (9, 3, 0, (), "a-0 ends at offset 3, before 9"),
            (9, 9, 12, (), None),
            (3, 9, 3, ((3, 9),), None),
        ],
    )
    def test_ranges_and_data_losses_of_a_partition(
        self,
        start: int,
        end: int,
        log_start: int,
        ranges: tuple[tuple[int, int], ...],
        loss: str | None,
    ) -> None:
        plan = plan_ranges({A0: start}, {A0: end}, {A0: log_start})

        assert plan.ranges == tuple(OffsetRange("a", 0, *bounds) for bounds in ranges)
        assert plan.losses == ((loss,) if loss else ())

    def test_deleted_partitions_are_data_losses(self) -> None:
        assert plan_ranges({A0: 3, A1: 3}, {A0: 5}, {A0: 0}).losses == ("a-1 is gone",)
        assert plan_ranges({A0: 3}, {A0: 5}, {}).losses == ("a-0 is gone",)


class TestAdmission:
    def test_all_records_are_read_without_limits(self) -> None:
        assert Admission().admit(0, {A0: 1}, {A0: 9}, {}) == {A0: 9}

    def test_the_limit_is_shared_in_proportion(self) -> None:
        admission = Admission(max_offsets=100)

        assert admission.admit(0, {A0: 0, A1: 50}, {A0: 300, A1: 150}, {}) == {A0: 75, A1: 75}

    def test_a_small_partition_is_not_starved(self) -> None:
        end = Admission(max_offsets=10).admit(
            0, {A0: 0, A1: 0, A2: 7}, {A0: 9999, A1: 1, A2: 7}, {}
        )

        assert end == {A0: 9, A1: 1, A2: 7}

    def test_a_new_partition_counts_from_its_beginning(self) -> None:
        end = Admission(max_offsets=10).admit(0, {A0: 0}, {A0: 50, A1: 150}, {A1: 100})

        assert end == {A0: 5, A1: 105}

    def test_a_partition_whose_end_went_back_ends_there(self) -> None:
        assert Admission(max_offsets=5).admit(0, {A0: 50, A1: 0}, {A0: 20, A1: 9}, {}) == {
            A0: 20,
            A1: 5,
        }

    def test_too_few_records_wait_for_the_next_trigger(self) -> None:
        admission = Admission(min_offsets=10, max_delay_ms=1000)
        start = {A0: 0}
        assert admission.admit(0, start, {A0: 1}, {}) == {A0: 1}, "the first batch goes at once"

        assert admission.admit(500, start, {A0: 9}, {}) is start
        assert admission.admit(600, start, {A0: 10}, {}) == {A0: 10}
        assert admission.admit(1599, start, {A0: 1}, {}) is start
        assert admission.admit(1600, start, {A0: 1}, {}) == {A0: 1}

    def test_minimum_and_maximum_apply_together(self) -> None:
        admission = Admission(min_offsets=10, max_offsets=20, max_delay_ms=1000)
        admission.admit(0, {A0: 0}, {A0: 0}, {})

        assert admission.admit(1, {A0: 0}, {A0: 9}, {}) == {A0: 0}
        assert admission.admit(1, {A0: 0}, {A0: 90}, {}) == {A0: 20}


class TestTasks:
    def test_a_range_above_the_maximum_is_split_evenly(self) -> None:
        assert split_ranges([range_of(10)], max_records=4) == [
            OffsetRange("a", 0, 0, 3),
            OffsetRange("a", 0, 3, 6),
            OffsetRange("a", 0, 6, 10),
        ]

    def test_the_largest_ranges_are_split_to_reach_the_requested_tasks(self) -> None:
        pieces = split_ranges([range_of(90, 0), range_of(10, 1)], min_tasks=4)

        assert [(piece.partition, piece.size) for piece in pieces] == [
            (0, 30),
            (0, 30),
            (0, 30),
            (1, 10),
        ]

    def test_enough_ranges_are_not_split(self) -> None:
        ranges = [range_of(5, 0), range_of(500, 1)]

        assert split_ranges(ranges, min_tasks=2) == ranges

    def test_a_range_is_not_split_below_one_record(self) -> None:
        assert [piece.size for piece in split_ranges([range_of(2)], min_tasks=8)] == [1, 1]

    def test_small_ranges_share_a_task(self) -> None:
        ranges = [range_of(3, 0), range_of(900, 1), range_of(4, 2), range_of(5, 3)]

        tasks = pack_ranges(ranges, min_records=20)

        assert [[one.partition for one in task] for task in tasks] == [[1], [0, 2, 3]]

    def test_ranges_share_tasks_only_while_every_core_has_a_task(self) -> None:
        ranges = [range_of(1, number) for number in range(12)]

        assert [len(pack_ranges(ranges[:count], 1000, parallelism=4)) for count in (3, 4, 12)] == [
            *(3, 4, 4)
        ]

    def test_large_ranges_are_spread_over_all_cores(self) -> None:
        ranges = [range_of(5000, 0), range_of(5000, 1), *(range_of(1, n) for n in range(2, 9))]

        assert len(pack_ranges(ranges, 1000, parallelism=4)) == 4
        assert len(pack_ranges(ranges, 1000, parallelism=2)) == 3

    def test_shared_tasks_are_balanced(self) -> None:
        ranges = [range_of(size, number) for number, size in enumerate([70, 10, 10, 10, 10, 10])]

        tasks = pack_ranges(ranges, 1000, parallelism=2)

        assert [sum(one.size for one in task) for task in tasks] == [70, 50]

    def test_small_ranges_are_packed_into_tasks_of_the_minimal_size(self) -> None:
        ranges = [range_of(600, number) for number in range(10)]

        assert len(pack_ranges(ranges, 1000, parallelism=2)) == 6

    def test_ranges_do_not_share_tasks_when_many_are_requested(self) -> None:
        ranges = [range_of(1, 0), range_of(1, 1)]

        assert len(plan_tasks(ranges, min_records=100)) == 1
        assert len(plan_tasks(ranges, min_records=100, min_tasks=2)) == 2

    def test_shared_tasks_respect_the_maximum(self) -> None:
        ranges = [range_of(4, number) for number in range(4)]

        assert [len(task) for task in plan_tasks(ranges, max_records=8, min_records=100)] == [2, 2]
        uneven = [range_of(size, number) for number, size in enumerate([5, 5, 5])]
        assert [len(task) for task in plan_tasks(uneven, max_records=8, min_records=100)] == [1] * 3

    def test_no_ranges_make_no_task(self) -> None:
        assert plan_tasks([], min_tasks=3) == []
