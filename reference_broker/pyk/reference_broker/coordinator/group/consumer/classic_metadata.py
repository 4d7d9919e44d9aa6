"""The classic members of a consumer group: what their JoinGroups say, and what they are told. Pure.

They speak the formats in which classic consumers talk among themselves. All protocols of a member
have the same subscription, so its first one is read, and is the one that it is told was chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from uuid import UUID

from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.protocol.messages.consumer_group_records import ClassicMemberMetadata, ClassicProtocol
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from pyk.protocol.persisted import decode_versioned, encode_versioned
from pyk.reference_broker.coordinator.group.member import Protocols
from pyk.reference_broker.coordinator.group.subscription import CONSUMER_PROTOCOL_TYPE
from pyk.reference_broker.errors import ApiError

from .assignment import Assignment
from .consumer_group import ConsumerGroup
from .member import ConsumerMember, MemberState
from .topics import Topics

_VERSION = Struct(">h")


def classic_metadata(session_timeout_ms: int, protocols: Protocols) -> ClassicMemberMetadata:
    """Return what the record of a classic member keeps of its JoinGroup."""
    return ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms,
        supported_protocols=[ClassicProtocol(name=name, metadata=data) for name, data in protocols],
    )


def protocols_of(metadata: ClassicMemberMetadata) -> Protocols:
    """Return the protocols of a classic member, best first."""
    return tuple((each.name, bytes(each.metadata)) for each in metadata.supported_protocols)


def check_protocols(group: ConsumerGroup, protocol_type: str, protocols: Protocols) -> None:
    """Raise unless all classic members of the group know one of the protocols."""
    names = [
        {name for name, _ in protocols_of(member.classic_metadata)}
        for member in group.members.values()
        if member.classic_metadata is not None
    ]
    is_supported = any(all(name in known for known in names) for name, _ in protocols)
    if protocol_type != CONSUMER_PROTOCOL_TYPE or not is_supported:
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Return the subscription in a member's metadata; raise :class:`ProtocolError`."""
    return decode_versioned(ConsumerProtocolSubscription, metadata, accept_newer=True)


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """Return the assignment of a member; raise :class:`ProtocolError`.

    That of a member which was not yet given one is empty.
    """
    if not assignment:
        return ConsumerProtocolAssignment(assigned_partitions=[])
    return decode_versioned(ConsumerProtocolAssignment, assignment, accept_newer=True)


def write_assignment(assignment: Assignment, topics: Topics, metadata: bytes) -> bytes:
    """Return an assignment in the version of the metadata that the member has sent."""
    if len(metadata) < _VERSION.size:
        raise ProtocolError("the metadata of a member begin with their version")
    (version,) = _VERSION.unpack_from(metadata)
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=name, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assignment.items())
            if (name := topics.name(topic_id)) is not None
        ]
    )
    return encode_versioned(message, min(version, ConsumerProtocolAssignment.versions.highest))


def with_ids(partitions: Iterable[TopicPartition], topics: Topics) -> Assignment:
    """Return partitions by topic id, without topics that do not exist."""
    found: dict[UUID, frozenset[int]] = {}
    for each in partitions:
        for topic_id in topics.ids([each.topic]):
            found[topic_id] = found.get(topic_id, frozenset()) | frozenset(each.partitions)
    return {topic_id: numbers for topic_id, numbers in found.items() if numbers}


def without_epochs(assigned: Mapping[UUID, Mapping[int, int]]) -> Assignment:
    return {topic_id: frozenset(epochs) for topic_id, epochs in assigned.items() if epochs}


def has_only_classic(group: ConsumerGroup, *, without: Iterable[str]) -> bool:
    """Return whether members are left without those, and all of them are classic."""
    excluded = set(without)
    left = [each for each in group.members.values() if each.member_id not in excluded]
    return bool(left) and all(member.is_classic for member in left)


def must_join_again(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Return whether a classic member has to join: it is behind, gives up, or can take over."""
    return (
        member.epoch < group.assignment_epoch
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (
            member.state is MemberState.UNRELEASED_PARTITIONS
            and not is_waiting_for_others(group, member)
        )
    )


def is_waiting_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Return whether another member still has a partition of the member's target."""
    return any(
        not group.is_free(member.member_id, topic_id, partition)
        for topic_id, partitions in group.targets.get(member.member_id, {}).items()
        for partition in partitions - member.assigned.get(topic_id, {}).keys()
    )
