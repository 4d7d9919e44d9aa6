"""The cluster as the driver of a query sees it, by an admin client."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from threading import Event
from typing import NamedTuple, TypeVar
from uuid import UUID

from pyk.clients import Admin, ListedOffset, OffsetSpec
from pyk.clients.errors import KafkaError, SeveralErrors, UnknownTopicOrPartitionError
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime.clock import Clock
from pyk.runtime.system_clock import SystemClock
from pyk.spark_connector.client_properties import admin_properties
from pyk.spark_connector.errors import ReadError, describe_error
from pyk.spark_connector.offsets import OffsetMap
from pyk.spark_connector.options import SourceOptions
from pyk.spark_connector.retrying import RetryPolicy

T = TypeVar("T")

CLOSE_TIMEOUT = 5.0
# An idle query asks for its latest offset a hundred times a second; new partitions are not urgent.
DISCOVERY_INTERVAL = 1.0


class Topic(NamedTuple):
    """A topic as the cluster describes it now."""

    name: str
    partition_count: int
    id: str | None


class KafkaCluster:
    """Implements :class:`~pyk.spark_connector.resolving.Cluster` with an admin client.

    ``admin`` is by default an admin client that connects at its first call; ``wait`` is called with
    the seconds between two attempts.
    """

    def __init__(
        self,
        options: SourceOptions,
        *,
        admin: Admin | None = None,
        clock: Clock | None = None,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._subscription = options.subscription
        self._retries = RetryPolicy(
            options.fetch_offset_attempts, options.fetch_offset_retry_interval_ms / 1000
        )
        self._read_committed = options.kafka.get("isolation.level") == "read_committed"
        self._admin = admin or Admin.from_properties(admin_properties(options.kafka))
        self._clock = clock or SystemClock()
        self._wait = wait or Event().wait
        self._topics: list[Topic] = []
        self._found_at = -math.inf
        self._highest: dict[TopicPartition, int] = {}

    def partitions(self) -> frozenset[TopicPartition]:
        """Return the partitions that the query reads; new ones are seen within a second."""
        if self._subscription.partitions is not None:
            return self._subscription.partitions
        self._refresh_topics(DISCOVERY_INTERVAL)
        return frozenset(
            TopicPartition(topic.name, number)
            for topic in self._topics
            for number in range(topic.partition_count)
        )

    def topic_ids(self, *, fresh: bool = False) -> dict[str, str]:
        """Return the ids of the topics in Kafka's notation, where the cluster has them."""
        self._refresh_topics(0.0 if fresh else DISCOVERY_INTERVAL)
        return {topic.name: topic.id for topic in self._topics if topic.id is not None}

    def log_start(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        """Return the first offset of each partition; one that does not exist is left out."""
        found = self._ask("the first offsets", lambda: self._existing(partitions))
        return {one: listed.offset for one, listed in found.items() if listed is not None}

    def latest(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        """Return the end of each partition, or its last stable offset for ``read_committed``.

        For a moment a new leader may know a lower end than the leader before it. So an end that is
        lower than before is asked for again, ``fetchOffset.numRetries`` times, before it counts.
        """
        ends = self._ends(partitions)
        for _ in range(self._retries.attempts - 1):
            if all(self._highest.get(one, 0) <= end for one, end in ends.items()):
                break
            self._wait(self._retries.interval)
            ends = self._ends(partitions)
        self._highest.update(ends)
        return ends

    def written(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        """Return the end of each partition, behind transactions that are open, too."""
        times = dict.fromkeys(partitions, OffsetSpec.LATEST)
        found = self._ask("the ends", lambda: self._admin.list_offsets(times, read_committed=False))
        return {one: listed.offset for one, listed in found.items() if listed is not None}

    def at_times(self, timestamps_ms: OffsetMap) -> Mapping[TopicPartition, int | None]:
        """Return the first offset whose timestamp is not before a time, None if there is none."""
        found = self._ask("offsets for times", lambda: self._list(timestamps_ms))
        return {one: None if listed is None else listed.offset for one, listed in found.items()}

    def commit(self, group_id: str, offsets: OffsetMap) -> None:
        """Commit these offsets for a group without members."""
        self._ask(
            f"whether group {group_id!r} committed",
            lambda: self._admin.alter_consumer_group_offsets(group_id, offsets),
        )

    def close(self) -> None:
        """Free the connections."""
        with suppress(KafkaError):
            self._admin.close(CLOSE_TIMEOUT)

    def _refresh_topics(self, interval: float) -> None:
        """Fetch the topics, unless they were fetched less than ``interval`` seconds ago."""
        now = self._clock.now()
        if now - self._found_at >= interval:
            self._topics = self._ask("the partitions", self._discover)
            self._found_at = now

    def _discover(self) -> list[Topic]:
        pattern = self._subscription.pattern
        if pattern is None:
            described = self._admin.describe_topics(self._subscription.topic_names).values()
            return [Topic(one.name, len(one.partitions), _text(one.topic_id)) for one in described]
        return [
            Topic(one.name, one.partition_count, _text(one.topic_id))
            for one in self._admin.list_topics().values()
            if pattern.fullmatch(one.name)
        ]

    def _ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        times = dict.fromkeys(partitions, OffsetSpec.LATEST)
        found = self._ask("the latest offsets", lambda: self._list(times))
        return {one: listed.offset for one, listed in found.items() if listed is not None}

    def _existing(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, ListedOffset | None]:
        try:
            return self._list(dict.fromkeys(partitions, OffsetSpec.EARLIEST))
        except UnknownTopicOrPartitionError:
            return {}
        except SeveralErrors as several:
            if all(isinstance(e, UnknownTopicOrPartitionError) for e in several.errors.values()):
                return several.results
            raise

    def _list(
        self, times: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, ListedOffset | None]:
        if not times:
            return {}
        return self._admin.list_offsets(times, read_committed=self._read_committed)

    def _ask(self, what: str, ask: Callable[[], T]) -> T:
        """Call ``ask`` with the retries of ``fetchOffset.numRetries`` and ``.retryIntervalMs``."""
        try:
            return self._retries.ask(what, ask, self._wait)
        except KafkaError as error:
            raise ReadError(f"cannot learn {what}: {describe_error(error)}") from error


def _text(topic_id: UUID | None) -> str | None:
    """Return an id as Kafka's own tools show it."""
    if topic_id is None:
        return None
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
