"""Build the requests of a member from its configuration and its state."""

from __future__ import annotations

from collections.abc import Collection

from pyk.clients.consumer.group.actions import Send
from pyk.clients.consumer.group.classic.consumer_protocol import encode_subscription
from pyk.clients.consumer.group.classic.subscription import (
    Assignor,
    RebalanceProtocol,
    Subscription,
)
from pyk.clients.engine.backoff import Backoff
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from pyk.runtime import slotted

PROTOCOL_TYPE = "consumer"
NO_MEMBER_ID = ""
NO_GENERATION = -1
# What a broker needs to answer after the rebalance timeout has passed.
ANSWER_SECONDS = 5.0


@slotted.frozen(kw_only=True)
class MemberOptions:
    """The configuration of a member; durations in seconds."""

    group_id: str
    assignors: tuple[Assignor, ...]
    group_instance_id: str | None = None
    rack: str | None = None
    session_timeout: float = 45.0
    heartbeat_interval: float = 3.0
    max_poll_interval: float = 300.0
    request_timeout: float = 30.0
    backoff: Backoff = slotted.field(factory=lambda: Backoff(0.1, 1.0))

    @property
    def answer_ms(self) -> int:
        """Return how long a JoinGroup or SyncGroup may take: until the slowest member is back."""
        return _milliseconds(self.max_poll_interval + ANSWER_SECONDS)

    @property
    def is_cooperative(self) -> bool:
        """Whether a member keeps its partitions while it rejoins, which every assignor must
        allow."""
        return all(
            assignor.rebalance_protocol is RebalanceProtocol.COOPERATIVE
            for assignor in self.assignors
        )

    def assignor_named(self, name: str | None) -> Assignor | None:
        """Return the assignor of that name, None if the member does not have it."""
        return next((a for a in self.assignors if a.name == name), None)


@slotted.frozen
class Claims:
    """The partitions that a member reports to the leader, for a sticky assignment."""

    owned: Collection[TopicPartition]
    remembered: Collection[TopicPartition]
    """Its partitions in the last generation: an eager member owns nothing when it joins."""
    generation_id: int


def join(
    options: MemberOptions,
    member_id: str,
    topics: frozenset[str],
    claims: Claims,
    reason: str | None,
) -> Send:
    """Return the action to join with one subscription for each assignor."""
    subscription = Subscription(
        member_id=member_id,
        topics=topics,
        owned_partitions=tuple(sorted(claims.owned)),
        generation_id=claims.generation_id,
        rack=options.rack,
    )
    protocols = []
    for assignor in options.assignors:
        user_data = assignor.user_data(sorted(claims.remembered), claims.generation_id)
        metadata = encode_subscription(slotted.evolve(subscription, user_data=user_data))
        protocols.append(JoinGroupRequestProtocol(name=assignor.name, metadata=metadata))
    request = JoinGroupRequest(
        group_id=options.group_id,
        session_timeout_ms=_milliseconds(options.session_timeout),
        rebalance_timeout_ms=_milliseconds(options.max_poll_interval),
        member_id=member_id,
        group_instance_id=options.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=protocols,
        reason=reason,
    )
    return Send(request, options.answer_ms)


def sync(
    options: MemberOptions,
    member_id: str,
    generation_id: int,
    protocol_name: str,
    assignments: list[SyncGroupRequestAssignment],
) -> Send:
    """Return the action to sync; only the leader has assignments."""
    request = SyncGroupRequest(
        group_id=options.group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=options.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=protocol_name,
        assignments=assignments,
    )
    return Send(request, options.answer_ms)


def heartbeat(options: MemberOptions, member_id: str, generation_id: int) -> Send:
    """Return the action to send a heartbeat."""
    request = HeartbeatRequest(
        group_id=options.group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=options.group_instance_id,
    )
    # Short enough for another try, at another coordinator, before the session ends.
    return Send(request, _milliseconds(options.session_timeout / 3))


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
