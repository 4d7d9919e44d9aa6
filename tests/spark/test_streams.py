"""Streaming reads through a Spark session: every record once, also after restarts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import attrs
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from pyk.clients import Admin, TopicPartition
from pyk.reference_broker import Cluster
from support.spark_topic import Topic

pytestmark = pytest.mark.spark


@attrs.define
class Seen:
    """The values of each batch, by batch id; a batch that runs again is in it twice."""

    batches: list[tuple[int, list[bytes]]] = attrs.field(factory=list)
    failing: bool = False

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        values = [bytes(row.value) for row in frame.collect()]
        if self.failing:
            raise RuntimeError("the sink is down")
        self.batches.append((batch_id, sorted(values)))

    @property
    def counts(self) -> Counter[bytes]:
        return Counter(value for _, values in self.batches for value in values)


def values(first: int, last: int) -> list[bytes]:
    return [b"%04d" % number for number in range(first, last)]


def test_available_now_reads_all_records_and_continues_there_next_time(topic: Topic) -> None:
    seen = Seen()
    stream = topic.stream(startingOffsets="earliest")
    topic.produce(values(0, 500))
    topic.run(stream, seen)
    topic.produce(values(500, 800))
    topic.run(stream, seen)
    topic.run(stream, seen)

    assert seen.counts == Counter(values(0, 800))
    assert [batch_id for batch_id, _ in seen.batches] == [0, 1]


def test_a_batch_is_no_larger_than_max_offsets_per_trigger(topic: Topic) -> None:
    seen = Seen()
    for partition in range(3):
        topic.produce(values(100 * partition, 100 * partition + 100), partition=partition)

    topic.run(topic.stream(startingOffsets="earliest", maxOffsetsPerTrigger=90), seen)

    assert seen.counts == Counter(values(0, 300))
    assert [len(batch) for _, batch in seen.batches] == [90, 90, 90, 30]


def test_batch_0_replayed_after_a_crash_starts_where_it_began(topic: Topic) -> None:
    topic.produce(values(0, 10))
    seen = Seen(failing=True)
    stream = topic.stream(startingOffsets="latest")
    with pytest.raises(StreamingQueryException, match="the sink is down"):
        topic.run(stream, seen)

    topic.produce(values(10, 40))
    seen.failing = False
    topic.run(stream, seen)

    assert seen.counts == Counter(values(10, 40))


def test_a_batch_that_failed_is_replayed_with_the_same_records(topic: Topic) -> None:
    seen = Seen()
    stream = topic.stream(startingOffsets="earliest")
    topic.produce(values(0, 100))
    topic.run(stream, seen)
    topic.produce(values(100, 200))
    seen.failing = True
    with pytest.raises(StreamingQueryException, match="the sink is down"):
        topic.run(stream, seen)
    topic.produce(values(200, 300))
    seen.failing = False
    topic.run(stream, seen)

    assert [(batch_id, len(batch)) for batch_id, batch in seen.batches] == [
        (0, 100),
        (1, 100),
        (2, 100),
    ]
    assert seen.counts == Counter(values(0, 300))


def test_progress_shows_the_lag_and_sparks_own_offsets(topic: Topic) -> None:
    topic.produce(values(0, 100), partition=1)

    query = topic.run(topic.stream(startingOffsets="earliest", maxOffsetsPerTrigger=60), Seen())

    first, second = (json.loads(p.sources[0].json) for p in query.recentProgress if p.numInputRows)
    assert first["latestOffset"] == {topic.name: {"0": 0, "1": 100, "2": 0}}
    assert first["endOffset"][topic.name] == {"0": 0, "1": 60, "2": 0}
    assert second["startOffset"][topic.name]["1"] == 60
    assert second["endOffset"][topic.name] == {"0": 0, "1": 100, "2": 0}


def test_new_partitions_are_read_from_their_beginning(topic: Topic, cluster: Cluster) -> None:
    seen = Seen()
    stream = topic.stream(startingOffsets="latest")
    topic.run(stream, seen)
    topic.produce(values(0, 5), partition=0)
    topic.run(stream, seen)
    with Admin(cluster.bootstrap) as admin:
        admin.create_partitions({topic.name: 5})
    topic.produce(values(5, 9), partition=4)
    topic.run(stream, seen)

    assert seen.counts == Counter(values(0, 9))


def test_topics_are_found_by_pattern(make_topic: Callable[..., Topic]) -> None:
    seen = Seen()
    first, second = make_topic(), make_topic()
    first.produce(values(0, 5))
    second.produce(values(5, 9))
    pattern = f"{first.name}|{second.name}"

    frame = (
        first.stream(startingOffsets="earliest")
        .sparkSession.readStream.format("pyk")
        .options(**first.servers, subscribePattern=pattern, startingOffsets="earliest")
    )
    first.run(frame.load(), seen)

    assert seen.counts == Counter(values(0, 9))


def test_lost_records_fail_the_query_or_are_skipped(topic: Topic, cluster: Cluster) -> None:
    seen = Seen()
    topic.produce(values(0, 10), partition=0)
    topic.run(topic.stream(startingOffsets="earliest"), seen)
    topic.produce(values(10, 30), partition=0)
    with Admin(cluster.bootstrap) as admin:
        admin.delete_records({TopicPartition(topic.name, 0): 15})

    place = rf"\[PYK_DATA_LOSS\] {topic.name}-0 offsets 10 to 14 are gone"
    with pytest.raises(StreamingQueryException, match=place):
        topic.run(topic.stream(), seen)
    topic.run(topic.stream(failOnDataLoss="false"), seen)

    assert seen.counts == Counter(values(0, 10) + values(15, 30))


def test_offsets_of_the_query_are_committed_to_the_group(topic: Topic, cluster: Cluster) -> None:
    topic.produce(values(0, 10), partition=1)
    options = {"kafka.group.id": "watched", "commitOffsetsToGroup": "true"}

    topic.run(topic.stream(startingOffsets="earliest", **options), Seen())

    with Admin(cluster.bootstrap) as admin:
        lag = admin.lag("watched")
    assert {partition.partition: one.committed_offset for partition, one in lag.items()} == {
        0: 0,
        1: 10,
        2: 0,
    }


def test_a_running_query_reads_records_as_they_arrive(topic: Topic) -> None:
    seen = Seen()
    query = topic.start(topic.stream(startingOffsets="latest"), seen)

    topic.produce(values(0, 50))
    query.processAllAvailable()
    topic.produce(values(50, 80))
    query.processAllAvailable()
    query.stop()

    assert seen.counts == Counter(values(0, 80))
