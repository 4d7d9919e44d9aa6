"""The offset ranges of a batch read, and errors for offsets that do not exist."""

from __future__ import annotations

import logging

import pytest

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.batch_planner import plan_batch
from pyk.spark_connector.errors import DataLossError, OptionError
from pyk.spark_connector.options import batch_source_options
from pyk.spark_connector.planning import OffsetRange
from support.planned_cluster import FakeCluster, ranges_of

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class TestBatchReads:
    def plan(self, cluster: FakeCluster, **options: str) -> list[OffsetRange]:
        given = {"kafka.bootstrap.servers": "x:1", "subscribe": "a"} | options
        return ranges_of(plan_batch(batch_source_options(given), cluster))

    def test_all_records_are_read_by_default(self) -> None:
        cluster = FakeCluster({A0: 9, A1: 3}, starts={A0: 4})

        assert self.plan(cluster) == [OffsetRange("a", 0, 4, 9), OffsetRange("a", 1, 0, 3)]

    def test_ranges_go_from_the_starting_to_the_ending_offsets(self) -> None:
        ranges = self.plan(
            FakeCluster({A0: 9, A1: 3}),
            startingOffsets='{"a":{"0":2,"1":-2}}',
            endingOffsets='{"a":{"0":-1,"1":2}}',
        )

        assert ranges == [OffsetRange("a", 0, 2, 9), OffsetRange("a", 1, 0, 2)]

    def test_an_ending_offset_beyond_the_log_is_an_invalid_option(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        options = {"endingOffsets": '{"a":{"0":12}}'}

        with pytest.raises(
            OptionError, match="a-0 ends at offset 9, before the 12 of endingOff"
        ) as e:
            self.plan(FakeCluster({A0: 9}), **options)
        assert "failOnDataLoss" not in str(e.value), "no advice that would leave rows out"
        with caplog.at_level(logging.WARNING):
            assert self.plan(FakeCluster({A0: 9}), **options, failOnDataLoss="false") == [
                OffsetRange("a", 0, 0, 9)
            ]
        assert "before the 12 of endingOffsets" in caplog.text

    @pytest.mark.parametrize("fail", ["true", "false"])
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"startingOffsets": '{"a":{"0":11}}'}, "starts at offset 11, above its end at 9"),
            (
                {"startingOffsets": '{"a":{"0":11}}', "endingOffsets": '{"a":{"0":-1}}'},
                "starts at offset 11, above its end at 9",
            ),
            (
                {"startingTimestamp": "2000", "endingTimestamp": "1000"},
                "starts at offset 8, above its end at 3",
            ),
            (
                {"startingTimestamp": "2000", "endingOffsets": '{"a":{"0":4}}'},
                "starts at offset 8, above its end at 4",
            ),
        ],
    )
    def test_a_start_after_the_end_is_an_invalid_option(
        self, options: dict[str, str], message: str, fail: str
    ) -> None:
        cluster = FakeCluster({A0: 9}, times={A0: {1000: 3, 2000: 8}})

        with pytest.raises(OptionError, match=f"a-0 {message}"):
            self.plan(cluster, **options, failOnDataLoss=fail)

    def test_a_start_below_the_log_start_is_a_data_loss(self) -> None:
        with pytest.raises(DataLossError, match="a-0 offsets 2 to 3 are gone"):
            self.plan(FakeCluster({A0: 9}, starts={A0: 4}), startingOffsets='{"a":{"0":2}}')

    def test_an_ending_timestamp_after_all_records_ends_at_the_log_end(self) -> None:
        assert self.plan(FakeCluster({A0: 9}), endingTimestamp="5000") == [
            OffsetRange("a", 0, 0, 9)
        ]
