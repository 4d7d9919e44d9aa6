"""ShareGroupHeartbeat, ShareGroupDescribe: groups whose members share partitions (KIP-932)."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from pyk.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from pyk.reference_broker.controller.features import SHARE_VERSION
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.group.share.heartbeat import ShareHeartbeat
from pyk.reference_broker.deferred import Deferred, HandlerResult, gather
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

from .ask_group import GroupServices, ask_group, look_at_group
from .context import RequestContext
from .groups import GROUP_OPERATIONS


def has_share_groups(image: MetadataImage) -> bool:
    """Return whether the cluster has share groups: ``share.version`` is not 0."""
    return image.features.get(SHARE_VERSION, 0) > 0


def share_group_heartbeat(
    services: GroupServices, request: ShareGroupHeartbeatRequest, context: RequestContext
) -> HandlerResult:
    """Let a member join, stay or leave; the response has its assignment if that has changed."""
    if not has_share_groups(services.image):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)

    def beat(shard: GroupShard, moment: Moment) -> tuple[ShareGroupHeartbeatResponse, Decision]:
        heartbeat = ShareHeartbeat(
            request=request,
            client_id=context.client_id,
            client_host=context.client_host,
            moment=moment,
        )
        try:
            return shard.shares.heartbeat(heartbeat)
        except ApiError as error:
            refused = ShareGroupHeartbeatResponse(
                error_code=error.code, error_message=error.message
            )
            return refused, NOTHING

    def respond(answer: ShareGroupHeartbeatResponse | ErrorCode) -> ShareGroupHeartbeatResponse:
        if isinstance(answer, ErrorCode):
            return ShareGroupHeartbeatResponse(error_code=answer)
        return answer

    return ask_group(services, request.group_id, beat).then(respond)


def share_group_describe(
    services: GroupServices, request: ShareGroupDescribeRequest, context: RequestContext
) -> HandlerResult:
    """Describe share groups and their members."""

    def respond(groups: list[DescribedGroup]) -> ShareGroupDescribeResponse:
        if request.include_authorized_operations:
            for group in groups:
                if not group.error_code:
                    group.authorized_operations = GROUP_OPERATIONS
        return ShareGroupDescribeResponse(groups=groups)

    return gather([_describe(services, group_id) for group_id in request.group_ids]).then(respond)


def _describe(services: GroupServices, group_id: str) -> Deferred[DescribedGroup]:
    def view(shard: GroupShard) -> DescribedGroup:
        try:
            return shard.share_groups.describe(group_id)
        except ApiError as error:
            return _refused(group_id, error.code, error.message)

    def or_error(described: DescribedGroup | ErrorCode) -> DescribedGroup:
        return _refused(group_id, described) if isinstance(described, ErrorCode) else described

    refused: Deferred[DescribedGroup] = Deferred()
    if not has_share_groups(services.image):
        refused.complete(_refused(group_id, ErrorCode.UNSUPPORTED_VERSION))
        return refused
    if not group_id:
        refused.complete(_refused(group_id, ErrorCode.INVALID_GROUP_ID))
        return refused
    return look_at_group(services, group_id, view).then(or_error)


def _refused(group_id: str, code: ErrorCode, message: str | None = None) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=code, error_message=message)
