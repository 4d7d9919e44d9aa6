"""The work of a group's leader for all members: read their subscriptions, assign partitions."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from pyk.clients.consumer.group.classic.consumer_protocol import (
    decode_subscription,
    encode_assignment,
)
from pyk.clients.consumer.group.classic.subscription import Assignor, Subscription, TopicLayout
from pyk.protocol.errors import ProtocolError
from pyk.protocol.messages.join_group import JoinGroupResponseMember
from pyk.protocol.messages.sync_group import SyncGroupRequestAssignment
from pyk.protocol.topics import is_topic_name

log = logging.getLogger(__name__)


def read_members(members: Iterable[JoinGroupResponseMember]) -> list[Subscription]:
    """Return what each member subscribes to.

    A member whose metadata cannot be read gets no partitions, so that it does not stop the others.
    """
    subscriptions: dict[str, Subscription] = {}
    for member in members:
        if member.member_id in subscriptions:
            log.warning("The coordinator names member %.100r twice", member.member_id)
            continue
        try:
            subscription = decode_subscription(
                member.metadata,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
            )
        except ProtocolError as error:
            log.warning(
                "Member %.100r gets no partitions: its metadata cannot be read: %s",
                member.member_id,
                error,
            )
            subscription = Subscription(member_id=member.member_id, topics=frozenset())
        subscriptions[member.member_id] = subscription
    return list(subscriptions.values())


def topics_of(members: Iterable[Subscription]) -> frozenset[str]:
    """Return the topics that the members subscribe to, without invalid names.

    Other clients pass such names on, and a metadata request with one among them fails.
    """
    topics = frozenset[str]().union(*(member.topics for member in members))
    return frozenset(filter(is_topic_name, topics))


def divide(
    assignor: Assignor, layouts: Mapping[str, TopicLayout], members: Sequence[Subscription]
) -> list[SyncGroupRequestAssignment]:
    """Return the encoded assignment of each member, as the coordinator passes it on."""
    assignment = assignor.assign(layouts, members)
    return [
        SyncGroupRequestAssignment(
            member_id=member_id, assignment=encode_assignment(assignment[member_id])
        )
        for member_id in sorted(assignment)
    ]
