"""One member of a group by ConsumerGroupHeartbeat (KIP-848): beats, and follows its target. Pure.

                    subscribe                 epoch              target lacks something
    UNSUBSCRIBED ─────────────► JOINING ─────────────► STABLE ────────────────────► REVOKING
                                  ▲ ▲                   │  ▲                            │
                       fenced,    │ │       fenced      │  └────────────────────────────┘
                   polls again    │ └───────────────────┘    the application has given it up
                                AWAY ◄── not polled for max.poll.interval.ms

The coordinator assigns: a heartbeat brings the member's epoch, and its *target*, all partitions it
is to have, whenever that has changed. The member follows in three steps, while heartbeats go on:

1. It gives up what the target lacks. That takes until the application comes back for more records:
   only then has it finished, or dropped, what it had.
2. It takes what is new. The coordinator names a partition here once no other member owns it.
3. It acknowledges: a heartbeat at once that names what the member owns now. So what was given up
   goes to other members.

Another target may come meanwhile. It replaces the one before, and is followed after step 1. Topics
have ids here, and those without a known name wait for metadata; the others do not wait for them.

A member *loses* its partitions when the coordinator has fenced it, or does not know it any more,
and when it left by itself because the application was busy for longer than
``max.poll.interval.ms``. It then joins again under the same member id, in the last case (AWAY) once
the application is back. It does not know how long its session lasts. So while no heartbeat is
answered it keeps its partitions, as in Java: what it commits carries its epoch, and is refused once
the coordinator has given it up.

A member of a share group (KIP-932) is the same with other ``heartbeats``, which do not name what
it owns: its owner gives up at once what the target lacks.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from enum import Enum

from pyk.clients.consumer.group.absence import warn_of_absence
from pyk.clients.consumer.group.actions import (
    Action,
    Assign,
    ForgetCoordinator,
    Leave,
    Lose,
    Revoke,
    Send,
    Wait,
)
from pyk.clients.consumer.group.join_failures import JoinFailures
from pyk.clients.consumer.group.membership import MetadataNeeds, Standing, is_final
from pyk.clients.consumer.group.modern.assignment import Owned, Target, is_disputed, named
from pyk.clients.consumer.group.modern.heartbeats import (
    JOIN_EPOCH,
    Heartbeats,
    MemberHeartbeats,
    MemberOptions,
    Report,
)
from pyk.clients.consumer.group.modern.refusals import (
    COORDINATOR_MOVED,
    FENCED,
)
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import KafkaError, MalformedResponseError
from pyk.clients.offsets import Identity
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

log = logging.getLogger(__name__)

# Seconds between heartbeats until the coordinator says how many, and the fewest that are believed.
FIRST_INTERVAL = 5.0
SHORTEST_INTERVAL = 0.1
# How many intervals a heartbeat may take. By default a session lasts nine: that leaves time for
# another try, at another coordinator.
PATIENCE_INTERVALS = 3


class MemberState(Enum):
    """The state of the member; the diagram above shows the moves."""

    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    STABLE = "stable"
    REVOKING = "revoking"
    AWAY = "away"
    FAILED = "failed"


class Presence(Enum):
    """What the coordinator may know of the member."""

    NONE = "none"
    PRESENT = "present"
    RETURNING = "returning"
    """A static member that has left for a while, and keeps its partitions meanwhile (KIP-345)."""


BEATING = frozenset({MemberState.JOINING, MemberState.STABLE, MemberState.REVOKING})


class ModernMembership:
    """One member of a group. ``chance`` returns numbers from 0 to 1 that spread retries.

    ``heartbeats`` are those of another kind of group than a consumer group.
    """

    def __init__(
        self,
        options: MemberOptions,
        chance: Callable[[], float],
        now: float,
        heartbeats: MemberHeartbeats | None = None,
    ) -> None:
        self.state = MemberState.UNSUBSCRIBED
        self.member_id = options.member_id
        self.member_epoch = JOIN_EPOCH
        self.owned: Owned = frozenset()
        self.error: KafkaError | None = None
        self.failures = JoinFailures(options.request_timeout)
        self._options = options
        self._chance = chance
        self._heartbeats: MemberHeartbeats = heartbeats or Heartbeats(options)
        self._actions: deque[Action] = deque()
        self._topics: frozenset[str] = frozenset()
        self._pattern: str | None = None
        self._image = MetadataImage()
        self._target: Target | None = None
        self._presence = Presence.NONE
        self._has_followed = True
        """Whether the application was told of the assignment after the last step."""
        self._revoking: Revoke | None = None
        self._sent: Send | None = None
        """The heartbeat in flight, None if its answer is not wanted any more."""
        self._sent_at = now
        self._interval = FIRST_INTERVAL
        self._failed = 0
        self._retry_at = now
        self._absent_at = now + options.max_poll_interval

    @property
    def standing(self) -> Standing:
        return Standing(
            state=self.state.value,
            identity=self._identity(),
            is_member=self.state is not MemberState.UNSUBSCRIBED,
            is_joining=self.state is MemberState.JOINING,
            is_rebalancing=self.state in (MemberState.JOINING, MemberState.REVOKING),
        )

    def _identity(self) -> Identity | None:
        if self.state is MemberState.UNSUBSCRIBED:
            return Identity()
        if self.member_epoch == JOIN_EPOCH:
            return None
        options = self._options
        return Identity(
            self.member_epoch, options.member_id, options.group_instance_id, has_member_epoch=True
        )

    @property
    def needs(self) -> MetadataNeeds:
        target = self._target
        is_incomplete = target is not None and not target.is_resolved(self._image, self.owned)
        return MetadataNeeds(is_incomplete=is_incomplete)

    # -- what the owner of this member tells -------------------------------------------------------

    def subscribe(self, topics: frozenset[str], now: float, pattern: str | None = None) -> None:
        """Subscribe to these topics, and to those that match the pattern, from now on."""
        self._topics, self._pattern = topics, pattern
        if self.state is MemberState.UNSUBSCRIBED:
            self._absent_at = now + self._options.max_poll_interval
            self._join(now)

    def application_polled(self, now: float) -> None:
        """Note that the application has asked for records, or waits for some."""
        self._absent_at = now + self._options.max_poll_interval
        if self.state is MemberState.AWAY:
            self._join(now)

    def metadata_changed(self, image: MetadataImage, now: float) -> None:
        """Apply new metadata, which may have the names of topics that are assigned.

        Where they name another topic than is owned, the coordinator is asked at once.
        """
        before, self._image = self._image, image
        if any(is_disputed(one, image) and not is_disputed(one, before) for one in self.owned):
            self._sent_at = now - self._interval

    def retry(self, now: float) -> None:
        """Try once more after a failure that need not last."""
        if self.state is MemberState.FAILED and self.error is not None and not is_final(self.error):
            self.error = None
            self._join(now + self._delay())

    def rejoin(self, reason: str) -> bool:
        """Do nothing: the coordinator alone decides when to rebalance (KIP-848)."""
        return False

    def leave(self, reason: str, leave_group: bool | None = None) -> Leave | None:
        """End the membership, and return what to send if the coordinator is to know at once."""
        self._end(MemberState.UNSUBSCRIBED)
        self._actions.clear()
        self.owned = frozenset()
        self.error = None
        self._failed = 0
        return self._leave(leave_group)

    # -- what to do --------------------------------------------------------------------------------

    def next_action(self, now: float) -> Action:
        """Return what is due now."""
        if self.is_absent(now):
            self._leave_while_absent(now)
        self._follow_target()
        if self._actions:
            return self._actions.popleft()
        due_at = self._beat_at()
        if due_at is not None and now >= due_at:
            return self._beat(now)
        return Wait(self._look_at(now, due_at))

    def is_absent(self, now: float) -> bool:
        """Return whether the application has been busy for so long that the member must leave."""
        return self.state in BEATING and now >= self._absent_at

    def _beat_at(self) -> float | None:
        if self.state not in BEATING:
            return None
        if self._heartbeats.is_news(self._report()):
            return self._retry_at
        return max(self._retry_at, self._sent_at + self._interval)

    def _look_at(self, now: float, beat_at: float | None) -> float | None:
        if self.state is MemberState.AWAY:  # look again whether the application is back
            return now + self._interval
        return None if beat_at is None else min(beat_at, self._absent_at)

    def _beat(self, now: float) -> Send:
        request = self._heartbeats.next(self.member_epoch, self._report())
        self._sent_at = now
        self._presence = Presence.PRESENT
        seconds = min(self._options.request_timeout, PATIENCE_INTERVALS * self._interval)
        least = self._heartbeats.least_version(request)
        self._sent = Send(request, round(seconds * 1000), least)
        return self._sent

    def _report(self) -> Report:
        return Report(self._topics, self._pattern, self.owned)

    # -- responses ---------------------------------------------------------------------------------

    def answered(self, sent: Send, response: ConsumerGroupHeartbeatResponse, now: float) -> None:
        """Take the response to a heartbeat, unless it is not wanted any more."""
        if sent is not self._sent:
            return
        code = ErrorCode(response.error_code)
        if code is not ErrorCode.NONE:
            self._refused(code, response.error_message, now)
        elif response.member_epoch <= JOIN_EPOCH:
            number = response.member_epoch
            self._fail(MalformedResponseError(f"the coordinator gave the member epoch {number}"))
        else:
            self._accepted(response)

    def _accepted(self, response: ConsumerGroupHeartbeatResponse) -> None:
        self._failed = 0
        self.failures.succeeded()
        self._interval = max(response.heartbeat_interval_ms / 1000, SHORTEST_INTERVAL)
        self.member_epoch = response.member_epoch
        if self.state is MemberState.JOINING:
            self.state, self._has_followed = MemberState.STABLE, False
            log.info(
                "Joined group %s as %s in epoch %d",
                self._options.group_id,
                self._options.member_id,
                self.member_epoch,
            )
        if response.assignment is not None:
            self._target = Target.of(response.assignment)

    def request_failed(self, sent: Send, error: KafkaError, now: float) -> None:
        """Learn that a heartbeat got no response."""
        if sent is not self._sent:
            return
        if error.retriable:
            self._actions.append(ForgetCoordinator())
            self._try_again(error, now)
        else:
            self._fail(self._heartbeats.explained(error, self._pattern))

    def _refused(self, code: ErrorCode, message: str | None, now: float) -> None:
        error = self._heartbeats.refusal(code, message)
        # The group was deleted, or is a classic one by now, so this member was removed before.
        # Joining makes it a consumer group again, or tells why it cannot be one.
        has_no_group = code is ErrorCode.GROUP_ID_NOT_FOUND and self.member_epoch != JOIN_EPOCH
        if code in FENCED or has_no_group:
            log.info("Group %s has given up this member: %s", self._options.group_id, error)
            self._end(MemberState.JOINING)
            self._lose_partitions()
            self._try_again(error, now)
        elif error.retriable:
            if code in COORDINATOR_MOVED:
                self._actions.append(ForgetCoordinator())
            self._try_again(error, now)
        else:
            self._fail(error)

    def _try_again(self, error: KafkaError, now: float) -> None:
        """Send another heartbeat soon, with everything: this one may have arrived, or not."""
        self.failures.failed(error, now)
        self._heartbeats.forget()
        self._failed += 1
        # The first retry is at once: most often the coordinator has only moved.
        self._retry_at = now + self._delay(self._failed - 1)

    def _fail(self, error: KafkaError) -> None:
        self._end(MemberState.FAILED)
        self._lose_partitions()
        self.error = error
        self._failed += 1

    def _delay(self, failures: int | None = None) -> float:
        count = self._failed if failures is None else failures
        return self._options.backoff.delay(count, self._chance())

    # -- the target --------------------------------------------------------------------------------

    def _follow_target(self) -> None:
        if self.state is not MemberState.STABLE or self._target is None:
            return
        wanted = self._target.resolved(self._image, self.owned)
        gone = self.owned - wanted
        if gone:
            self.state = MemberState.REVOKING
            self._revoking = Revoke(named(gone))
            self._actions.append(self._revoking)
        elif wanted != self.owned or not (self._has_followed or self.needs.is_incomplete):
            added, self.owned, self._has_followed = wanted - self.owned, wanted, True
            topic_ids = {one.topic: one.topic_id for one in added}
            self._actions.append(Assign(named(added), named(wanted), topic_ids))

    def revoked(self, revoke: Revoke) -> None:
        """Learn that the application has given up the partitions of a :class:`Revoke`."""
        if revoke is not self._revoking:
            return  # they were lost meanwhile
        self._revoking = None
        self.state, self._has_followed = MemberState.STABLE, False
        self.owned = frozenset(
            one for one in self.owned if one.topic_partition not in revoke.partitions
        )

    def _lose_partitions(self) -> None:
        if self.owned:
            self._actions.append(Lose(named(self.owned)))
        self.owned = frozenset()

    # -- joining and leaving -----------------------------------------------------------------------

    def _join(self, at: float) -> None:
        self.state = MemberState.JOINING
        self._retry_at = at

    def _leave_while_absent(self, now: float) -> None:
        """Leave, so that other members take over."""
        absence = self._options.max_poll_interval + now - self._absent_at
        warn_of_absence(self._options.group_id, absence)
        self._end(MemberState.AWAY)
        self._lose_partitions()
        leave = self._leave()
        if leave is not None:
            self._actions.append(leave)

    def _leave(self, leave_group: bool | None = None) -> Leave | None:
        """Return what the coordinator does not know yet: that the member is gone, or will be back.

        So a member that is away, or has failed, does not keep partitions from the others longer
        than it has to.
        """
        is_told = self._presence is Presence.RETURNING and not leave_group
        if self._presence is Presence.NONE or is_told:
            return None
        leave = self._heartbeats.leave(leave_group)
        if leave is not None:
            returns = self._options.group_instance_id is not None and not leave_group
            self._presence = Presence.RETURNING if returns else Presence.NONE
        return leave

    def _end(self, state: MemberState) -> None:
        """Be no member any more: what was sent, and what was to be done, is void."""
        self.state = state
        self.member_epoch = JOIN_EPOCH
        self.failures.succeeded()
        self._heartbeats.forget()
        self._target = self._revoking = self._sent = None
