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
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError
from pyk.runtime.timers import Moment

from .ask_group import GroupServices, ask_group
from .context import RequestContext
from .group_descriptions import describe_groups


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

    return describe_groups(
        services,
        request,
        DescribedGroup,
        lambda shard, group_id: shard.share_groups.describe(group_id),
        are_served=has_share_groups(services.image),
    ).then(lambda groups: ShareGroupDescribeResponse(groups=groups))
