"""Consumer groups as ConsumerGroupDescribe shows them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pyk.protocol.messages.consumer_group_describe import (
    Assignment as DescribedAssignment,
)
from pyk.protocol.messages.consumer_group_describe import (
    DescribedGroup,
    Member,
    TopicPartitions,
)

from .assignment import Assignment
from .consumer_group import ConsumerGroup
from .member import ConsumerMember
from .target_assignment import assignor_of
from .topics import Topics

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def describe_consumer_group(
    group: ConsumerGroup, topics: Topics, assignors: Sequence[str]
) -> DescribedGroup:
    """Return a group with its members, without topics that were deleted."""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor_of(group, assignors),
        members=[
            _described(member, group.targets.get(member.member_id, {}), topics)
            for member in group.members.values()
        ],
    )


def _described(member: ConsumerMember, target: Assignment, topics: Topics) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.pattern,
        assignment=_named(member.held, topics),
        target_assignment=_named(target, topics),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    )


def _named(assignment: Assignment, topics: Topics) -> DescribedAssignment:
    return DescribedAssignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assignment.items())
            if (name := topics.name(topic_id)) is not None
        ]
    )
