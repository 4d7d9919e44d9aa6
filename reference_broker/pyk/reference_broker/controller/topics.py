"""Create and delete topics, add partitions: checks, placement, and the records that say so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.config import InvalidConfigError, check_topic_configs
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .image import TOPIC_RESOURCE, MetadataImage, TopicImage
from .log_dirs import default_directory
from .metadata_versions import DIRECTORY_ASSIGNMENT
from .names import CLUSTER_METADATA_TOPIC, check_topic_name, unified_name

if TYPE_CHECKING:
    from pyk.protocol.messages.create_partitions import CreatePartitionsTopic
    from pyk.protocol.messages.create_topics import CreatableTopic

USE_DEFAULT = -1
MAX_PARTITIONS_PER_REQUEST = 10_000
MAX_RECORDS_PER_REQUEST = 10_000
"""How many metadata records one CreateTopics may make, as in Kafka: topics, configs, partitions."""
NO_SUCH_TOPIC = "This server does not host this topic-partition."


@slotted.frozen(kw_only=True)
class TopicDefaults:
    """The defaults of a new topic."""

    partitions: int = 1
    replication_factor: int = 1
    min_insync_replicas: int = 1


Charge = Callable[[int], object]
"""Charges partitions that are created or deleted to a client; raises :class:`ApiError` if it has
used up its quota (KIP-599)."""


def uncharged(partitions: int) -> None:
    """Charge nobody: there is no quota."""


@slotted.frozen(kw_only=True)
class NewTopic:
    """A topic that may be created, and the records that do so."""

    topic_id: UUID
    partition_count: int
    replication_factor: int
    configs: Mapping[str, str]
    records: tuple[Message, ...]


class Topics:
    """Decides on topics by the metadata image; pure."""

    def __init__(
        self, image: MetadataImage, new_uuid: Callable[[], UUID], defaults: TopicDefaults
    ) -> None:
        self._image = image
        self._new_uuid = new_uuid
        self._defaults = defaults

    # -- creating --------------------------------------------------------------------------------

    def create(self, topic: CreatableTopic) -> NewTopic:
        """Return the new topic with its records; raise :class:`ApiError` if it is not allowed."""
        self._check_name(topic.name)
        configs = _configs(topic)
        if topic.assignments:
            replicas = self._given_replicas(topic)
        else:
            replicas = self._placed_replicas(topic.num_partitions, topic.replication_factor)
        check_record_limit(1 + len(configs) + len(replicas))
        topic_id = self._new_uuid()
        return NewTopic(
            topic_id=topic_id,
            partition_count=len(replicas),
            replication_factor=len(replicas[0]),
            configs=configs,
            records=(
                TopicRecord(name=topic.name, topic_id=topic_id),
                *(_config_record(topic.name, name, value) for name, value in configs.items()),
                *self._partition_records(topic_id, 0, replicas),
            ),
        )

    def check_total(self, topics: Iterable[CreatableTopic]) -> None:
        """Raise if one request asks for too many partitions, whatever else is wrong with it."""
        total = 0
        for topic in topics:
            asked = self._defaults.partitions if topic.num_partitions < 0 else topic.num_partitions
            total += len(topic.assignments) or asked
            _check_partition_limit(total)

    def _check_name(self, name: str) -> None:
        if name == CLUSTER_METADATA_TOPIC:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
            )
        check_topic_name(name)
        if name in self._image.topics:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        colliding = self._image.unified_names.get(unified_name(name))
        if colliding is not None:
            raise ApiError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {colliding}",
            )

    def _placed_replicas(self, partitions: int, replication_factor: int) -> list[list[int]]:
        if replication_factor == USE_DEFAULT:
            replication_factor = self._defaults.replication_factor
        elif replication_factor <= 0:
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if partitions == USE_DEFAULT:
            partitions = self._defaults.partitions
        elif partitions <= 0:
            raise ApiError(
                ErrorCode.INVALID_PARTITIONS,
                "Number of partitions was set to an invalid non-positive value.",
            )
        _check_partition_limit(partitions)
        return self._place(0, partitions, replication_factor)

    def _place(self, first: int, partitions: int, replication_factor: int) -> list[list[int]]:
        """Assign replicas to brokers in turn, each partition starting one broker later."""
        registered = self._image.brokers
        brokers = sorted(node for node, each in registered.items() if each.takes_partitions)
        if registered and not brokers:
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {replication_factor} time(s): All brokers are "
                "currently fenced, or have all their log directories cordoned.",
            )
        if replication_factor > len(brokers):
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {replication_factor} time(s): The target "
                f"replication factor of {replication_factor} cannot be reached because only "
                f"{len(brokers)} broker(s) are registered or some brokers have all their log "
                "directories cordoned.",
            )
        return [
            [brokers[(first + index + turn) % len(brokers)] for turn in range(replication_factor)]
            for index in range(partitions)
        ]

    def _given_replicas(self, topic: CreatableTopic) -> list[list[int]]:
        for value, what in (
            (topic.replication_factor, "replication factor"),
            (topic.num_partitions, "numPartitions"),
        ):
            if value != USE_DEFAULT:
                raise ApiError(
                    ErrorCode.INVALID_REQUEST,
                    f"A manual partition assignment was specified, but {what} was not set to -1.",
                )
        _check_partition_limit(len(topic.assignments))
        by_number = {each.partition_index: each.broker_ids for each in topic.assignments}
        if len(by_number) < len(topic.assignments):
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {_first_twice(topic)}",
            )
        if sorted(by_number) != list(range(len(by_number))):
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "partitions should be a consecutive 0-based integer sequence",
            )
        replicas = [by_number[number] for number in range(len(by_number))]
        self._check_assignment(replicas, len(replicas[0]))
        return replicas

    def _check_assignment(self, replicas: Sequence[Sequence[int]], replication_factor: int) -> None:
        for brokers in replicas:
            if not brokers:
                reason = "includes an empty replica list."
            elif len(set(brokers)) < len(brokers):
                reason = f"includes the broker {brokers[0]} more than once."
            elif not set(brokers) <= set(self._image.brokers):
                unknown = min(set(brokers) - set(self._image.brokers))
                reason = f"includes broker {unknown}, but no such broker is registered."
            elif len(brokers) != replication_factor:
                reason = (
                    f"includes a partition with {len(brokers)} replica(s), but this is not "
                    f"consistent with previous partitions: {replication_factor} "
                    "replica(s)."
                )
            else:
                continue
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment {reason}"
            )

    def _partition_records(
        self, topic_id: UUID, first: int, replicas: Sequence[Sequence[int]]
    ) -> tuple[Message, ...]:
        has_directories = self._image.metadata_version >= DIRECTORY_ASSIGNMENT
        return tuple(
            PartitionRecord(
                partition_id=first + index,
                topic_id=topic_id,
                replicas=list(brokers),
                isr=list(brokers),
                leader=brokers[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=list(map(self._directory_of, brokers)) if has_directories else [],
            )
            for index, brokers in enumerate(replicas)
        )

    def _directory_of(self, node_id: int) -> UUID:
        """Return the directory where a broker puts a new partition, if it has only one."""
        return default_directory(self._image.brokers[node_id].registration.log_dirs)

    # -- adding partitions -----------------------------------------------------------------------

    def add_partitions(self, request: CreatePartitionsTopic) -> tuple[Message, ...]:
        """Return the records that add partitions to a topic; raise :class:`ApiError`."""
        topic = self._image.topics.get(request.name)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        count, current = request.count, len(topic.partitions)
        if count == current:
            raise ApiError(
                ErrorCode.INVALID_PARTITIONS, f"Topic already has {current} partition(s)."
            )
        if count < current:
            raise ApiError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {topic.name} currently has {current} partition(s); {count} would not "
                "be an increase.",
            )
        _check_partition_limit(count - current)
        replication_factor = len(topic.partitions[0].replicas)
        if request.assignments is None:
            replicas = self._place(current, count - current, replication_factor)
        else:
            replicas = [each.broker_ids for each in request.assignments]
            if len(replicas) != count - current:
                raise ApiError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Attempted to add {count - current} additional partition(s), but only "
                    f"{len(replicas)} assignment(s) were specified.",
                )
            self._check_assignment(replicas, replication_factor)
        return self._partition_records(topic.topic_id, current, replicas)

    # -- deleting --------------------------------------------------------------------------------

    def find(self, name: str | None, topic_id: UUID) -> TopicImage:
        """Return the topic that a deletion names, by name or by id; raise :class:`ApiError`."""
        if name is not None and topic_id.int:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id."
            )
        if name is None and not topic_id.int:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
        if name is None:
            by_id = self._image.topics_by_id.get(topic_id)
            if by_id is None:
                raise ApiError(
                    ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."
                )
            return by_id
        topic = self._image.topics.get(name)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_SUCH_TOPIC)
        return topic


def check_record_limit(records: int) -> None:
    """Raise if one request would make too many records."""
    if records > MAX_RECORDS_PER_REQUEST:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
        )


def removal(topic: TopicImage) -> tuple[Message, ...]:
    """Return the records that delete a topic."""
    return (RemoveTopicRecord(topic_id=topic.topic_id),)


def _configs(topic: CreatableTopic) -> dict[str, str]:
    configs: dict[str, str] = {}
    for each in topic.configs:
        if each.value is None:
            raise ApiError(
                ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {each.name}"
            )
        configs[each.name] = each.value
    try:
        check_topic_configs(configs)
    except InvalidConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None
    return configs


def _config_record(topic: str, name: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=topic, name=name, value=value)


def _first_twice(topic: CreatableTopic) -> int:
    numbers = [each.partition_index for each in topic.assignments]
    return next(number for number in numbers if numbers.count(number) > 1)


def _check_partition_limit(partitions: int) -> None:
    if partitions > MAX_PARTITIONS_PER_REQUEST:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )
