"""StreamsGroupHeartbeat, StreamsGroupDescribe: groups of Kafka Streams (KIP-1071)."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from pyk.protocol.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from pyk.protocol.messages.streams_group_heartbeat import (
    Status,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Topology,
)
from pyk.protocol.topics import topic_name_error
from pyk.reference_broker.controller.features import STREAMS_VERSION
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.names import INTERNAL_TOPICS
from pyk.reference_broker.controller.topics import USE_DEFAULT
from pyk.reference_broker.coordinator.decision import NOTHING
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.group.streams.configured_topology import InternalTopic
from pyk.reference_broker.coordinator.group.streams.heartbeat import StreamsHeartbeat
from pyk.reference_broker.coordinator.group.streams.membership import Answer, HeartbeatAnswer
from pyk.reference_broker.coordinator.group.streams.statuses import StatusCode
from pyk.reference_broker.coordinator.group.streams.topology import used_topics
from pyk.reference_broker.coordinator.shards import Shards
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.internal_topics import InternalTopics
from pyk.reference_broker.topic_creation import TopicCreator
from pyk.runtime.timers import Moment

from .ask_group import GroupServices, ask_group
from .context import RequestContext
from .forwarding import mutation_charge
from .group_descriptions import describe_groups

MAX_FAILURES_TOLD = 3
CREATE_TOPICS_VERSION = 7
"""The version in which brokers ask the controller."""


class StreamsServices(Protocol):
    """The services that members of streams groups use."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def shards(self) -> Shards: ...
    @property
    def topics(self) -> TopicCreator: ...
    @property
    def internal_topics_of_streams(self) -> InternalTopics: ...


def has_streams_groups(image: MetadataImage) -> bool:
    """Return whether the cluster has streams groups: ``streams.version`` is not 0."""
    return image.features.get(STREAMS_VERSION, 0) > 0


def streams_group_heartbeat(
    services: StreamsServices, request: StreamsGroupHeartbeatRequest, context: RequestContext
) -> HandlerResult:
    """Let a member join, stay or leave; the response has its tasks if those have changed."""
    if not has_streams_groups(services.image):
        return StreamsGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    wrong_names = names_error(request.topology)
    if wrong_names is not None:
        return StreamsGroupHeartbeatResponse(
            error_code=ErrorCode.STREAMS_INVALID_TOPOLOGY, error_message=wrong_names
        )

    def beat(shard: GroupShard, moment: Moment) -> Answer:
        heartbeat = StreamsHeartbeat(
            request=request,
            client_id=context.client_id,
            client_host=context.client_host,
            moment=moment,
        )
        try:
            return shard.streams.heartbeat(heartbeat)
        except ApiError as error:
            refused = StreamsGroupHeartbeatResponse(
                error_code=error.code, error_message=error.message
            )
            return HeartbeatAnswer(refused), NOTHING

    def respond(answer: HeartbeatAnswer | ErrorCode) -> StreamsGroupHeartbeatResponse:
        if isinstance(answer, ErrorCode):
            return StreamsGroupHeartbeatResponse(error_code=answer)
        if answer.missing_topics:
            _create(services, answer, context)
        return answer.response

    return ask_group(services, request.group_id, beat).then(respond)


def names_error(topology: Topology | None) -> str | None:
    """Return why a topology cannot have topics of these names, None if it can."""
    names = [] if topology is None else used_topics(topology)
    prohibited = [name for name in names if name in INTERNAL_TOPICS]
    if prohibited:
        return (
            f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is "
            "prohibited."
        )
    invalid = [name for name in names if topic_name_error(name) is not None]
    return f"Topic names {','.join(invalid)} are not valid topic names." if invalid else None


# -- internal topics -----------------------------------------------------------------------------


def _create(services: StreamsServices, answer: HeartbeatAnswer, context: RequestContext) -> None:
    """Create internal topics for the client, or tell it why there are none."""
    names = [topic.name for topic in answer.missing_topics]
    forbidden = _forbidden(names, context)
    if forbidden:
        _tell(answer.response, f"Unauthorized to CREATE on topics {', '.join(forbidden)}.")
        return
    charge = mutation_charge(ApiKey.CREATE_TOPICS, context, CREATE_TOPICS_VERSION)
    services.internal_topics_of_streams.create(
        map(_creatable, answer.missing_topics),
        lambda topic: services.topics.create(topic, charge),
        remember_ms=2 * answer.response.heartbeat_interval_ms,
    )
    failures = services.internal_topics_of_streams.failures(names)
    if failures:
        listed = [f"{name} ({why})" for name, why in failures.items()]
        told = ", ".join(listed[:MAX_FAILURES_TOLD])
        more = len(listed) - MAX_FAILURES_TOLD
        _tell(
            answer.response,
            f"Creation failed: {told} and {more} more."
            if more > 0
            else f"Creation failed: {told}.",
        )


def _forbidden(names: list[str], context: RequestContext) -> list[str]:
    access = context.access
    if access is None or access.may_on_cluster(AclOperation.CREATE, is_asked_for=False):
        return []
    return [name for name in names if not access.may(AclOperation.CREATE, ResourceType.TOPIC, name)]


def _tell(response: StreamsGroupHeartbeatResponse, more: str) -> None:
    """Add to what the response says of missing internal topics."""
    status: Status = next(
        each
        for each in response.status or ()
        if each.status_code == StatusCode.MISSING_INTERNAL_TOPICS
    )
    response.status = [
        Status(status_code=each.status_code, status_detail=f"{each.status_detail}; {more}")
        if each is status
        else each
        for each in response.status or ()
    ]


def _creatable(topic: InternalTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor or USE_DEFAULT,
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs],
    )


# -- StreamsGroupDescribe ------------------------------------------------------------------------


def streams_group_describe(
    services: GroupServices, request: StreamsGroupDescribeRequest, context: RequestContext
) -> HandlerResult:
    """Describe streams groups, their topologies and members."""

    return describe_groups(
        services,
        request,
        DescribedGroup,
        lambda shard, group_id: shard.streams_groups.describe(group_id),
        are_served=has_streams_groups(services.image),
    ).then(lambda groups: StreamsGroupDescribeResponse(groups=groups))
