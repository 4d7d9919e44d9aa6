"""Share groups as ShareGroupDescribe shows them. Pure."""

from __future__ import annotations

from pyk.protocol.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from pyk.reference_broker.coordinator.group.consumer.topics import Topics

from .member import ShareMember
from .share_group import ShareGroup


def describe_share_group(group: ShareGroup, topics: Topics, assignor: str) -> DescribedGroup:
    """Return a group with its members, without topics that were deleted."""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor,
        members=[_described(member, topics) for member in group.members.values()],
    )


def _described(member: ShareMember, topics: Topics) -> Member:
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        assignment=Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(partitions))
                for topic_id, partitions in sorted(member.assigned.items())
                if (name := topics.name(topic_id)) is not None
            ]
        ),
    )
