"""ShareAcknowledge: what a member of a share group says of the records that it has acquired."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.share.sessions import FINAL_EPOCH

from .context import RequestContext
from .share_requests import Outcomes, ShareServices, acknowledge_all, member_of, tell_leaders


def share_acknowledge(
    services: ShareServices, request: ShareAcknowledgeRequest, context: RequestContext
) -> HandlerResult:
    """Answer when everything is stored. The final epoch then ends the session."""
    share = services.share
    try:
        member = member_of(request)
        share.sessions.acknowledge(member, request.share_session_epoch)
    except ApiError as error:
        return ShareAcknowledgeResponse(error_code=error.code)

    def answer(outcomes: Outcomes) -> ShareAcknowledgeResponse:
        if request.share_session_epoch == FINAL_EPOCH:
            share.close_session(member)
        return _response(services, context, member.group_id, outcomes)

    outcomes = acknowledge_all(services, request, context)
    return outcomes.then(answer)


def _response(
    services: ShareServices, context: RequestContext, group_id: str, outcomes: Outcomes
) -> ShareAcknowledgeResponse:
    topics: dict[UUID, ShareAcknowledgeTopicResponse] = {}
    for name, error in outcomes.items():
        topic = topics.setdefault(
            name.topic_id, ShareAcknowledgeTopicResponse(topic_id=name.topic_id)
        )
        partition = PartitionData(partition_index=name.number)
        if error is not None:
            partition.error_code, partition.error_message = error.code, error.message
        topic.partitions.append(partition)
    response = ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=services.share.settings_of(group_id).lock_duration_ms,
        responses=list(topics.values()),
    )
    tell_leaders(services, context, response, LeaderIdAndEpoch)
    return response
