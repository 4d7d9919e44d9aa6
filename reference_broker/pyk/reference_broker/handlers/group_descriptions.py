"""Describe groups of the types that the coordinator assigns: consumer, share, streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.deferred import Deferred, gather
from pyk.reference_broker.errors import ApiError

from .ask_group import GroupServices, look_at_group
from .groups import GROUP_OPERATIONS

if TYPE_CHECKING:
    from pyk.protocol.messages import consumer_group_describe as consumer
    from pyk.protocol.messages import share_group_describe as share
    from pyk.protocol.messages import streams_group_describe as streams

    DescribeRequest = (
        consumer.ConsumerGroupDescribeRequest
        | share.ShareGroupDescribeRequest
        | streams.StreamsGroupDescribeRequest
    )

D = TypeVar("D", bound="consumer.DescribedGroup | share.DescribedGroup | streams.DescribedGroup")


def describe_groups(
    services: GroupServices,
    request: DescribeRequest,
    group_class: type[D],
    view: Callable[[GroupShard, str], D],
    *,
    are_served: bool,
) -> Deferred[list[D]]:
    """Return what ``view`` sees of each group, or its error; ``are_served`` whether the cluster
    has groups of this type."""

    def refused(group_id: str, code: ErrorCode, message: str | None = None) -> D:
        return group_class(group_id=group_id, error_code=code, error_message=message)

    def described(group_id: str) -> Deferred[D]:
        def look(shard: GroupShard) -> D:
            try:
                return view(shard, group_id)
            except ApiError as error:
                return refused(group_id, error.code, error.message)

        def or_error(found: D | ErrorCode) -> D:
            return refused(group_id, found) if isinstance(found, ErrorCode) else found

        return look_at_group(services, group_id, look).then(or_error)

    def answer(group_id: str) -> Deferred[D]:
        if are_served and group_id:
            return described(group_id)
        code = ErrorCode.INVALID_GROUP_ID if are_served else ErrorCode.UNSUPPORTED_VERSION
        refusal: Deferred[D] = Deferred()
        refusal.complete(refused(group_id, code))
        return refusal

    def with_operations(groups: list[D]) -> list[D]:
        if request.include_authorized_operations:
            for group in groups:
                if not group.error_code:
                    group.authorized_operations = GROUP_OPERATIONS
        return groups

    return gather([answer(group_id) for group_id in request.group_ids]).then(with_operations)
