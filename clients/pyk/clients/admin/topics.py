"""Topics as the admin client creates, grows and deletes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from pyk.clients.admin.fields import check_replicas
from pyk.clients.admin.topic_listings import known_id
from pyk.clients.errors import KafkaError, UnsupportedVersionError, error_for
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from pyk.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pyk.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from pyk.runtime import slotted

FIRST_VERSION_OF_TOPIC_STATES = 6
FIRST_VERSION_WITH_DEFAULTS = 4
"""The brokers of CreateTopics before have no defaults for partitions and replicas (KIP-464)."""
INT16_MAX = (1 << 15) - 1
INT32_MAX = (1 << 31) - 1


@slotted.frozen
class NewTopic:
    """A topic to create."""

    name: str
    partitions: int | None = None
    """None for the broker's ``num.partitions``, since Kafka 2.4."""
    replication_factor: int | None = slotted.field(default=None, kw_only=True)
    """None for the broker's ``default.replication.factor``, since Kafka 2.4."""
    configs: Mapping[str, str] | None = slotted.field(default=None, kw_only=True)
    """Settings under Kafka's dotted names."""
    assignments: Mapping[int, tuple[int, ...]] = slotted.field(factory=dict, kw_only=True)
    """The brokers of each partition, the preferred leader first, to assign them by hand."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"the name of a topic must be a str, not {self.name!r}")
        for what, highest in (("partitions", INT32_MAX), ("replication_factor", INT16_MAX)):
            if (number := getattr(self, what)) is not None:
                _check_number(f"{what} of NewTopic({self.name!r})", number, highest)
        _check_configs(self.name, self.configs)
        what = f"assignments of NewTopic({self.name!r})"
        if not isinstance(self.assignments, Mapping):
            raise TypeError(f"{what} must be {{partition: [broker id]}}, not {self.assignments!r}")
        for partition, replicas in self.assignments.items():
            check_replicas(f"{what}: those of partition {partition!r}", replicas)


def _check_number(what: str, number: object, highest: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{what} must be an int, not {number!r}")
    if number > highest:
        raise ValueError(f"{what} must be {highest} at most, not {number}")


def _check_configs(topic: str, configs: object) -> None:
    what = f"configs of NewTopic({topic!r})"
    if not isinstance(configs, Mapping | None):
        raise TypeError(f"{what} must be {{setting: value}}, not {configs!r}")
    for setting, value in (configs or {}).items():
        if not isinstance(setting, str):
            raise TypeError(f"{what}: the name of a setting must be a str, not {setting!r}")
        if not isinstance(value, str):
            raise TypeError(f"{what}: {setting} must be a str, not {value!r}")


@slotted.frozen
class NewPartitions:
    """The number of partitions that a topic is raised to."""

    count: int
    assignments: Sequence[Sequence[int]] | None = None
    """The brokers of each new partition, the preferred leader first, to assign them by hand."""

    def __attrs_post_init__(self) -> None:
        _check_number("count of NewPartitions", self.count, INT32_MAX)
        for replicas in self.assignments or ():
            check_replicas("assignments of NewPartitions: each", replicas)


@slotted.frozen
class CreatedTopic:
    """A topic that was created, or would be."""

    name: str
    topic_id: UUID | None
    partitions: int | None
    """None where the broker is too old to say, like the next two."""
    replication_factor: int | None
    configs: Mapping[str, str | None]


def by_name(new_topics: Iterable[NewTopic]) -> dict[str, NewTopic]:
    """Return topics by name; raise ``TypeError`` for anything but :class:`NewTopic`, and
    ``ValueError`` for two of one name."""
    found: dict[str, NewTopic] = {}
    listed = (new_topics,) if isinstance(new_topics, NewTopic | str) else new_topics
    if not isinstance(listed, Iterable):
        raise TypeError(f"give a sequence of NewTopic(name, …), not {listed!r}")
    for topic in listed:
        if not isinstance(topic, NewTopic):
            raise TypeError(f"a topic to create is NewTopic(name, …), not {topic!r}")
        if topic.name in found:
            raise ValueError(f"topic {topic.name!r} is given twice")
        found[topic.name] = topic
    return found


def create_topics_request(
    topics: Iterable[NewTopic], timeout_ms: int, *, validate_only: bool
) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[_creatable(topic) for topic in topics],
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )


def first_create_version(topics: Iterable[NewTopic]) -> int | None:
    """Return the version from which on brokers can create these topics, None for all."""
    is_complete = all(
        one.assignments or None not in (one.partitions, one.replication_factor) for one in topics
    )
    return None if is_complete else FIRST_VERSION_WITH_DEFAULTS


def needs_defaults(error: UnsupportedVersionError) -> UnsupportedVersionError:
    """Return the error of a broker that has no defaults, with what helps."""
    text = f"{error}, or give NewTopic both partitions and replication_factor"
    return UnsupportedVersionError(text, node_id=error.node_id)


def _creatable(topic: NewTopic) -> CreatableTopic:
    # An assignment by hand determines partitions and replicas, which must then be -1.
    is_assigned = bool(topic.assignments)
    return CreatableTopic(
        name=topic.name,
        num_partitions=-1 if topic.partitions is None or is_assigned else topic.partitions,
        replication_factor=(
            -1 if topic.replication_factor is None or is_assigned else topic.replication_factor
        ),
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
            for index, brokers in topic.assignments.items()
        ],
        configs=[CreatableTopicConfig(name=n, value=v) for n, v in (topic.configs or {}).items()],
    )


def created_topics(response: CreateTopicsResponse) -> dict[str, CreatedTopic | KafkaError]:
    """Return the outcome of each topic by name."""
    return {topic.name: _created(topic) for topic in response.topics}


def _created(topic: CreatableTopicResult) -> CreatedTopic | KafkaError:
    if topic.error_code != ErrorCode.NONE:
        return error_for(
            topic.error_code,
            topic.error_message,
            topic=topic.name,
            api_key=ApiKey.CREATE_TOPICS,
        )
    return CreatedTopic(
        name=topic.name,
        topic_id=known_id(topic.topic_id),
        partitions=topic.num_partitions if topic.num_partitions >= 0 else None,
        replication_factor=topic.replication_factor if topic.replication_factor >= 0 else None,
        configs={config.name: config.value for config in topic.configs or ()},
    )


def delete_topics_request(
    topics: Iterable[str | UUID], timeout_ms: int, version: int
) -> DeleteTopicsRequest:
    """Return the request that deletes topics, all of them by name or all by id."""
    if version < FIRST_VERSION_OF_TOPIC_STATES:
        names = [one for one in topics if isinstance(one, str)]
        return DeleteTopicsRequest(topic_names=names, timeout_ms=timeout_ms)
    states = [
        DeleteTopicState(topic_id=one) if isinstance(one, UUID) else DeleteTopicState(name=one)
        for one in topics
    ]
    return DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)


def deleted_topics(
    response: DeleteTopicsResponse, *, by_id: bool
) -> dict[str | UUID, KafkaError | None]:
    """Return the outcome of each topic by name, or by id."""
    return {
        topic.topic_id if by_id else topic.name or "": _outcome(
            response.api_key,
            topic.error_code,
            topic.error_message,
            str(topic.topic_id) if topic.name is None else topic.name,
        )
        for topic in response.responses
    }


def create_partitions_request(
    counts: Mapping[str, NewPartitions], timeout_ms: int, *, validate_only: bool
) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(name=name, count=new.count, assignments=_assigned(new))
            for name, new in counts.items()
        ],
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )


def _assigned(new: NewPartitions) -> list[CreatePartitionsAssignment] | None:
    if new.assignments is None:
        return None
    return [CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in new.assignments]


def created_partitions(response: CreatePartitionsResponse) -> dict[str, KafkaError | None]:
    """Return the outcome of each topic by name."""
    return {
        topic.name: _outcome(response.api_key, topic.error_code, topic.error_message, topic.name)
        for topic in response.results
    }


def _outcome(api_key: int, error_code: int, message: str | None, topic: str) -> KafkaError | None:
    if error_code == ErrorCode.NONE:
        return None
    return error_for(error_code, message, topic=topic, api_key=api_key)
