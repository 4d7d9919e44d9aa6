"""Build the heartbeats of a member: all it has to say at first, later what has changed. Pure."""

from __future__ import annotations

from typing import Any, Protocol

from pyk.clients.consumer.group.actions import Leave
from pyk.clients.consumer.group.modern.assignment import Owned, by_topic_id
from pyk.clients.consumer.group.modern.refusals import explained, refusal
from pyk.clients.engine.backoff import Backoff
from pyk.clients.errors import KafkaError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.runtime import slotted

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_FOR_A_WHILE_EPOCH = -2
FIRST_PATTERN_VERSION = 1


@slotted.frozen(kw_only=True)
class MemberOptions:
    """The configuration of a member; durations in seconds."""

    group_id: str
    member_id: str
    """Chosen by the member, and kept as long as it lives (KIP-1082)."""
    group_instance_id: str | None = None
    rack: str | None = None
    remote_assignor: str | None = None
    max_poll_interval: float = 300.0
    request_timeout: float = 30.0
    backoff: Backoff = slotted.field(factory=lambda: Backoff(0.1, 1.0))


@slotted.frozen
class Report:
    """What a member says about itself when it joins, and whenever it changes."""

    topics: frozenset[str] = frozenset()
    pattern: str | None = None
    owned: Owned = frozenset()


class MemberHeartbeats(Protocol):
    """What a member says to its coordinator, and what that means; each kind of group has its own.

    Responses have the fields of ConsumerGroupHeartbeat.
    """

    def is_news(self, report: Report) -> bool:
        """Return whether there is something to say before the next heartbeat is due."""
        ...

    def forget(self) -> None:
        """Say everything with the next heartbeat."""
        ...

    def next(self, member_epoch: int, report: Report) -> Any:
        """Return the next heartbeat, which joins if the epoch is 0."""
        ...

    def least_version(self, request: Any) -> int | None:
        """Return the first version that can say what a heartbeat says, None if any can."""
        ...

    def leave(self, leave_group: bool | None) -> Leave | None:
        """Return what to send in order to leave, None if the session is to end by itself."""
        ...

    def refusal(self, code: ErrorCode, message: str | None) -> KafkaError:
        """Return the error of a refused heartbeat."""
        ...

    def explained(self, error: KafkaError, pattern: str | None) -> KafkaError:
        """Return the error of a heartbeat that could not be sent, with what to do about it."""
        ...


class Heartbeats:
    """Remembers what the coordinator of a consumer group was told."""

    def __init__(self, options: MemberOptions) -> None:
        self._options = options
        self._told: Report | None = None
        """None if the coordinator may not know: then the next heartbeat says everything."""
        self._has_told_pattern = False

    def is_news(self, report: Report) -> bool:
        """Return whether there is something to say before the next heartbeat is due."""
        return report != self._told

    def forget(self) -> None:
        """Say everything with the next heartbeat: the last one may not have arrived."""
        self._told = None

    def next(self, member_epoch: int, report: Report) -> ConsumerGroupHeartbeatRequest:
        """Return the next heartbeat, which joins if the epoch is 0."""
        options, told = self._options, self._told
        self._told = report
        request = ConsumerGroupHeartbeatRequest(
            group_id=options.group_id,
            member_id=options.member_id,
            member_epoch=member_epoch,
            instance_id=options.group_instance_id,
        )
        if told is None:
            request.rebalance_timeout_ms = round(options.max_poll_interval * 1000)
            request.rack_id = options.rack
            request.server_assignor = options.remote_assignor
        if told is None or report.topics != told.topics:
            request.subscribed_topic_names = sorted(report.topics)
        if told is None or report.pattern != told.pattern:
            request.subscribed_topic_regex = self._pattern(report)
        if told is None or report.owned != told.owned:
            request.topic_partitions = by_topic_id(report.owned)
        return request

    def least_version(self, request: ConsumerGroupHeartbeatRequest) -> int | None:
        """Return the first version that can say what a heartbeat says, None if any can."""
        return None if request.subscribed_topic_regex is None else FIRST_PATTERN_VERSION

    def _pattern(self, report: Report) -> str | None:
        """Return the pattern to send: an empty one ends the one before."""
        if report.pattern is not None:
            self._has_told_pattern = True
            return report.pattern
        return "" if self._has_told_pattern else None

    def leave(self, leave_group: bool | None) -> Leave | None:
        """Return what to send in order to leave, None if the session is to end by itself.

        By default a static member will be back (KIP-345), and others leave for good.
        """
        options = self._options
        is_static = options.group_instance_id is not None
        if leave_group is False and not is_static:
            return None
        request = ConsumerGroupHeartbeatRequest(
            group_id=options.group_id,
            member_id=options.member_id,
            member_epoch=(
                LEAVE_FOR_A_WHILE_EPOCH if is_static and not leave_group else LEAVE_EPOCH
            ),
            instance_id=options.group_instance_id,
        )
        # Behind a heartbeat in flight, and before one that joins again.
        return Leave(request, lane="group")

    def refusal(self, code: ErrorCode, message: str | None) -> KafkaError:
        """Return the error of a refused heartbeat."""
        return refusal(code, message, self._options.group_id)

    def explained(self, error: KafkaError, pattern: str | None) -> KafkaError:
        """Return the error of a heartbeat that could not be sent, with what to do about it."""
        return explained(error, self._options.group_id, pattern)
