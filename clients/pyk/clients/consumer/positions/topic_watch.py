"""Find out why subscribed topics cannot be read. Pure.

A topic may not exist, because its name is mistyped, because it is not created yet, or because
it was deleted. It may be forbidden. A pattern may match nothing. None of that shows in a partition:
it is seen in metadata only. A topic that may still appear causes a warning, and shows in
``health()``. An error that needs a change, above all a missing authorization, is raised to the
caller that asks for records, once for each response with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pyk.clients.engine.metadata import MetadataImage, TopicMetadata, leaderless
from pyk.clients.engine.topic_names import unknown_topic
from pyk.clients.errors import KafkaError, UnknownTopicOrPartitionError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import counted
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode

# A broker that has just started knows no topic for a moment.
GONE_SECONDS = 5.0
WARNING_INTERVAL_SECONDS = 60.0


class MissingTopics:
    """The topics that brokers say do not exist, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def observe(self, topics: Iterable[str], image: MetadataImage, now: float) -> None:
        """Record which of the topics a response calls unknown."""
        found = map(image.topic, topics)
        missing = [topic.name for topic in found if topic is not None and topic.is_missing]
        self._since = {name: self._since.get(name, now) for name in missing}

    def gone(self, now: float) -> frozenset[str]:
        """Return the topics that all responses have called unknown for so long that they are
        gone."""
        return frozenset(name for name, since in self._since.items() if now - since >= GONE_SECONDS)


class TopicWatch:
    """The problems of the topics that a consumer subscribes to."""

    def __init__(self) -> None:
        self.errors: dict[str, KafkaError] = {}
        """The errors by topic, or by the pattern that matches no topic."""
        self._missing = MissingTopics()
        self._missing_partitions: dict[str | TopicPartition, KafkaError] = {}
        self._unraised: list[KafkaError] = []
        self._warned_at: dict[str | TopicPartition, float] = {}

    def observe(
        self,
        topics: Collection[str],
        pattern: str | None,
        image: MetadataImage,
        now: float,
        assigned: Collection[TopicPartition] = (),
    ) -> None:
        """Check the subscribed topics in a response; ``pattern`` is the subscribed one, if any."""
        self._missing.observe(topics, image, now)
        found = {name: _error(image.topic(name)) for name in topics}
        if pattern is not None and not topics:
            found[pattern] = UnknownTopicOrPartitionError(
                f"no topic matches the pattern {pattern!r}, as far as this client may see them"
            )
        # Any thread may go through these errors at this moment, so they do not change any more.
        self.errors = {name: error for name, error in found.items() if error is not None}
        self._unraised = [error for error in self.errors.values() if not error.retriable]
        missing = ((each, missing_partition(each, image)) for each in sorted(assigned))
        self._missing_partitions = {each: error for each, error in missing if error is not None}
        known: set[str | TopicPartition] = {*self.errors, *self._missing_partitions}
        self._warned_at = {name: at for name, at in self._warned_at.items() if name in known}

    @property
    def has_error(self) -> bool:
        """Whether there is an error to raise: one that is not retriable."""
        return bool(self._unraised)

    def take_error(self) -> KafkaError | None:
        """Return the error to raise to the application, once for each response."""
        return self._unraised.pop() if self._unraised else None

    def gone(self, now: float) -> frozenset[str]:
        """Return the topics that do not exist any more."""
        return self._missing.gone(now)

    def due_warnings(self, now: float) -> list[KafkaError]:
        """Return the errors to log now: each once a minute."""
        gone = self.gone(now)
        warnings: dict[str | TopicPartition, KafkaError] = {
            name: error
            for name, error in self.errors.items()
            if error.retriable and (name in gone or error.topic is None)
        }
        warnings.update(self._missing_partitions)
        latest = now - WARNING_INTERVAL_SECONDS
        due = [name for name in warnings if self._warned_at.get(name, latest) <= latest]
        self._warned_at.update(dict.fromkeys(due, now))
        return [warnings[name] for name in due]


def unavailable(partition: TopicPartition, image: MetadataImage) -> KafkaError | None:
    """Return why, by the metadata, a partition cannot be read; None if it can."""
    topic = image.topic(partition.topic)
    error = _error(topic) or missing_partition(partition, image)
    if error is None and image.leader(partition) is None:
        return leaderless(partition)
    return error


def missing_partition(partition: TopicPartition, image: MetadataImage) -> KafkaError | None:
    """Return the error of a partition that its topic does not have, None if it may have it."""
    topic = image.topic(partition.topic)
    if topic is None or not 0 < topic.partition_count <= partition.partition:
        return None
    return UnknownTopicOrPartitionError(
        f"topic {topic.name!r} has no partition {partition.partition}: it has "
        f"{counted(topic.partition_count, 'partition')}",
        topic=partition.topic,
        partition=partition.partition,
    )


def _error(topic: TopicMetadata | None) -> KafkaError | None:
    if topic is None or topic.error_code == ErrorCode.NONE:
        return None
    if topic.is_missing and topic.partitions:
        return UnknownTopicOrPartitionError(
            f"topic {topic.name!r} does not exist any more", topic=topic.name
        )
    if topic.is_missing:
        return unknown_topic(topic.name)
    error = error_for(topic.error_code, topic=topic.name, api_key=ApiKey.METADATA)
    return None if error.retriable else error
