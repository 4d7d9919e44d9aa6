"""Turn groups with members from one type into the other, as records and as state. Pure."""

from __future__ import annotations

from collections.abc import Collection

from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.reference_broker.errors import ApiError

from .classic_group import ClassicGroup, GroupState
from .consumer.classic_metadata import (
    classic_metadata,
    protocols_of,
    read_assignment,
    read_subscription,
    with_ids,
    without_epochs,
    write_assignment,
)
from .consumer.consumer_group import ConsumerGroup
from .consumer.group_config import ConsumerGroupConfig
from .consumer.member import ConsumerMember
from .consumer.records import (
    Records,
    consumer_group_tombstones,
    current_record,
    epoch_record,
    member_record,
    member_tombstones,
    target_epoch_record,
    target_record,
)
from .consumer.topics import Topics
from .member import Member
from .protocol_vote import select_protocol
from .subscription import CONSUMER_PROTOCOL_TYPE


def check_upgrade(group: ClassicGroup, config: ConsumerGroupConfig) -> None:
    """Raise unless a classic group with members may become a consumer group."""
    if not config.migration_policy.allows_upgrade:
        raise _refused(group, "online upgrade is disabled")
    if not group.uses_consumer_protocol:
        raise _refused(group, "the group does not use the consumer embedded protocol")
    if len(group.members) > config.max_size:
        raise _refused(group, "the group size exceeds the consumer group maximum size")


def upgrade_records(group: ClassicGroup, topics: Topics) -> Records:
    """Return the records that make a consumer group of a classic one's members.

    They follow those that delete the classic group. Raises :class:`ApiError`.

    Its generation becomes the epoch of the group and of the members, each of which keeps what it
    was last assigned, as its target too. One that does not know its assignment yet also keeps what
    it has (not in Kafka): that is not free before it has given it up.
    """
    try:
        members = [_upgraded(group, member, topics) for member in group.members.values()]
    except ProtocolError:
        raise _refused(group, "the embedded consumer protocol is malformed") from None
    group_id, epoch = group.group_id, group.generation_id
    names = frozenset().union(*(member.topic_names for member in members))
    return [
        *(member_record(group_id, member) for member in members),
        epoch_record(group_id, epoch, topics.hash_of(names)),
        *(
            target_record(group_id, member.member_id, without_epochs(member.assigned))
            for member in members
        ),
        target_epoch_record(group_id, epoch, 0),
        *(current_record(group_id, member) for member in members),
    ]


def _upgraded(group: ClassicGroup, member: Member, topics: Topics) -> ConsumerMember:
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        raise _refused(
            group,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch "
            "to a default assignor before re-attempting the upgrade",
        )
    protocol = group.protocol_name or select_protocol(group.members.values())
    subscription = read_subscription(member.metadata(protocol))
    held = list(assignment.assigned_partitions)
    if not member.knows_assignment:
        held += subscription.owned_partitions
    epoch = group.generation_id
    return ConsumerMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=frozenset(subscription.topics),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic_metadata=classic_metadata(member.session_timeout_ms, member.protocols),
        epoch=epoch,
        previous_epoch=epoch,
        assigned={
            topic_id: dict.fromkeys(partitions, epoch)
            for topic_id, partitions in with_ids(held, topics).items()
        },
    )


def downgraded(
    group: ConsumerGroup, *, epoch: int, without: Collection[str], topics: Topics, time_ms: int
) -> ClassicGroup:
    """Return the classic group that the classic members of a consumer group form.

    ``epoch`` becomes its generation. Each member is assigned what it has, not its target as in
    Kafka: another member may still have a part of that.
    """
    found = ClassicGroup(
        group_id=group.group_id,
        state=GroupState.STABLE,
        previous_state=GroupState.STABLE,
        state_since_ms=time_ms,
        generation_id=epoch,
    )
    for member in group.members.values():
        if member.member_id not in without:
            found.add(_downgraded(member))
    found.protocol_name = select_protocol(found.members.values())
    found.update_topics()
    for each in found.members.values():
        held = group.members[each.member_id].held
        each.assignment = write_assignment(held, topics, each.metadata(found.protocol_name))
    return found


def _downgraded(member: ConsumerMember) -> Member:
    assert member.classic_metadata is not None
    return Member(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic_metadata.session_timeout_ms,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocols=protocols_of(member.classic_metadata),
    )


def downgrade_tombstones(group: ConsumerGroup) -> Records:
    """Return the records that delete a consumer group with all its members."""
    records: Records = []
    for member_id in group.members:
        records += member_tombstones(group.group_id, member_id)
    return records + consumer_group_tombstones(group.group_id, group.patterns)


def _refused(group: ClassicGroup, reason: str) -> ApiError:
    return ApiError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}.",
    )
