"""Choose the protocol by which a consumer is a member of its group."""

from __future__ import annotations

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.group.classic.assignors import (
    Assignor,
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
)
from pyk.clients.consumer.group.classic.membership import ClassicMembership
from pyk.clients.consumer.group.classic.requests import MemberOptions
from pyk.clients.consumer.group.membership import Membership
from pyk.clients.engine.client import Client

ASSIGNORS: dict[str, Assignor] = {
    assignor.name: assignor
    for assignor in (
        RangeAssignor(),
        RoundRobinAssignor(),
        StickyAssignor(),
        CooperativeStickyAssignor(),
    )
}


def new_membership(client: Client, config: ConsumerConfig) -> Membership:
    """Return a membership by the protocol that a consumer is configured with."""
    return ClassicMembership(
        member_options(client, config), client.random.random, client.clock.now()
    )


def member_options(client: Client, config: ConsumerConfig) -> MemberOptions:
    """Return what a member is configured with."""
    assert config.group_id is not None
    return MemberOptions(
        group_id=config.group_id,
        assignors=tuple(ASSIGNORS[name] for name in config.partition_assignment_strategy),
        group_instance_id=config.group_instance_id,
        rack=config.client_rack,
        session_timeout=config.session_timeout_ms / 1000,
        heartbeat_interval=config.heartbeat_interval_ms / 1000,
        max_poll_interval=config.max_poll_interval_ms / 1000,
        request_timeout=config.request_timeout_ms / 1000,
        backoff=client.retry_backoff,
    )
