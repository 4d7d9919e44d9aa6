"""A stream as Spark plans it: repeated calls, restarts, limits, commits."""

from __future__ import annotations

import json
import logging
from typing import ClassVar

import pytest

from pyk.clients.topic_partition import TopicPartition
from pyk.runtime.virtual_time import VirtualClock
from pyk.spark_connector.errors import OptionError
from pyk.spark_connector.options import stream_source_options
from pyk.spark_connector.planning import OffsetRange
from pyk.spark_connector.stream_planner import StreamPlanner
from support.planned_cluster import FakeCluster, planner, ranges_of, through_json

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class TestBatch0:
    def test_the_initial_offset_is_the_same_however_often_it_is_asked_for(self) -> None:
        cluster = FakeCluster({A0: 5})
        stream = planner(cluster)
        first = stream.initial_offset()
        cluster.ends[A0] = 9

        assert stream.initial_offset() == first == {"a": {"0": 5}}

    def test_the_end_of_batch_0_carries_its_start(self) -> None:
        cluster = FakeCluster({A0: 5})
        stream = planner(cluster)
        start = stream.initial_offset()
        cluster.ends[A0] = 9

        assert stream.latest_offset(start) == {"@start": {}, "@start:a:0=5": {}, "a": {"0": 9}}

    def test_batch_0_reads_the_same_records_when_it_is_replayed_after_a_restart(self) -> None:
        cluster = FakeCluster({A0: 5})
        stream = planner(cluster, startingOffsets="latest")
        start = stream.initial_offset()
        cluster.ends[A0] = 9
        logged_end = through_json(stream.latest_offset(start))

        cluster.ends[A0] = 20
        restarted = planner(cluster, startingOffsets="latest")
        replayed = restarted.partitions(restarted.initial_offset(), logged_end)

        assert ranges_of(replayed) == [OffsetRange("a", 0, 5, 9)]

    def test_later_batches_start_at_the_end_of_batch_0(self) -> None:
        cluster = FakeCluster({A0: 5})
        stream = planner(cluster, startingOffsets="earliest")
        first = stream.latest_offset(stream.initial_offset())
        cluster.ends[A0] = 8

        second = stream.latest_offset(first)

        assert second == {"a": {"0": 8}}
        assert ranges_of(stream.partitions(first, second)) == [OffsetRange("a", 0, 5, 8)]

    def test_without_new_records_the_offset_is_the_same_text(self) -> None:
        stream = planner(FakeCluster({A0: 5, A1: 7}), startingOffsets="earliest")
        first = through_json(stream.latest_offset(stream.initial_offset()))

        assert "@start" in first
        assert json.dumps(stream.latest_offset(first)) == json.dumps(first)

    def test_an_empty_batch_0_keeps_its_start_over_a_restart(self) -> None:
        cluster = FakeCluster({A0: 5})
        stream = planner(cluster, startingOffsets="latest")
        logged_end = through_json(stream.latest_offset(stream.initial_offset()))
        assert logged_end == {"@start": {}, "@start:a:0=5": {}, "a": {"0": 5}}

        cluster.ends[A0] = 20
        restarted = planner(cluster, startingOffsets="latest")
        assert restarted.partitions(restarted.initial_offset(), logged_end) == []
        second = restarted.latest_offset(logged_end)

        assert ranges_of(restarted.partitions(logged_end, second)) == [OffsetRange("a", 0, 5, 20)]


class TestLimits:
    def test_a_batch_is_no_larger_than_the_maximum(self) -> None:
        stream = planner(
            FakeCluster({A0: 100, A1: 300}), startingOffsets="earliest", maxOffsetsPerTrigger="40"
        )
        start = stream.initial_offset()

        end = stream.latest_offset(start)

        assert end == {"@start": {}, "@start:a:0=0,1=0": {}, "a": {"0": 10, "1": 30}}

    def test_read_all_available_ignores_the_limit(self) -> None:
        stream = planner(
            FakeCluster({A0: 100}), startingOffsets="earliest", maxOffsetsPerTrigger="40"
        )

        assert stream.latest_offset(stream.initial_offset(), limited=False)["a"] == {"0": 100}

    def test_the_lag_counts_all_records_and_not_only_admitted_ones(self) -> None:
        stream = planner(
            FakeCluster({A0: 100}), startingOffsets="earliest", maxOffsetsPerTrigger="40"
        )
        assert stream.report_latest() is None

        stream.latest_offset(stream.initial_offset())

        assert stream.report_latest() == {"a": {"0": 100}}


class TestAvailableNow:
    def test_records_after_the_target_are_not_read(self) -> None:
        cluster = FakeCluster({A0: 5})
        stream = planner(cluster, startingOffsets="earliest")
        stream.prepare_available_now()
        cluster.ends[A0] = 9

        end = stream.latest_offset(stream.initial_offset())

        assert end["a"] == {"0": 5}
        assert stream.latest_offset(end) == end

    def test_several_limited_batches_reach_the_target(self) -> None:
        stream = planner(
            FakeCluster({A0: 25}), startingOffsets="earliest", maxOffsetsPerTrigger="10"
        )
        stream.prepare_available_now()
        offset = stream.latest_offset(stream.initial_offset())

        ends = [offset["a"]["0"]]
        while (end := stream.latest_offset(offset)) != offset:
            ends.append(end["a"]["0"])
            offset = end

        assert ends == [10, 20, 25]

    def test_available_now_does_not_wait_for_the_minimum(self) -> None:
        stream = planner(
            FakeCluster({A0: 25}),
            startingOffsets="earliest",
            maxOffsetsPerTrigger="20",
            minOffsetsPerTrigger="20",
        )
        stream.prepare_available_now()
        first = stream.latest_offset(stream.initial_offset())

        assert stream.latest_offset(first)["a"] == {"0": 25}

    def test_an_empty_topic_ends_at_once(self) -> None:
        stream = planner(FakeCluster({A0: 0}), startingOffsets="earliest")
        stream.prepare_available_now()
        end = stream.latest_offset(stream.initial_offset())

        assert stream.latest_offset(end) == end


class TestIdling:
    """Spark calls a hundred times a second; a request for a large topic costs milliseconds."""

    def idle(self, cost: float, **options: str) -> tuple[FakeCluster, StreamPlanner, VirtualClock]:
        cluster, clock = FakeCluster({A0: 5}), VirtualClock()
        cluster.on_latest = lambda: clock.advance(cost)
        given = {"kafka.bootstrap.servers": "x:1", "subscribe": "a", "startingOffsets": "earliest"}
        stream = StreamPlanner(
            stream_source_options(given | options), cluster, clock, wait=clock.advance
        )
        return cluster, stream, clock

    def test_an_idle_query_spends_a_tenth_of_its_time_on_requests(self) -> None:
        _, stream, clock = self.idle(cost=0.015)
        offset = through_json(stream.latest_offset(stream.initial_offset()))
        begun = clock.now()

        for _ in range(20):
            assert stream.latest_offset(offset) == offset
            clock.advance(0.010)

        assert clock.now() - begun == pytest.approx(20 * 0.150, rel=0.1)

    def test_a_slow_response_delays_records_by_at_most_a_fifth_of_a_second(self) -> None:
        cluster, stream, clock = self.idle(cost=3.0)
        offset = through_json(stream.latest_offset(stream.initial_offset()))
        stream.latest_offset(offset)
        cluster.ends[A0] = 6
        begun = clock.now()

        assert stream.latest_offset(offset)["a"] == {"0": 6}

        assert clock.now() - begun == pytest.approx(3.2)

    def test_a_request_that_takes_no_time_is_sent_at_once(self) -> None:
        _, stream, clock = self.idle(cost=0.0005)
        offset = through_json(stream.latest_offset(stream.initial_offset()))
        stream.latest_offset(offset)
        clock.advance(0.010)
        begun = clock.now()

        stream.latest_offset(offset)

        assert clock.now() - begun == pytest.approx(0.0005)

    def test_a_query_with_new_records_does_not_wait(self) -> None:
        cluster, stream, clock = self.idle(cost=0.1)
        offset = through_json(stream.latest_offset(stream.initial_offset()))
        begun = clock.now()

        for end in range(6, 16):
            cluster.ends[A0] = end
            offset = through_json(stream.latest_offset(offset))

        assert offset == {"a": {"0": 15}}
        assert clock.now() - begun == pytest.approx(1.0)


class TestCommits:
    GROUP: ClassVar = {"kafka.group.id": "g", "commitOffsetsToGroup": "true"}

    def test_the_last_batch_is_committed_without_a_later_one(self) -> None:
        cluster = FakeCluster({A0: 5})
        stream = planner(cluster, startingOffsets="earliest", **self.GROUP)
        first = stream.latest_offset(stream.initial_offset())
        assert cluster.commits == [("g", {A0: 0})]

        stream.latest_offset(first)
        stream.latest_offset(first)

        assert cluster.commits == [("g", {A0: 0}), ("g", {A0: 5})]

    def test_nothing_is_committed_without_the_option(self) -> None:
        cluster = FakeCluster({A0: 5})
        stream = planner(cluster, **{"kafka.group.id": "g"})

        stream.latest_offset(stream.initial_offset())

        assert cluster.commits == []

    def test_a_group_that_cannot_commit_does_not_stop_the_query(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        stream = planner(FakeCluster({A0: 5}, refuses_commits=True), **self.GROUP)

        with caplog.at_level(logging.WARNING):
            stream.latest_offset(stream.initial_offset())

        assert "the group has members" in caplog.text


class TestStartingPlaces:
    def test_a_starting_timestamp_starts_at_the_first_record_at_or_after_it(self) -> None:
        cluster = FakeCluster({A0: 50, A1: 60}, times={A0: {1000: 7}, A1: {1000: 9}})

        assert planner(cluster, startingTimestamp="1000").initial_offset() == {
            "a": {"0": 7, "1": 9}
        }

    def test_a_starting_timestamp_after_all_records_is_an_error(self) -> None:
        cluster = FakeCluster({A0: 50, A1: 60}, times={A0: {1000: 7}})

        with pytest.raises(OptionError, match="a-1 has no record with timestamp 1000 ms or"):
            planner(cluster, startingTimestamp="1000").initial_offset()

    def test_a_starting_timestamp_after_all_records_starts_at_the_end_if_the_strategy_is_latest(
        self,
    ) -> None:
        cluster = FakeCluster({A0: 50, A1: 60}, times={A0: {1000: 7}})
        options = {"startingOffsetsByTimestamp": '{"a":{"0":1000,"1":1000}}'}

        stream = planner(cluster, **options, startingOffsetsByTimestampStrategy="latest")

        assert stream.initial_offset() == {"a": {"0": 7, "1": 60}}

    def test_starting_offsets_can_be_mixed_with_latest_and_earliest(self) -> None:
        cluster = FakeCluster({A0: 50, A1: 60, A1._replace(partition=2): 9}, starts={A1: 4})

        stream = planner(cluster, startingOffsets='{"a":{"0":7,"1":-2,"2":-1}}')

        assert stream.initial_offset() == {"a": {"0": 7, "1": 4, "2": 9}}

    def test_a_starting_offset_beyond_the_end_is_an_invalid_option(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        options = {"startingOffsets": '{"a":{"0":51}}'}

        with pytest.raises(OptionError, match="a-0 ends at offset 50, before the 51 of starting"):
            planner(FakeCluster({A0: 50}), **options).initial_offset()
        with caplog.at_level(logging.WARNING):
            stream = planner(FakeCluster({A0: 50}), **options, failOnDataLoss="false")
            assert stream.initial_offset() == {"a": {"0": 50}}
        assert "before the 51 of startingOffsets" in caplog.text

    def test_starting_offsets_must_name_every_partition(self) -> None:
        with pytest.raises(OptionError, match=r"given for a-0; there are a-0, a-1"):
            planner(FakeCluster({A0: 5, A1: 6}), startingOffsets='{"a":{"0":7}}').initial_offset()


def test_closing_closes_the_cluster() -> None:
    cluster = FakeCluster({A0: 9})

    planner(cluster).close()

    assert cluster.closed
