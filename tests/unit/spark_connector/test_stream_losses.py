"""A stream with lost records, and with topics that were created again."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.errors import DataLossError
from pyk.spark_connector.planning import OffsetRange
from pyk.spark_connector.stream_planner import StreamPlanner
from support.planned_cluster import FakeCluster, planner, ranges_of, through_json

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class TestLoss:
    def test_lost_records_fail_the_query_and_the_error_names_them(self) -> None:
        cluster = FakeCluster({A0: 9}, starts={A0: 4})

        with pytest.raises(DataLossError) as error:
            planner(cluster).partitions({"a": {"0": 2}}, {"a": {"0": 9}})

        assert str(error.value).startswith("[PYK_DATA_LOSS] a-0 offsets 2 to 3 are gone")
        assert "set failOnDataLoss to false" in str(error.value)

    def test_lost_records_are_skipped_if_the_query_allows_it(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        stream = planner(FakeCluster({A0: 9}, starts={A0: 4}), failOnDataLoss="false")

        with caplog.at_level(logging.WARNING):
            tasks = stream.partitions({"a": {"0": 2}}, {"a": {"0": 9}})

        assert ranges_of(tasks) == [OffsetRange("a", 0, 4, 9)]
        assert "a-0 offsets 2 to 3 are gone" in caplog.text

    def test_a_new_partition_is_read_from_its_beginning(self) -> None:
        cluster = FakeCluster({A0: 5})
        stream = planner(cluster)
        start = stream.initial_offset()
        cluster.ends[A1] = 3

        end = stream.latest_offset(start)

        assert ranges_of(stream.partitions(start, end)) == [OffsetRange("a", 1, 0, 3)]


class TestOpenTransactions:
    """A query that has read uncommitted records, and reads committed ones from now on."""

    def test_it_does_not_go_back_to_an_open_transaction(self) -> None:
        cluster = FakeCluster({A0: 20, A1: 7}, behind_open_transactions={A0: 40})
        stream = planner(cluster)

        end = stream.latest_offset({"a": {"0": 30, "1": 5}})

        assert end == {"a": {"0": 30, "1": 7}}
        assert stream.latest_offset(end) == end

    def test_it_goes_on_once_the_transaction_has_ended(self) -> None:
        cluster = FakeCluster({A0: 20}, behind_open_transactions={A0: 40})
        stream = planner(cluster)
        start = {"a": {"0": 30}}
        assert stream.latest_offset(start, limited=False) == start

        cluster.ends[A0] = 41
        end = stream.latest_offset(start)

        assert ranges_of(stream.partitions(start, end)) == [OffsetRange("a", 0, 30, 41)]

    def test_all_that_is_available_now_is_nothing_until_then(self) -> None:
        stream = planner(FakeCluster({A0: 20}, behind_open_transactions={A0: 40}))
        stream.prepare_available_now()

        assert stream.latest_offset({"a": {"0": 30}}) == {"a": {"0": 30}}

    def test_a_log_that_is_shorter_than_what_was_read_is_a_loss(self) -> None:
        stream = planner(FakeCluster({A0: 20}, behind_open_transactions={A0: 25}))
        start = {"a": {"0": 30}}

        end = stream.latest_offset(start)

        with pytest.raises(DataLossError, match="ends at offset 20, before 30"):
            stream.partitions(start, end)


class TestRecreatedTopics:
    """A topic that was deleted and created again is another topic, whatever its offsets are."""

    def started(self, cluster: FakeCluster, **options: str) -> tuple[StreamPlanner, dict[str, Any]]:
        stream = planner(cluster, startingOffsets="earliest", **options)
        return stream, through_json(stream.latest_offset(stream.initial_offset()))

    def test_a_recreated_topic_fails_the_query(self) -> None:
        cluster = FakeCluster({A0: 5}, ids={"a": "X"})
        stream, first = self.started(cluster)
        cluster.recreate("a", end=9)

        second = stream.latest_offset(first)

        assert second == {"@id:a:X'": {}, "a": {"0": 9}}
        with pytest.raises(DataLossError, match="topic 'a' was deleted and created again"):
            stream.partitions(first, second)

    @pytest.mark.parametrize("end", [0, 3, 5, 9])
    def test_a_recreated_topic_is_read_from_its_beginning_if_the_query_allows_it(
        self, end: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        cluster = FakeCluster({A0: 5, A1: 5}, ids={"a": "X"})
        stream, first = self.started(cluster, failOnDataLoss="false")
        cluster.recreate("a", end=end)

        second = through_json(stream.latest_offset(first))
        with caplog.at_level(logging.WARNING):
            tasks = stream.partitions(first, second)

        assert second != first
        assert ranges_of(tasks) == [OffsetRange("a", n, 0, end) for n in range(2 if end else 0)]
        assert "topic 'a' was deleted and created again" in caplog.text
        assert stream.latest_offset(second) == second

    def test_a_batch_planned_before_reads_nothing_of_a_recreated_topic(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        cluster = FakeCluster({A0: 5}, ids={"a": "X"})
        stream, first = self.started(cluster)
        cluster.ends[A0] = 9
        logged = through_json(stream.latest_offset(first))
        cluster.recreate("a", end=20)

        restarted = planner(cluster)
        with pytest.raises(DataLossError, match="topic 'a' was deleted and created again"):
            restarted.partitions(first, logged)

        forgiving = planner(cluster, failOnDataLoss="false")
        with caplog.at_level(logging.WARNING):
            assert forgiving.partitions(first, logged) == []
        third = forgiving.latest_offset(logged)
        assert ranges_of(forgiving.partitions(logged, third)) == [OffsetRange("a", 0, 0, 20)]

    def test_other_topics_are_read_when_one_is_recreated(self) -> None:
        b0 = TopicPartition("b", 0)
        cluster = FakeCluster({A0: 5, b0: 5}, ids={"a": "X", "b": "Y"})
        stream, first = self.started(cluster, failOnDataLoss="false")
        cluster.recreate("a", end=2)
        cluster.ends[b0] = 7

        second = stream.latest_offset(first)

        assert ranges_of(stream.partitions(first, second)) == [
            OffsetRange("a", 0, 0, 2),
            OffsetRange("b", 0, 5, 7),
        ]

    def test_a_limit_counts_from_the_beginning_of_a_recreated_topic(self) -> None:
        cluster = FakeCluster({A0: 5}, ids={"a": "X"})
        stream, first = self.started(cluster, maxOffsetsPerTrigger="4")
        cluster.recreate("a", end=9)

        assert stream.latest_offset(first)["a"] == {"0": 4}

    def test_a_checkpoint_of_sparks_own_source_gets_ids_with_the_next_records(self) -> None:
        cluster = FakeCluster({A0: 5}, ids={"a": "X"})
        stream = planner(cluster)
        written_by_spark = {"a": {"0": 5}}

        assert stream.latest_offset(written_by_spark) == written_by_spark
        cluster.ends[A0] = 6
        assert stream.latest_offset(written_by_spark) == {"@id:a:X": {}, "a": {"0": 6}}

    def test_a_topic_id_is_kept_when_the_cluster_does_not_return_it(self) -> None:
        cluster = FakeCluster({A0: 5}, ids={"a": "X"})
        stream, first = self.started(cluster)
        cluster.ids.clear()
        cluster.ends[A0] = 6

        assert stream.latest_offset(first) == {"@id:a:X": {}, "a": {"0": 6}}
