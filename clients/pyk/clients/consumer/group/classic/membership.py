"""One member of a group by the classic protocol: joins, syncs, beats, revokes, leaves. Pure.

                     subscribe                    joined              synced
    UNSUBSCRIBED ───────────────► JOINING ─────────────► SYNCING ───────────► STABLE
                                   ▲  ▲ (the leader first DIVIDES)              │ rejoin
                       may rejoin  │  └──────────── error, retried ─────────┐   │
                                REVOKING ◄──────────────────────────────────┴───┘
                                   while the application gives up partitions

In a rebalance all members join again. An *eager* member first gives up all it owns. A
*cooperative* one (KIP-429) joins with all it owns, gives up afterwards what went to another member,
and joins once more, so that the other one gets it. Giving up takes until the application comes back
for more records: only then has it finished, or dropped, what it had. Heartbeats go on meanwhile.

A member *loses* its partitions when the group may have given them to another one without asking:
the coordinator does not know it any more, its session has expired unanswered, or it left by itself
because the application was busy for longer than ``max.poll.interval.ms``. It then joins again, in
the last case (AWAY) once the application is back.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from pyk.clients.consumer.group.absence import warn_of_absence
from pyk.clients.consumer.group.actions import (
    Action,
    Assign,
    ForgetCoordinator,
    Leave,
    Lose,
    Partitions,
    Revoke,
    Send,
    Wait,
)
from pyk.clients.consumer.group.classic.consumer_protocol import decode_assignment
from pyk.clients.consumer.group.classic.departure import Departure
from pyk.clients.consumer.group.classic.leadership import Leadership
from pyk.clients.consumer.group.classic.member_state import (
    BEATING,
    COORDINATOR_MOVED,
    JOINING,
    NOT_A_MEMBER,
    OUTSIDE,
    REBALANCING,
    TRY_AGAIN,
    MemberState,
    inconsistent_protocol_error,
    refusal,
)
from pyk.clients.consumer.group.classic.requests import (
    NO_GENERATION,
    NO_MEMBER_ID,
    PROTOCOL_TYPE,
    Claims,
    MemberOptions,
    heartbeat,
    join,
    sync,
)
from pyk.clients.consumer.group.classic.session import Session
from pyk.clients.consumer.group.join_failures import JoinFailures
from pyk.clients.consumer.group.membership import ACCESS_ERRORS, MetadataNeeds, Standing, is_final
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import KafkaError, MalformedResponseError, error_for
from pyk.clients.offsets import Identity
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.protocol.messages.heartbeat import HeartbeatResponse
from pyk.protocol.messages.join_group import JoinGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupRequestAssignment, SyncGroupResponse

log = logging.getLogger(__name__)


class ClassicMembership:
    """One member of a group. ``chance`` returns numbers from 0 to 1 that spread retries."""

    def __init__(self, options: MemberOptions, chance: Callable[[], float], now: float) -> None:
        self.state = MemberState.UNSUBSCRIBED
        self.member_id = NO_MEMBER_ID
        self.generation_id = NO_GENERATION
        self.owned: Partitions = frozenset()
        self.error: KafkaError | None = None
        self.failures = JoinFailures(options.request_timeout)
        self._options = options
        self._chance = chance
        self._actions: deque[Action] = deque()
        self._topics: frozenset[str] = frozenset()
        self._joined_topics: frozenset[str] = frozenset()
        self._rejoin_reason: str | None = None
        self._revoking: Revoke | None = None
        self._protocol_name = ""
        self._leadership = Leadership()
        self._sync: Send | None = None
        """The SyncGroup to send in SYNCING."""
        self._sent: Send | None = None
        """The request that was handed out last, and the state in which its response counts."""
        self._sent_in = self.state
        self._departure = Departure(options)
        self._remembered: Partitions = frozenset()
        self._added: Partitions | None = None
        self._failures = 0
        self._retry_at = now
        self._session = Session(options.heartbeat_interval, options.session_timeout, now)
        self._absent_at = now + self._options.max_poll_interval

    @property
    def standing(self) -> Standing:
        return Standing(
            state=self.state.value,
            identity=self._identity(),
            is_member=self.state is not MemberState.UNSUBSCRIBED,
            is_joining=self.state in JOINING,
            is_rebalancing=self.state in REBALANCING,
        )

    def _identity(self) -> Identity | None:
        if self.state is MemberState.UNSUBSCRIBED:
            return Identity()
        if self.generation_id == NO_GENERATION:
            return None
        return Identity(self.generation_id, self.member_id, self._options.group_instance_id)

    @property
    def needs(self) -> MetadataNeeds:
        return self._leadership.needs

    # -- what the owner of this member tells -------------------------------------------------------

    def subscribe(self, topics: frozenset[str], now: float, pattern: str | None = None) -> None:
        """Subscribe to these topics from now on."""
        assert pattern is None, "the consumer resolves patterns"
        self._topics = topics
        if self.state is MemberState.UNSUBSCRIBED:
            self.state = MemberState.JOINING
            self._rejoin_reason = "subscribes"
            self._absent_at = now + self._options.max_poll_interval
        elif topics != self._joined_topics:
            self._rejoin_reason = "subscription changed"

    def application_polled(self, now: float) -> None:
        """Note that the application has asked for records, or waits for some."""
        self._absent_at = now + self._options.max_poll_interval
        if self.state is MemberState.AWAY:
            self._begin_joining(now, "application polls again after max.poll.interval.ms")

    def metadata_changed(self, image: MetadataImage, now: float) -> None:
        """Apply new metadata of the topics: the leader compares it with what it divided."""
        self._leadership.metadata_changed(image, now)

    def retry(self, now: float) -> None:
        """Try once more after a failure that need not last."""
        if self.state is MemberState.FAILED and self.error is not None and not is_final(self.error):
            self._begin_joining(now + self._delay(), f"tries again after {self.error}")
            self.error = None

    def rejoin(self, reason: str) -> bool:
        """Join again, although nothing has changed (KIP-568)."""
        self._rejoin_reason = reason
        return True

    def leave(self, reason: str, leave_group: bool | None = None) -> Leave | None:
        """End the membership, and return what to send if the coordinator is to know at once.

        By default a static member sends nothing, so that it may be back before its session ends.
        """
        request = self._departure.request(self.member_id, reason, leave_group)
        self._reset_member()
        self._actions.clear()
        self.owned = self._remembered = frozenset()
        self._failures = 0
        self.failures.succeeded()
        self.error = None
        self.state = MemberState.UNSUBSCRIBED
        return request

    # -- what to do --------------------------------------------------------------------------------

    def next_action(self, now: float) -> Action:
        """Return what is due now."""
        self._notice_absence(now)
        self._notice_silence(now)
        action = self._next_action(now)
        if isinstance(action, Send):
            self._sent, self._sent_in = action, self.state
        return action

    def _next_action(self, now: float) -> Action:
        if self._actions:
            return self._actions.popleft()
        if self.state is MemberState.STABLE and self._must_rejoin():
            self._begin_rejoining()
            return self._next_action(now)
        if self.state is MemberState.DIVIDING and self._leadership.can_divide(now):
            self._divide(now)
        return self._due_request(now) or Wait(self._due_at(now))

    def _due_request(self, now: float) -> Send | None:
        if self.state is MemberState.SYNCING:
            request, self._sync = self._sync, None
            return request
        if self.state is MemberState.JOINING and now >= self._retry_at:
            return self._join()
        if self.state in BEATING and now >= self._session.next_heartbeat:
            return self._heartbeat(now)
        return None

    def _must_rejoin(self) -> bool:
        # Compared here, because layouts may change while the group still syncs.
        if self._leadership.must_divide_again:
            self._rejoin_reason = "partitions of subscribed topics changed"
        return self._rejoin_reason is not None

    def is_absent(self, now: float) -> bool:
        """Return whether the application has been busy for so long that the member must leave."""
        return self.state not in OUTSIDE and now >= self._absent_at

    def _due_at(self, now: float) -> float | None:
        due: list[float] = []
        if self.state is MemberState.AWAY:  # look again whether the application is back
            due.append(now + self._options.heartbeat_interval)
        if self.state is MemberState.JOINING:
            due.append(self._retry_at)
        if self.state is MemberState.DIVIDING:
            due.append(self._leadership.divide_by)
        if self.state in BEATING:
            due += [self._session.next_heartbeat, self._session.ends_at]
        if self.state not in OUTSIDE:
            due.append(self._absent_at)
        return min(due, default=None)

    def _notice_absence(self, now: float) -> None:
        """Leave when the application has been busy for too long: others are to take over."""
        if not self.is_absent(now):
            return
        absence = self._options.max_poll_interval + now - self._absent_at
        warn_of_absence(self._options.group_id, absence)
        reason = "application exceeded max.poll.interval.ms"
        request = self._departure.request(self.member_id, reason)
        self._reset_member()
        self._lose_partitions()
        self.failures.succeeded()
        self.state = MemberState.AWAY
        if request is not None:
            self._actions.append(request)

    def _notice_silence(self, now: float) -> None:
        """Give up the partitions when the coordinator must have given up this member."""
        if not self._needs_session or now < self._session.ends_at:
            return
        log.warning(
            "Session in group %s expired: no heartbeat was answered for %.1f seconds; joins again",
            self._options.group_id,
            self._options.session_timeout,
        )
        self._actions.append(ForgetCoordinator())
        self._lose_partitions()
        self._begin_joining(now, "session expired")

    @property
    def _needs_session(self) -> bool:
        # A JoinGroup that waits at the coordinator keeps the session, one that fails does not.
        rejoins_in_vain = self.state is MemberState.JOINING and self._failures > 0 and self.owned
        return self.state in BEATING or bool(rejoins_in_vain)

    # -- responses ---------------------------------------------------------------------------------

    def answered(self, sent: Send, response: Any, now: float) -> None:
        """Take the response to a request, unless it is not wanted any more."""
        if not self._is_wanted(sent):
            return
        match response:
            case JoinGroupResponse():
                self._joined(response, now)
            case SyncGroupResponse():
                self._synced(response, now)
            case HeartbeatResponse():
                self._heartbeat_answered(response, now)

    def request_failed(self, sent: Send, error: KafkaError, now: float) -> None:
        """Learn that a request got no response."""
        if not self._is_wanted(sent):
            return
        if not error.retriable:
            self._fail(error)
            return
        self.failures.failed(error, now)
        if self.state in BEATING:
            self._back_off_heartbeat(None, now)
        elif self.state not in OUTSIDE:
            self._actions.append(ForgetCoordinator())
            self._try_joining_again(now, "lost the coordinator")

    def _is_wanted(self, sent: Send) -> bool:
        """Return whether the member is still in the state in which it handed out this request."""
        return self._sent is sent and self._sent_in is self.state

    # -- joining -----------------------------------------------------------------------------------

    def _begin_rejoining(self) -> None:
        """Revoke first the partitions that must not be owned during the rebalance."""
        unwanted = self.owned
        if self._options.is_cooperative:
            unwanted = frozenset(p for p in self.owned if p.topic not in self._topics)
        if unwanted:
            self._revoke(unwanted)
        else:
            self.state = MemberState.JOINING

    def _begin_joining(self, now: float, reason: str) -> None:
        self.state = MemberState.JOINING
        self._rejoin_reason = reason
        self._retry_at = now

    def _join(self) -> Send:
        self._joined_topics = self._topics
        reason, self._rejoin_reason = self._rejoin_reason, None
        claims = Claims(self.owned, self._remembered, self.generation_id)
        return join(self._options, self.member_id, self._topics, claims, reason)

    def _joined(self, response: JoinGroupResponse, now: float) -> None:
        code = ErrorCode(response.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:  # KIP-394
            self.member_id = response.member_id
            self._retry_at = now
        elif code is not ErrorCode.NONE:
            self._refused(code, now, "join")
        elif response.protocol_type not in (None, PROTOCOL_TYPE):
            self._fail(
                inconsistent_protocol_error(f"the group is of type {response.protocol_type!r}")
            )
        elif (assignor := self._options.assignor_named(response.protocol_name)) is None:
            self._fail(
                inconsistent_protocol_error(f"the coordinator chose {response.protocol_name!r}")
            )
        else:
            self.member_id = response.member_id
            self.generation_id = response.generation_id
            self._protocol_name = assignor.name
            self._session.begin(now)
            if response.leader == response.member_id:
                self._leadership.begin(response, now)
                self.state = MemberState.DIVIDING
            else:
                self._leadership.end()
                self._begin_syncing([])

    def _divide(self, now: float) -> None:
        assignor = self._options.assignor_named(self._protocol_name)
        assert assignor is not None
        self._begin_syncing(self._leadership.divide(assignor, now))

    def _begin_syncing(self, assignments: list[SyncGroupRequestAssignment]) -> None:
        self.state = MemberState.SYNCING
        self._sync = sync(
            self._options, self.member_id, self.generation_id, self._protocol_name, assignments
        )

    def _synced(self, response: SyncGroupResponse, now: float) -> None:
        code = ErrorCode(response.error_code)
        if code is not ErrorCode.NONE:
            self._refused(code, now, "sync")
            return
        if response.protocol_type not in (None, PROTOCOL_TYPE):
            self._fail(
                inconsistent_protocol_error(f"the group is of type {response.protocol_type!r}")
            )
            return
        try:
            assigned = decode_assignment(response.assignment)
        except ProtocolError as error:
            self._fail(MalformedResponseError(f"the leader's assignment cannot be read: {error}"))
            return
        self._failures = 0
        self.failures.succeeded()
        self._session.begin(now)
        self._take_assignment(frozenset(p for p in assigned if p.topic in self._joined_topics))

    def _take_assignment(self, assigned: Partitions) -> None:
        log.info(
            "Joined group %s as %s in generation %d, with %d partitions",
            self._options.group_id,
            self.member_id,
            self.generation_id,
            len(assigned),
        )
        self.state = MemberState.STABLE
        added, gone = assigned - self.owned, self.owned - assigned
        if gone:
            self._revoke(gone)
            self._rejoin_reason = "gave up partitions that go to other members"
            self._added = added
        else:
            self._assign(added)
        if self._topics != self._joined_topics:
            self._rejoin_reason = "subscription changed"

    def _assign(self, added: Partitions) -> None:
        self.owned |= added
        self._remembered = self.owned
        self._actions.append(Assign(added, self.owned))

    # -- giving up ---------------------------------------------------------------------------------

    def _revoke(self, partitions: Partitions) -> None:
        self.state = MemberState.REVOKING
        self._added = None
        self._revoking = Revoke(partitions)
        self._actions.append(self._revoking)

    def revoked(self, revoke: Revoke) -> None:
        """Learn that the application has given up the partitions of a :class:`Revoke`."""
        if revoke is not self._revoking:
            return  # they were lost meanwhile
        self._revoking = None
        self.owned -= revoke.partitions
        self.state = MemberState.JOINING
        if self._added is not None:
            self._assign(self._added)

    def _lose_partitions(self) -> None:
        self._revoking = None
        if self.owned:
            self._actions.append(Lose(self.owned))
        self.owned = frozenset()

    # -- heartbeats --------------------------------------------------------------------------------

    def _heartbeat(self, now: float) -> Send:
        self._session.heartbeat_sent(now)
        return heartbeat(self._options, self.member_id, self.generation_id)

    def _heartbeat_answered(self, response: HeartbeatResponse, now: float) -> None:
        code = ErrorCode(response.error_code)
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._failures = 0
            self.failures.succeeded()
            self._session.extend(now)
            if code is ErrorCode.REBALANCE_IN_PROGRESS and self.state is MemberState.STABLE:
                self._rejoin_reason = "group rebalances"
        elif code in TRY_AGAIN:
            self.failures.failed(error_for(code, group_id=self._options.group_id), now)
            self._back_off_heartbeat(code, now)
        else:
            self._refused(code, now, "heartbeat")

    def _back_off_heartbeat(self, code: ErrorCode | None, now: float) -> None:
        self._failures += 1
        self._session.next_heartbeat = now + self._delay()
        if code is None or code in COORDINATOR_MOVED:
            self._actions.append(ForgetCoordinator())

    # -- what goes wrong ---------------------------------------------------------------------------

    def _refused(self, code: ErrorCode, now: float, request: str) -> None:
        note = self.failures.forgotten if code in NOT_A_MEMBER else self.failures.failed
        note(refusal(code, request, self._options), now)
        if code in NOT_A_MEMBER:
            log.info("Group %s does not know this member: %s", self._options.group_id, code.name)
            self._reset_member(keep_id=code is ErrorCode.ILLEGAL_GENERATION)
            self._lose_partitions()
            self._try_joining_again(now, f"{code.name} to its {request}")
        elif code in TRY_AGAIN or code.retriable:
            if code in COORDINATOR_MOVED:
                self._actions.append(ForgetCoordinator())
            self._try_joining_again(now, f"{code.name} to its {request}")
        else:
            self._fail(error_for(code, group_id=self._options.group_id, api_key=ApiKey.JOIN_GROUP))

    def _try_joining_again(self, now: float, reason: str) -> None:
        self._begin_joining(now, reason)
        self._failures += 1
        # The first retry is at once: most often another member was only quicker.
        self._retry_at = now + self._delay(self._failures - 1)

    def _delay(self, failures: int | None = None) -> float:
        count = self._failures if failures is None else failures
        return self._options.backoff.delay(count, self._chance())

    def _fail(self, error: KafkaError) -> None:
        self.error = error
        self.failures.succeeded()  # it is raised for itself
        self._failures += 1
        # Once it may, the same member joins: the group would wait for the session of another one.
        self._reset_member(keep_id=isinstance(error, ACCESS_ERRORS))
        self._lose_partitions()
        self.state = MemberState.FAILED

    def _reset_member(self, *, keep_id: bool = False) -> None:
        if not keep_id:
            self.member_id = NO_MEMBER_ID
        self.generation_id = NO_GENERATION
        self._leadership.end()
        self._sync = self._sent = None
        self._revoking = self._rejoin_reason = None
