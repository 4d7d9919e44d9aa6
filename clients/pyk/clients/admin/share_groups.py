"""Share groups as the admin client describes them, and their offsets (KIP-932). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyk.clients.admin.authorized_operations import authorized_operations
from pyk.clients.errors import KafkaError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.acls import AclOperation
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
)
from pyk.protocol.messages.share_group_describe import DescribedGroup, ShareGroupDescribeResponse
from pyk.runtime import slotted

UNKNOWN = -1


@slotted.frozen
class ShareMemberDescription:
    """A member of a share group and its assignment, which it may share with other members."""

    member_id: str
    client_id: str
    host: str
    member_epoch: int
    assignment: tuple[TopicPartition, ...]


@slotted.frozen
class ShareGroupDescription:
    """A share group with its members."""

    group_id: str
    state: str
    group_epoch: int
    target_assignment_epoch: int
    """The group epoch for which the assignment was made."""
    coordinator_id: int
    members: tuple[ShareMemberDescription, ...]
    authorized_operations: frozenset[AclOperation] | None = None
    """None if they were not asked for."""


@slotted.frozen
class SharePartitionOffset:
    """How far a share group is in a partition."""

    start_offset: int
    """All records before it are finished, and maybe some after it."""
    leader_epoch: int
    lag: int | None
    """How many records await delivery or its end; None if the broker does not know."""


def described_share_groups(
    response: ShareGroupDescribeResponse, coordinator_id: int
) -> dict[str, ShareGroupDescription | KafkaError]:
    """Return the description of each group, or its error."""
    return {
        group.group_id: (
            _error(group, ApiKey.SHARE_GROUP_DESCRIBE, group_id=group.group_id)
            if group.error_code
            else _described(group, coordinator_id)
        )
        for group in response.groups
    }


def _described(group: DescribedGroup, coordinator_id: int) -> ShareGroupDescription:
    return ShareGroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        group_epoch=group.group_epoch,
        target_assignment_epoch=group.assignment_epoch,
        coordinator_id=coordinator_id,
        members=tuple(
            ShareMemberDescription(
                member_id=member.member_id,
                client_id=member.client_id,
                host=member.client_host,
                member_epoch=member.member_epoch,
                assignment=tuple(
                    TopicPartition(topic.topic_name, partition)
                    for topic in member.assignment.topic_partitions
                    for partition in topic.partitions
                ),
            )
            for member in group.members
        ),
        authorized_operations=authorized_operations(group.authorized_operations),
    )


# -- offsets -------------------------------------------------------------------------------------


def describe_offsets_request(
    group_id: str, partitions: Iterable[TopicPartition] | None
) -> describe_share_group_offsets.DescribeShareGroupOffsetsRequest:
    """Return the request for the offsets of these partitions, or of all that the group has."""
    topics = None
    if partitions is not None:
        topics = [
            describe_share_group_offsets.DescribeShareGroupOffsetsRequestTopic(
                topic_name=topic, partitions=numbers
            )
            for topic, numbers in _by_topic(partitions, lambda each: each.partition).items()
        ]
    group = describe_share_group_offsets.DescribeShareGroupOffsetsRequestGroup(
        group_id=group_id, topics=topics
    )
    return describe_share_group_offsets.DescribeShareGroupOffsetsRequest(groups=[group])


def described_offsets(
    response: describe_share_group_offsets.DescribeShareGroupOffsetsResponse, group_id: str
) -> dict[TopicPartition, SharePartitionOffset | KafkaError | None] | KafkaError:
    """Return the offset of each partition, None if the group has none there."""
    (group,) = response.groups
    if group.error_code:
        return _error(group, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, group_id=group_id)
    return {
        TopicPartition(topic.topic_name, each.partition_index): _offset(
            each, TopicPartition(topic.topic_name, each.partition_index)
        )
        for topic in group.topics
        for each in topic.partitions
    }


def _offset(each: Any, place: TopicPartition) -> SharePartitionOffset | KafkaError | None:
    if each.error_code:
        return _error(each, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, partition=place)
    if each.start_offset == UNKNOWN:
        return None
    lag = None if each.lag == UNKNOWN else each.lag
    return SharePartitionOffset(each.start_offset, each.leader_epoch, lag)


def alter_offsets_request(
    group_id: str, offsets: Mapping[TopicPartition, int]
) -> alter_share_group_offsets.AlterShareGroupOffsetsRequest:
    """Return the request that sets start offsets."""
    by_topic = _by_topic(
        offsets,
        lambda each: alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition(
            partition_index=each.partition, start_offset=offsets[each]
        ),
    )
    return alter_share_group_offsets.AlterShareGroupOffsetsRequest(
        group_id=group_id,
        topics=[
            alter_share_group_offsets.AlterShareGroupOffsetsRequestTopic(
                topic_name=topic, partitions=partitions
            )
            for topic, partitions in by_topic.items()
        ],
    )


def altered_offsets(
    response: alter_share_group_offsets.AlterShareGroupOffsetsResponse,
    asked: Iterable[TopicPartition],
    group_id: str,
) -> dict[TopicPartition, KafkaError | None]:
    """Return the outcome of each partition."""
    api_key = ApiKey.ALTER_SHARE_GROUP_OFFSETS
    if response.error_code:
        return dict.fromkeys(asked, _error(response, api_key, group_id=group_id))
    outcomes: dict[TopicPartition, KafkaError | None] = {}
    for topic in response.responses:
        for each in topic.partitions:
            place = TopicPartition(topic.topic_name, each.partition_index)
            is_done = each.error_code == ErrorCode.NONE
            outcomes[place] = None if is_done else _error(each, api_key, partition=place)
    return outcomes


def deleted_offsets(
    response: delete_share_group_offsets.DeleteShareGroupOffsetsResponse,
    asked: Iterable[str],
    group_id: str,
) -> dict[str, KafkaError | None]:
    """Return the outcome of each topic."""
    api_key = ApiKey.DELETE_SHARE_GROUP_OFFSETS
    if response.error_code:
        return dict.fromkeys(asked, _error(response, api_key, group_id=group_id))
    return {
        topic.topic_name: (
            _error(topic, api_key, topic=topic.topic_name) if topic.error_code else None
        )
        for topic in response.responses
    }


def _by_topic(
    partitions: Iterable[TopicPartition], value: Callable[[TopicPartition], Any]
) -> dict[str, list[Any]]:
    by_topic: dict[str, list[Any]] = {}
    for each in partitions:
        by_topic.setdefault(each.topic, []).append(value(each))
    return by_topic


def _error(answer: Any, api_key: ApiKey, **about: Any) -> KafkaError:
    return error_for(answer.error_code, answer.error_message, api_key=api_key, **about)
