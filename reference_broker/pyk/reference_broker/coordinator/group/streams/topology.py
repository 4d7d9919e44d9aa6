"""The topology of an application, as the group keeps it. Pure.

The first member brings it, and it stays as long as the group: Kafka 4.3 cannot change one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import streams_group_heartbeat as wire
from pyk.protocol.messages.streams_group_records import (
    CopartitionGroup,
    StreamsGroupTopologyValue,
    Subtopology,
    TopicConfig,
    TopicInfo,
)
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted


@slotted.frozen
class Topology:
    """The subtopologies of an application, by id."""

    epoch: int
    subtopologies: Mapping[str, Subtopology]

    @property
    def topic_names(self) -> frozenset[str]:
        """All topics that tasks read, or keep their stores in."""
        return frozenset(
            name
            for each in self.subtopologies.values()
            for name in (*source_names(each), *_names(each.state_changelog_topics))
        )

    def reader_of(self, topic: str) -> str | None:
        """Return the subtopology that reads a topic, None if there is none."""
        found = None
        for subtopology_id, each in self.subtopologies.items():
            if topic in source_names(each):
                found = subtopology_id
        return found


def source_names(subtopology: Subtopology) -> tuple[str, ...]:
    """Return the topics that a subtopology reads: those of others, and its repartition topics."""
    return (*subtopology.source_topics, *_names(subtopology.repartition_source_topics))


def _names(topics: Iterable[TopicInfo]) -> Iterator[str]:
    return (each.name for each in topics)


def topology_of(value: StreamsGroupTopologyValue) -> Topology:
    """Return the topology in a record."""
    return Topology(value.epoch, {each.subtopology_id: each for each in value.subtopologies})


# -- what a member brings ------------------------------------------------------------------------


def used_topics(topology: wire.Topology) -> list[str]:
    """Return the names of all topics in the topology of a request, each once."""
    return list(
        dict.fromkeys(
            name
            for each in topology.subtopologies
            for name in (
                *each.source_topics,
                *each.repartition_sink_topics,
                *(topic.name for topic in each.repartition_source_topics),
                *(topic.name for topic in each.state_changelog_topics),
            )
        )
    )


def check_topology(topology: wire.Topology) -> None:
    """Raise unless the topology makes sense by itself."""
    for subtopology in topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions:
                raise ApiError(
                    ErrorCode.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {topic.name} must have an undefined partition count, but it "
                    f"is set to {topic.partitions}.",
                )


def topology_record_value(topology: wire.Topology) -> StreamsGroupTopologyValue:
    """Return the record of a topology; raise if it is not valid: Kafka has no message for that."""
    ids = [each.subtopology_id for each in topology.subtopologies]
    if topology.epoch < 0 or len(set(ids)) < len(ids):
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return StreamsGroupTopologyValue(
        epoch=topology.epoch, subtopologies=list(map(_subtopology, topology.subtopologies))
    )


def _subtopology(one: wire.Subtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=one.subtopology_id,
        source_topics=one.source_topics,
        source_topic_regex=one.source_topic_regex,
        state_changelog_topics=list(map(_topic, one.state_changelog_topics)),
        repartition_sink_topics=one.repartition_sink_topics,
        repartition_source_topics=list(map(_topic, one.repartition_source_topics)),
        copartition_groups=[
            CopartitionGroup(
                source_topics=each.source_topics,
                source_topic_regex=each.source_topic_regex,
                repartition_source_topics=each.repartition_source_topics,
            )
            for each in one.copartition_groups
        ],
    )


def _topic(one: wire.TopicInfo) -> TopicInfo:
    return TopicInfo(
        name=one.name,
        partitions=one.partitions,
        replication_factor=one.replication_factor,
        topic_configs=[TopicConfig(key=each.key, value=each.value) for each in one.topic_configs],
    )
