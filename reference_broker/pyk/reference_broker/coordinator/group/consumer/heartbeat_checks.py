"""Checks of ConsumerGroupHeartbeat, in Kafka's order and with its messages. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.protocol.patterns import InvalidPatternError, Pattern
from pyk.reference_broker.errors import ApiError

from .assignment import Assignment
from .member import JOINING, LEAVING, LEAVING_STATIC, ConsumerMember

FIRST_VERSION_WITH_OWN_MEMBER_ID = 1


def check_request(
    request: ConsumerGroupHeartbeatRequest, version: int, assignors: Sequence[str]
) -> None:
    """Raise unless the request makes sense by itself."""
    epoch = request.member_epoch
    has_chosen_id = version >= FIRST_VERSION_WITH_OWN_MEMBER_ID
    if has_chosen_id or epoch > JOINING or epoch == LEAVING:
        _check_not_blank(request.member_id, "MemberId")
    _check_not_blank(request.group_id, "GroupId")
    _check_not_blank(request.instance_id, "InstanceId")
    _check_not_blank(request.rack_id, "RackId")
    if epoch == JOINING:
        _check_join(request)
    elif epoch == LEAVING_STATIC and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < LEAVING_STATIC:
        raise _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: "
            f"{', '.join(assignors)}.",
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )


def check_epoch(member: ConsumerMember, epoch: int, owned: Assignment | None) -> None:
    """Raise unless a heartbeat has the epoch of the member.

    The one before is taken from a member that has nothing which it should not have: it probably did
    not get the last answer.
    """
    if epoch == member.epoch:
        return
    if epoch == member.previous_epoch and epoch < member.epoch and _is_part(owned, member):
        return
    relation = "greater" if epoch > member.epoch else "smaller"
    raise ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by "
        f"the group coordinator ({member.epoch}). The member must abandon all its partitions and "
        "rejoin.",
    )


def _is_part(owned: Assignment | None, member: ConsumerMember) -> bool:
    return owned is not None and all(
        partitions <= member.assigned.get(topic_id, {}).keys()
        for topic_id, partitions in owned.items()
    )


def check_not_fenced(member: ConsumerMember, member_id: str) -> None:
    """Raise if an instance id belongs to another member by now."""
    if member.member_id != member_id:
        raise ApiError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {member.instance_id} was fenced by member "
            f"{member.member_id}.",
        )


def check_released(member: ConsumerMember, member_id: str) -> None:
    """Raise unless a static member has left for a while, so that another takes its place."""
    if member.epoch != LEAVING_STATIC:
        raise ApiError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {member.instance_id} cannot join the "
            f"group because the instance id is owned by {member.member_id} member.",
        )


def compiled_pattern(text: str) -> Pattern:
    """Return the pattern of a subscription; raise if it is no regular expression."""
    try:
        return Pattern(text)
    except InvalidPatternError as error:
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{text}` is not a valid regular expression: {error.reason}.",
        ) from None


def _check_not_blank(value: str | None, name: str) -> None:
    if value is not None and not value.strip():
        raise _invalid(f"{name} can't be empty.")


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)
