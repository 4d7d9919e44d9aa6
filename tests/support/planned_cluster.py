"""A cluster as the planners of Spark's batches see it, in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

import attrs

from pyk.clients.topic_partition import TopicPartition
from pyk.runtime.virtual_time import VirtualClock
from pyk.spark_connector.errors import ReadError
from pyk.spark_connector.offsets import OffsetMap
from pyk.spark_connector.options import stream_source_options
from pyk.spark_connector.planning import OffsetRange
from pyk.spark_connector.stream_planner import StreamPlanner


@attrs.define
class FakeCluster:
    """Partitions with a first and an end offset, and for each the times of its records."""

    ends: dict[TopicPartition, int]
    starts: dict[TopicPartition, int] = attrs.field(factory=dict)
    times: dict[TopicPartition, dict[int, int]] = attrs.field(factory=dict)
    commits: list[tuple[str, OffsetMap]] = attrs.field(factory=list)
    refuses_commits: bool = False
    behind_open_transactions: dict[TopicPartition, int] = attrs.field(factory=dict)
    """The ends of what is written, where ``ends`` are those of committed records."""
    on_latest: Callable[[], object] = lambda: None
    ids: dict[str, str] = attrs.field(factory=dict)
    closed: bool = False

    def partitions(self) -> frozenset[TopicPartition]:
        return frozenset(self.ends)

    def topic_ids(self, *, fresh: bool = False) -> dict[str, str]:
        return dict(self.ids)

    def recreate(self, topic: str, end: int) -> None:
        """Delete a topic and create it again, with so many records in each partition."""
        self.ids[topic] += "'"
        self.ends.update({one: end for one in self.ends if one.topic == topic})

    def log_start(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        return {one: self.starts.get(one, 0) for one in partitions if one in self.ends}

    def latest(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        self.on_latest()
        return {one: self.ends[one] for one in partitions}

    def written(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        return {one: self.behind_open_transactions.get(one, self.ends[one]) for one in partitions}

    def at_times(self, timestamps_ms: OffsetMap) -> Mapping[TopicPartition, int | None]:
        return {one: self.times.get(one, {}).get(time) for one, time in timestamps_ms.items()}

    def commit(self, group_id: str, offsets: OffsetMap) -> None:
        if self.refuses_commits:
            raise ReadError("the group has members")
        self.commits.append((group_id, offsets))

    def close(self) -> None:
        self.closed = True


def planner(cluster: FakeCluster, **options: str) -> StreamPlanner:
    given = {"kafka.bootstrap.servers": "x:1", "subscribe": "a"} | options
    clock = VirtualClock()
    return StreamPlanner(stream_source_options(given), cluster, clock, wait=clock.advance)


def ranges_of(tasks: list[tuple[OffsetRange, ...]]) -> list[OffsetRange]:
    return sorted(one for task in tasks for one in task)


def through_json(offset: dict[str, Any]) -> dict[str, Any]:
    restored = json.loads(json.dumps(offset))
    assert isinstance(restored, dict)
    return restored
