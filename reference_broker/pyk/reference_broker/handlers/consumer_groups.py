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
from pyk.reference_broker.deferred import Deferred, HandlerResult, gather
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

from .ask_group import GroupServices, ask_group, look_at_group
from .context import RequestContext
from .groups import GROUP_OPERATIONS

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

    def respond(groups: list[DescribedGroup]) -> ConsumerGroupDescribeResponse:
        if request.include_authorized_operations:
            for group in groups:
                if not group.error_code:
                    group.authorized_operations = GROUP_OPERATIONS
        return ConsumerGroupDescribeResponse(groups=groups)

    return gather([_describe(services, group_id) for group_id in request.group_ids]).then(respond)


def _describe(services: GroupServices, group_id: str) -> Deferred[DescribedGroup]:
    def view(shard: GroupShard) -> DescribedGroup:
        try:
            return shard.consumer_groups.describe(group_id)
        except ApiError as error:
            return _refused(group_id, error.code, error.message)

    def or_error(described: DescribedGroup | ErrorCode) -> DescribedGroup:
        return _refused(group_id, described) if isinstance(described, ErrorCode) else described

    refused: Deferred[DescribedGroup] = Deferred()
    if not _is_enabled(services):
        refused.complete(_refused(group_id, ErrorCode.UNSUPPORTED_VERSION))
        return refused
    if not group_id:
        refused.complete(_refused(group_id, ErrorCode.INVALID_GROUP_ID))
        return refused
    return look_at_group(services, group_id, view).then(or_error)


def _refused(group_id: str, code: ErrorCode, message: str | None = None) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=code, error_message=message)


def _is_enabled(services: GroupServices) -> bool:
    return services.image.features.get(GROUP_VERSION, 0) > 0
