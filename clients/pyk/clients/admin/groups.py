"""Groups as the admin client describes and deletes them. Pure."""

from __future__ import annotations

from typing import Any

from pyk.clients.admin.authorized_operations import authorized_operations
from pyk.clients.admin.group_listings import CLASSIC, CONSUMER, DEAD
from pyk.clients.errors import GroupIdNotFoundError, KafkaError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.acls import AclOperation
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.protocol.messages import consumer_group_describe
from pyk.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from pyk.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from pyk.protocol.messages.delete_groups import DeleteGroupsResponse
from pyk.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from pyk.protocol.persisted import decode_versioned
from pyk.runtime import slotted


@slotted.frozen
class MemberDescription:
    """A member of a group and its assignment."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]


@slotted.frozen
class ConsumerGroupDescription:
    """A group with its members."""

    group_id: str
    state: str
    protocol_type: str
    partition_assignor: str
    """The assignor that was chosen, empty before one is."""
    coordinator_id: int
    members: tuple[MemberDescription, ...]
    group_type: str
    """``classic``, or ``consumer`` for a group that follows KIP-848."""
    authorized_operations: frozenset[AclOperation] | None = None
    """None if they were not asked for."""


@slotted.frozen
class ClassicGroupDescription:
    """A group of the type ``classic``, of consumers or of others such as Kafka Connect."""

    group_id: str
    state: str
    protocol_type: str
    """``consumer``, ``connect`` …; empty for a group that only has offsets."""
    protocol: str
    """What the members have agreed on, the assignor of consumers; empty before they have."""
    coordinator_id: int
    members: tuple[MemberDescription, ...]
    authorized_operations: frozenset[AclOperation] | None = None
    """None if they were not asked for."""

    @property
    def is_simple(self) -> bool:
        """Return whether the group only has offsets, and never had members."""
        return not self.protocol_type


@slotted.frozen
class PartitionLag:
    """The lag of a group in a partition."""

    committed_offset: int | None
    """None where the group has committed nothing."""
    end_offset: int

    @property
    def lag(self) -> int | None:
        """Return how many offsets are not committed yet, None where nothing was committed."""
        if self.committed_offset is None:
            return None
        return max(0, self.end_offset - self.committed_offset)


def described_groups(
    response: DescribeGroupsResponse, coordinator_id: int
) -> dict[str, ConsumerGroupDescription | KafkaError]:
    """Return the description of each group, or its error."""
    return {group.group_id: _described(group, coordinator_id) for group in response.groups}


def _described(group: DescribedGroup, coordinator_id: int) -> ConsumerGroupDescription | KafkaError:
    if group.error_code != ErrorCode.NONE:
        return _error(group, ApiKey.DESCRIBE_GROUPS)
    if group.group_state == DEAD:
        # Before version 6 a coordinator describes a group that it does not know as dead.
        return GroupIdNotFoundError(f"there is no group {group.group_id!r}")
    return ConsumerGroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        protocol_type=group.protocol_type,
        partition_assignor=group.protocol_data,
        coordinator_id=coordinator_id,
        members=tuple(_member(member, group.protocol_type) for member in group.members),
        group_type=CLASSIC,
        authorized_operations=authorized_operations(group.authorized_operations),
    )


def classic_group(
    found: ConsumerGroupDescription | KafkaError,
) -> ClassicGroupDescription | KafkaError:
    """Return a group as one of the type ``classic``."""
    if isinstance(found, KafkaError):
        return found
    return ClassicGroupDescription(
        group_id=found.group_id,
        state=found.state,
        protocol_type=found.protocol_type,
        protocol=found.partition_assignor,
        coordinator_id=found.coordinator_id,
        members=found.members,
        authorized_operations=found.authorized_operations,
    )


def _member(member: DescribedGroupMember, protocol_type: str) -> MemberDescription:
    is_consumer = protocol_type == CONSUMER
    return MemberDescription(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        assignment=_assignment(member.member_assignment) if is_consumer else (),
    )


def _assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """Return the assignment of a member; empty if the leader of the group did not write one."""
    if not data:
        return ()
    try:
        assignment = decode_versioned(ConsumerProtocolAssignment, data, accept_newer=True)
    except ProtocolError:
        return ()
    return tuple(
        TopicPartition(topic.topic, partition)
        for topic in assignment.assigned_partitions
        for partition in topic.partitions
    )


def described_consumer_groups(
    response: ConsumerGroupDescribeResponse, coordinator_id: int
) -> dict[str, ConsumerGroupDescription | KafkaError]:
    """Return the description of each group that follows KIP-848, or its error.

    A coordinator that does not serve such groups, although its broker knows the request, is left
    out: Kafka 3.9 as it is by default.
    """
    return {
        group.group_id: (
            _error(group, ApiKey.CONSUMER_GROUP_DESCRIBE)
            if group.error_code != ErrorCode.NONE
            else _described_consumer_group(group, coordinator_id)
        )
        for group in response.groups
        if group.error_code != ErrorCode.UNSUPPORTED_VERSION
    }


def _described_consumer_group(
    group: consumer_group_describe.DescribedGroup, coordinator_id: int
) -> ConsumerGroupDescription:
    return ConsumerGroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        protocol_type=CONSUMER,
        partition_assignor=group.assignor_name,
        coordinator_id=coordinator_id,
        members=tuple(
            MemberDescription(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                host=member.client_host,
                assignment=tuple(
                    TopicPartition(topic.topic_name, partition)
                    for topic in member.assignment.topic_partitions
                    for partition in topic.partitions
                ),
            )
            for member in group.members
        ),
        group_type=CONSUMER,
        authorized_operations=authorized_operations(group.authorized_operations),
    )


def _error(group: Any, api_key: ApiKey) -> KafkaError:
    return error_for(
        group.error_code, group.error_message, group_id=group.group_id, api_key=api_key
    )


def deleted_groups(response: DeleteGroupsResponse) -> dict[str, KafkaError | None]:
    """Return the outcome of each group."""
    return {
        group.group_id: (
            None if group.error_code == ErrorCode.NONE else _error(group, ApiKey.DELETE_GROUPS)
        )
        for group in response.results
    }
