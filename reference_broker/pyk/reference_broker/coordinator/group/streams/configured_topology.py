"""A topology with the topics of the cluster: its tasks, and the internal topics it needs. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.streams_group_heartbeat import Status
from pyk.protocol.messages.streams_group_records import Subtopology, TopicInfo
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .partition_counts import IncorrectlyPartitionedError, PartitionCounts
from .statuses import incorrectly_partitioned, missing_internal_topics, missing_source_topics
from .tasks import TaskId, TaskIds
from .topology import Topology, source_names


@slotted.frozen(kw_only=True)
class InternalTopic:
    """A repartition or changelog topic that the coordinator has created."""

    name: str
    partitions: int
    replication_factor: int
    """0 for the default of the cluster."""
    configs: tuple[tuple[str, str], ...]


@slotted.frozen(kw_only=True)
class ConfiguredSubtopology:
    """A subtopology whose number of tasks is known."""

    task_count: int
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    repartition_source_topics: tuple[InternalTopic, ...]
    state_changelog_topics: tuple[InternalTopic, ...]

    @property
    def is_stateful(self) -> bool:
        return bool(self.state_changelog_topics)

    @property
    def all_sources(self) -> tuple[str, ...]:
        """The topics that its tasks read, in order."""
        names = {*self.source_topics, *(each.name for each in self.repartition_source_topics)}
        return tuple(sorted(names))


@slotted.frozen(kw_only=True)
class ConfiguredTopology:
    """What became of a topology: subtopologies in the order of their ids, or what is wrong."""

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None = None
    """None if the topics do not allow to tell."""
    missing: tuple[InternalTopic, ...] = ()
    """The internal topics that do not exist yet."""
    problem: Status | None = None

    @property
    def is_ready(self) -> bool:
        """Whether tasks can be assigned."""
        return self.problem is None

    def check_tasks(self, tasks: TaskIds) -> None:
        """Raise unless these are tasks of the topology."""
        for subtopology_id, partition in sorted(tasks):
            subtopology = (self.subtopologies or {}).get(subtopology_id)
            if subtopology is None:
                raise _invalid(f"Subtopology {subtopology_id} does not exist in the topology.")
            if not 0 <= partition < subtopology.task_count:
                raise _invalid(
                    f"Task {partition} for subtopology {subtopology_id} is invalid. Number of "
                    f"tasks for this subtopology: {subtopology.task_count}"
                )

    def tasks(self, *, only_stateful: bool = False) -> list[TaskId]:
        """Return all tasks, or those with stores."""
        return [
            TaskId(subtopology_id, partition)
            for subtopology_id, each in (self.subtopologies or {}).items()
            if each.is_stateful or not only_stateful
            for partition in range(each.task_count)
        ]


def configure(topology: Topology, existing: Mapping[str, int]) -> ConfiguredTopology:
    """Return the topology with the topics that exist, each with its number of partitions.

    Raise :class:`ApiError` if no topics could ever fit it.
    """
    missing_sources = {
        name
        for each in topology.subtopologies.values()
        for name in each.source_topics
        if name not in existing
    }
    if missing_sources:
        return ConfiguredTopology(
            epoch=topology.epoch, problem=missing_source_topics(missing_sources)
        )
    try:
        counts = PartitionCounts(topology, existing)
        subtopologies = {
            subtopology_id: _configured(topology.subtopologies[subtopology_id], counts)
            for subtopology_id in sorted(topology.subtopologies)
        }
        missing = _missing(subtopologies, existing)
    except IncorrectlyPartitionedError as error:
        return ConfiguredTopology(epoch=topology.epoch, problem=incorrectly_partitioned(str(error)))
    return ConfiguredTopology(
        epoch=topology.epoch,
        subtopologies=subtopologies,
        missing=missing,
        problem=missing_internal_topics([each.name for each in missing]) if missing else None,
    )


def _configured(subtopology: Subtopology, counts: PartitionCounts) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(
        task_count=max(map(counts.of, source_names(subtopology))),
        source_topics=tuple(sorted(subtopology.source_topics)),
        repartition_sink_topics=tuple(sorted(subtopology.repartition_sink_topics)),
        repartition_source_topics=_internal(subtopology.repartition_source_topics, counts),
        state_changelog_topics=_internal(subtopology.state_changelog_topics, counts),
    )


def _internal(topics: list[TopicInfo], counts: PartitionCounts) -> tuple[InternalTopic, ...]:
    if any(each.partitions < 0 for each in topics):
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # as in Kafka, without a message
    return tuple(
        InternalTopic(
            name=each.name,
            partitions=each.partitions or counts.decided[each.name],
            replication_factor=each.replication_factor,
            configs=tuple((config.key, config.value) for config in each.topic_configs),
        )
        for each in sorted(topics, key=lambda topic: topic.name)
    )


def _missing(
    subtopologies: Mapping[str, ConfiguredSubtopology], existing: Mapping[str, int]
) -> tuple[InternalTopic, ...]:
    needed = {
        topic.name: topic
        for each in subtopologies.values()
        for topic in (*each.repartition_source_topics, *each.state_changelog_topics)
    }
    for name in sorted(needed.keys() & existing.keys()):
        if existing[name] != needed[name].partitions:
            raise IncorrectlyPartitionedError(
                f"Existing topic {name} has different number of partitions: expected "
                f"{needed[name].partitions}, found {existing[name]}"
            )
    return tuple(topic for name, topic in sorted(needed.items()) if name not in existing)


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)
