"""Choose the protocol by which a consumer is a member of its group."""

from __future__ import annotations

from uuid import UUID

from pyk.clients.config import ConsumerConfig, ShareConsumerConfig
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
from pyk.clients.consumer.group.modern import heartbeats
from pyk.clients.consumer.group.modern.membership import ModernMembership
from pyk.clients.consumer.group.share.heartbeats import ShareHeartbeats
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
    chance, now = client.random.random, client.clock.now()
    if config.group_protocol == "classic":
        return ClassicMembership(classic_options(client, config), chance, now)
    return ModernMembership(modern_options(client, config), chance, now)


def new_share_membership(client: Client, config: ShareConsumerConfig) -> ModernMembership:
    """Return the membership of a share consumer."""
    assert config.group_id is not None
    options = heartbeats.MemberOptions(
        group_id=config.group_id,
        member_id=new_member_id(client),
        rack=config.client_rack,
        max_poll_interval=config.max_poll_interval_ms / 1000,
        request_timeout=config.request_timeout_ms / 1000,
        backoff=client.retry_backoff,
    )
    chance, now = client.random.random, client.clock.now()
    return ModernMembership(options, chance, now, ShareHeartbeats(options))


def new_member_id(client: Client) -> str:
    """Return an id that a member chooses for itself (KIP-1082)."""
    return str(UUID(int=client.random.getrandbits(128), version=4))


def modern_options(client: Client, config: ConsumerConfig) -> heartbeats.MemberOptions:
    """Return what a member of the protocol ``consumer`` is configured with."""
    assert config.group_id is not None
    return heartbeats.MemberOptions(
        group_id=config.group_id,
        member_id=new_member_id(client),
        group_instance_id=config.group_instance_id,
        rack=config.client_rack,
        remote_assignor=config.group_remote_assignor,
        max_poll_interval=config.max_poll_interval_ms / 1000,
        request_timeout=config.request_timeout_ms / 1000,
        backoff=client.retry_backoff,
    )


def classic_options(client: Client, config: ConsumerConfig) -> MemberOptions:
    """Return what a member of the classic protocol is configured with."""
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
