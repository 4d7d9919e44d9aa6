"""What the driver of a query requests from the cluster, and how it retries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import attrs
import pytest

from pyk.clients import Admin, ListedOffset, OffsetSpec, TopicPartition
from pyk.clients.errors import (
    BootstrapError,
    KafkaError,
    KafkaTimeoutError,
    NetworkError,
    SeveralErrors,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from pyk.runtime.virtual_time import VirtualClock
from pyk.spark_connector.errors import ReadError
from pyk.spark_connector.kafka_cluster import KafkaCluster
from pyk.spark_connector.options import source_options

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def unknown(topic: str) -> UnknownTopicOrPartitionError:
    return UnknownTopicOrPartitionError("there is no such topic", topic=topic)


@attrs.define
class FakeAdmin:
    """Topics by name with their end offsets; raises the given failures first."""

    topics: dict[str, list[int]]
    failures: list[KafkaError] = attrs.field(factory=list)
    asked: list[str] = attrs.field(factory=list)
    read_committed: bool | None = None
    ids: dict[str, UUID | None] = attrs.field(factory=dict)

    def describe_topics(self, names: Iterable[str]) -> dict[str, Any]:
        self._ask("describe")
        return {name: self._topic(name) for name in names}

    def list_topics(self) -> dict[str, Any]:
        self._ask("list")
        return {name: self._topic(name) for name in self.topics}

    def list_offsets(
        self, times: Mapping[TopicPartition, int], *, read_committed: bool
    ) -> dict[TopicPartition, ListedOffset | None]:
        self._ask("offsets")
        self.read_committed = read_committed
        found = {one: self._offset(one, time) for one, time in times.items() if self._has(one)}
        errors: dict[TopicPartition, KafkaError] = {
            one: unknown(one.topic) for one in times if not self._has(one)
        }
        if not errors:
            return found
        raise SeveralErrors("some failed", errors, found) if found else unknown("a")

    def alter_consumer_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> None:
        self._ask("commit")

    def close(self, timeout: float) -> None:
        self.asked.append("close")

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.failures:
            raise self.failures.pop(0)

    def _topic(self, name: str) -> SimpleNamespace:
        count = len(self.topics[name])
        return SimpleNamespace(
            name=name,
            partitions=range(count),
            partition_count=count,
            topic_id=self.ids.get(name, UUID(int=1)),
        )

    def _has(self, partition: TopicPartition) -> bool:
        return partition.partition < len(self.topics.get(partition.topic, ()))

    def _offset(self, partition: TopicPartition, time: int) -> ListedOffset | None:
        end = self.topics[partition.topic][partition.partition]
        if time > end:
            return None
        places = {OffsetSpec.LATEST: end, OffsetSpec.EARLIEST: 0}
        return ListedOffset(places.get(OffsetSpec(time), time) if time < 0 else time, None, None)


class Harness:
    """A cluster over a fake admin client, in virtual time."""

    def __init__(self, admin: FakeAdmin, **options: str) -> None:
        given = {"kafka.bootstrap.servers": "x:1"} | (options or {"subscribe": "a"})
        self.clock = VirtualClock()
        self.cluster = KafkaCluster(
            source_options(given),
            admin=cast(Admin, admin),
            clock=self.clock,
            wait=self.clock.advance,
        )


def test_partitions_of_the_topics_are_listed() -> None:
    assert Harness(FakeAdmin({"a": [5, 6]})).cluster.partitions() == {A0, A1}


def test_new_partitions_are_requested_once_a_second() -> None:
    admin = FakeAdmin({"a": [5]})
    harness = Harness(admin)
    harness.cluster.partitions()
    admin.topics["a"].append(0)

    harness.clock.advance(0.9)
    assert harness.cluster.partitions() == {A0}
    harness.clock.advance(0.1)
    assert harness.cluster.partitions() == {A0, A1}
    assert admin.asked == ["describe", "describe"]


def test_a_pattern_matches_whole_names() -> None:
    admin = FakeAdmin({"a": [5], "ab": [5], "ba": [5]})

    cluster = Harness(admin, subscribePattern="a.?").cluster

    assert {partition.topic for partition in cluster.partitions()} == {"a", "ab"}


def test_assigned_partitions_need_no_request() -> None:
    admin = FakeAdmin({"a": [5, 6]})

    assert Harness(admin, assign='{"a":[1]}').cluster.partitions() == {A1}
    assert admin.asked == []


def test_topics_have_ids_that_change_when_they_are_created_again() -> None:
    admin = FakeAdmin({"a": [5]})
    harness = Harness(admin)
    cluster = harness.cluster
    cluster.partitions()
    before = cluster.topic_ids()
    admin.ids["a"] = UUID(int=7)

    assert before == {"a": "AAAAAAAAAAAAAAAAAAAAAQ"}
    assert cluster.topic_ids() == before, "as seen with the partitions"
    assert cluster.topic_ids(fresh=True) == {"a": "AAAAAAAAAAAAAAAAAAAABw"}
    assert admin.asked == ["describe", "describe"]


def test_a_topic_without_an_id_has_id_none() -> None:
    admin = FakeAdmin({"a": [5]}, ids={"a": None})

    assert Harness(admin).cluster.topic_ids() == {}


@pytest.mark.parametrize(
    "options", [{"assign": '{"a":[1]}'}, {"subscribePattern": "a"}], ids=["assign", "pattern"]
)
def test_topic_ids_are_those_of_subscribed_topics(options: dict[str, str]) -> None:
    admin = FakeAdmin({"a": [5, 6], "b": [5]})

    assert Harness(admin, **options).cluster.topic_ids().keys() == {"a"}


def test_an_unknown_topic_is_retried_until_it_is_created() -> None:
    admin = FakeAdmin({"a": [5]}, failures=[unknown("a"), unknown("a")])
    harness = Harness(admin)

    assert harness.cluster.partitions() == {A0}
    assert harness.clock.now() == 2


def test_an_unknown_topic_fails_after_the_retries() -> None:
    admin = FakeAdmin({}, failures=[unknown("a")] * 3)

    with pytest.raises(ReadError, match=r"UNKNOWN_TOPIC_OR_PARTITION \(3\).*topic 'a'"):
        Harness(admin).cluster.partitions()


OUTAGE = [
    BootstrapError("no bootstrap server answers"),
    KafkaTimeoutError("no broker answered in 60 s"),
    NetworkError("the connection ended"),
]


@pytest.mark.parametrize("failure", OUTAGE, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "ask",
    [
        lambda cluster: cluster.partitions(),
        lambda cluster: cluster.log_start([A0]),
        lambda cluster: cluster.latest([A0]),
        lambda cluster: cluster.at_times({A0: 4}),
        lambda cluster: cluster.commit("g", {A0: 4}),
    ],
    ids=["partitions", "log_start", "latest", "at_times", "commit"],
)
def test_every_request_is_retried_as_often_as_the_options_say(
    ask: Callable[[KafkaCluster], object], failure: KafkaError
) -> None:
    options = {"fetchOffset.numRetries": "5", "fetchOffset.retryIntervalMs": "20000"}
    admin = FakeAdmin({"a": [5]}, failures=[failure] * 4)
    harness = Harness(admin, subscribe="a", **options)

    ask(harness.cluster)

    assert harness.clock.now() == 80
    admin.failures = [failure] * 5
    with pytest.raises(ReadError, match=type(failure).__name__ if failure.code is None else "13|7"):
        ask(Harness(admin, subscribe="a", **options).cluster)


def test_an_error_that_is_not_retriable_is_raised_at_once() -> None:
    admin = FakeAdmin({"a": [5]}, failures=[TopicAuthorizationFailedError("no", topic="a")])
    harness = Harness(admin)

    with pytest.raises(ReadError, match=re.escape("TOPIC_AUTHORIZATION_FAILED (29)")):
        harness.cluster.partitions()

    assert harness.clock.now() == 0


def test_a_read_committed_query_ends_at_the_last_stable_offset() -> None:
    admin = FakeAdmin({"a": [5, 6]})
    options = {"subscribe": "a", "kafka.isolation.level": "read_committed"}

    assert Harness(admin, **options).cluster.latest([A0, A1]) == {A0: 5, A1: 6}
    assert admin.read_committed


def test_what_is_written_includes_open_transactions() -> None:
    admin = FakeAdmin({"a": [5]})
    options = {"subscribe": "a", "kafka.isolation.level": "read_committed"}

    assert Harness(admin, **options).cluster.written([A0]) == {A0: 5}
    assert admin.read_committed is False


def test_an_end_offset_that_went_back_is_requested_again() -> None:
    admin = FakeAdmin({"a": [5]})
    harness = Harness(admin)
    harness.cluster.latest([A0])
    admin.topics["a"] = [3]

    assert harness.cluster.latest([A0]) == {A0: 3}, "in the end it is believed"
    assert harness.clock.now() == 2
    assert admin.asked == ["offsets"] * 4


def test_first_offsets_leave_out_deleted_partitions() -> None:
    cluster = Harness(FakeAdmin({"a": [5]})).cluster

    assert cluster.log_start([A0, A1]) == {A0: 0}
    assert cluster.log_start([A1]) == {}
    assert cluster.log_start([]) == {}


def test_timestamps_after_all_records_have_no_offset() -> None:
    cluster = Harness(FakeAdmin({"a": [5, 6]})).cluster

    assert cluster.at_times({A0: 4, A1: 7}) == {A0: 4, A1: None}


def test_several_failures_are_raised_together() -> None:
    cluster = Harness(FakeAdmin({"a": [5]})).cluster

    with pytest.raises(ReadError, match=r"UNKNOWN_TOPIC_OR_PARTITION \(3\)"):
        cluster.latest([A0, A1])


def test_closing_closes_the_client() -> None:
    admin = FakeAdmin({})

    Harness(admin).cluster.close()

    assert admin.asked == ["close"]
