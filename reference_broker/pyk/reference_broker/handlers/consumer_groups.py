"""ConsumerGroupHeartbeat, ConsumerGroupDescribe: groups that the coordinator assigns (KIP-848)."""

from __future__ import annotations

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from pyk.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from pyk.reference_broker.controller.features import GROUP_VERSION
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.consumer.heartbeat import Heartbeat
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

from .ask_group import GroupServices, ask_group
from .context import RequestContext
from .group_descriptions import describe_groups

HeartbeatResponse = ConsumerGroupHeartbeatResponse


def consumer_group_heartbeat(
    services: GroupServices, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> HandlerResult:
    """Let a member join, stay or leave; the response has its assignment if that has changed."""
    if not _is_enabled(services):
        return HeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)

    def may_see(topic: str) -> bool:
        access = context.access
        return access is None or access.may(
            AclOperation.DESCRIBE, ResourceType.TOPIC, topic, is_asked_for=False
        )

    def beat(shard: GroupShard, moment: Moment) -> tuple[HeartbeatResponse, Decision]:
        heartbeat = Heartbeat(
            request=request,
            version=context.version,
            client_id=context.client_id,
            client_host=context.client_host,
            moment=moment,
            may_see=may_see,
        )
        try:
            return shard.consumers.heartbeat(heartbeat)
        except ApiError as error:
            refused = HeartbeatResponse(error_code=error.code, error_message=error.message)
            return refused, NOTHING

    def respond(answer: HeartbeatResponse | ErrorCode) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=answer) if isinstance(answer, ErrorCode) else answer

    return ask_group(services, request.group_id, beat).then(respond)


def consumer_group_describe(
    services: GroupServices, request: ConsumerGroupDescribeRequest, context: RequestContext
) -> HandlerResult:
    """Describe consumer groups and their members."""

    return describe_groups(
        services,
        request,
        DescribedGroup,
        lambda shard, group_id: shard.consumer_groups.describe(group_id),
        are_served=_is_enabled(services),
    ).then(lambda groups: ConsumerGroupDescribeResponse(groups=groups))


def _is_enabled(services: GroupServices) -> bool:
    return services.image.features.get(GROUP_VERSION, 0) > 0
