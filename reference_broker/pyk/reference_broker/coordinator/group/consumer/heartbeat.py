"""One heartbeat of a member, and what it says. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .assignment import Assignment, assignment_of
from .member import ConsumerMember


def _everything(_: str) -> bool:
    return True


@slotted.frozen(kw_only=True)
class Heartbeat:
    """One ConsumerGroupHeartbeat, who sent it, and when."""

    request: ConsumerGroupHeartbeatRequest
    version: int
    client_id: str
    client_host: str
    moment: Moment
    may_see: Callable[[str], bool] = _everything
    """Whether the client may know of a topic that its pattern matches."""

    @property
    def owned(self) -> Assignment | None:
        topics = self.request.topic_partitions
        return None if topics is None else assignment_of(topics)

    @property
    def is_full(self) -> bool:
        """Whether the member says everything, and so wants to be told everything."""
        request = self.request
        has_subscription = (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
        is_complete = request.rebalance_timeout_ms != -1 and request.topic_partitions is not None
        return has_subscription and is_complete  # as each that joins: see check_request

    def describe(self, member: ConsumerMember) -> ConsumerMember:
        """Return a member with what the heartbeat says of it."""
        request = self.request
        names, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
        timeout_ms = request.rebalance_timeout_ms
        return slotted.evolve(
            member,
            instance_id=_or_before(request.instance_id, member.instance_id),
            rack_id=_or_before(request.rack_id, member.rack_id),
            client_id=self.client_id,
            client_host=self.client_host,
            topic_names=member.topic_names if names is None else frozenset(names),
            pattern=member.pattern if pattern is None else pattern,
            rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            server_assignor=_or_before(request.server_assignor, member.server_assignor),
            classic_metadata=None,
        )


def _or_before(said: str | None, before: str | None) -> str | None:
    return before if said is None else said
