"""The interface of a consumer's membership in a group, the same for all protocols.

A membership is pure: its driver asks ``next_action`` what to do, does it, and reports what came of
it. One request at a time is in flight. The protocols differ in what is sent, and agree in what a
consumer has to do:

======================  ==================================  ====================================
the interface           classic protocol                    KIP-848
======================  ==================================  ====================================
``Send``, ``answered``  JoinGroup, SyncGroup, Heartbeat     ConsumerGroupHeartbeat, to join with
                                                            member epoch 0
``Assign``              what SyncGroup returned             what any heartbeat returned, by
                                                            topic id
``needs``               topics of all members, where this   names of topic ids that an
                        one leads the group                 assignment has
``revoked``             join again, or join at last         acknowledge: a heartbeat that names
                                                            what the member owns
``Lose``                ILLEGAL_GENERATION,                 FENCED_MEMBER_EPOCH,
                        UNKNOWN_MEMBER_ID, session over     UNKNOWN_MEMBER_ID
``leave``               LeaveGroup, nothing if static       a heartbeat with member epoch -1,
                                                            -2 if static
``identity``            generation                          member epoch
======================  ==================================  ====================================
"""

from __future__ import annotations

from typing import Any, Protocol

from pyk.clients.consumer.group.actions import Action, Leave, Revoke, Send
from pyk.clients.consumer.group.join_failures import JoinFailures
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import AuthenticationError, AuthorizationError, KafkaError
from pyk.clients.offsets import Identity
from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class Standing:
    """The state of a member in its group at one moment."""

    state: str
    """Its state in the protocol, in words for ``health()``."""
    identity: Identity | None
    """The identity to commit under; None before the first assignment and between two
    memberships."""
    is_member: bool
    """Whether it wants to be a member, in the group already or not."""
    is_joining: bool
    """Whether it asks to be in the group, and is not yet."""
    is_rebalancing: bool
    """Whether another assignment is on its way, so that its identity may change."""


@slotted.frozen
class MetadataNeeds:
    """The metadata that a member needs besides the topics that it subscribes to."""

    topics: frozenset[str] = frozenset()
    is_incomplete: bool = False
    """Whether it waits for something that newer metadata may bring."""


ACCESS_ERRORS = (AuthenticationError, AuthorizationError)
"""What keeps a member out until somebody grants it access."""


def is_final(error: KafkaError) -> bool:
    """Return whether a member that has given up because of an error must not try again.

    After a refused login it may: passwords and certificates are replaced while clients run.
    """
    return error.fatal and not isinstance(error, AuthenticationError)


class Membership(Protocol):
    """One member of one group. Times are monotonic seconds."""

    error: KafkaError | None
    """Why it has given up joining, None while it has not."""
    failures: JoinFailures

    @property
    def standing(self) -> Standing:
        """Its state now."""

    @property
    def needs(self) -> MetadataNeeds:
        """The metadata that it needs now."""

    def subscribe(self, topics: frozenset[str], now: float, pattern: str | None = None) -> None:
        """Want these topics from now on; the first time, join.

        With KIP-848 also those that match a ``pattern``, which the coordinator resolves.
        """

    def application_polled(self, now: float) -> None:
        """Note that the application has asked for records, or waits for some."""

    def metadata_changed(self, image: MetadataImage, now: float) -> None:
        """Apply new metadata of the cluster."""

    def next_action(self, now: float) -> Action:
        """Return what is due now."""

    def answered(self, sent: Send, response: Any, now: float) -> None:
        """Take the response to a request, unless it is not wanted any more."""

    def request_failed(self, sent: Send, error: KafkaError, now: float) -> None:
        """Learn that a request got no response."""

    def revoked(self, revoke: Revoke) -> None:
        """Learn that the application has given up the partitions of a :class:`Revoke`."""

    def is_absent(self, now: float) -> bool:
        """Return whether the application has been busy for so long that the member must leave."""

    def retry(self, now: float) -> None:
        """Try to join once more after an ``error`` that need not last."""

    def rejoin(self, reason: str) -> bool:
        """Ask for a rebalance; return False if the protocol leaves that to the coordinator."""

    def leave(self, reason: str, leave_group: bool | None = None) -> Leave | None:
        """End the membership; return what to send if the coordinator is to know at once.

        ``leave_group`` says whether the group is to do without this member from now on, or to keep
        its partitions for it until its session ends (KIP-1092). None: only if it is not static.
        """
