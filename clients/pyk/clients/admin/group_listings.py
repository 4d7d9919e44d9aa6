"""Groups as the admin client lists them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.protocol.messages.list_groups import ListedGroup, ListGroupsRequest
from pyk.runtime import slotted

CLASSIC = "classic"
CONSUMER = "consumer"
"""The protocol type of groups of consumers, and the type of those that follow KIP-848."""
TYPES_OF_CONSUMERS = (CLASSIC, CONSUMER)
TYPES = (CLASSIC, CONSUMER, "share", "streams")
DEAD = "Dead"
STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Empty",
    DEAD,
    "Assigning",
    "Reconciling",
    "NotReady",
)
FIRST_VERSION_WITH_STATES = 4
FIRST_VERSION_WITH_TYPES = 5


@slotted.frozen
class GroupListing:
    """A group in a list."""

    group_id: str
    protocol_type: str
    """``consumer`` for groups of consumers, empty for those that only have offsets."""
    state: str
    """``Stable``, ``Empty`` …; empty where the broker is too old to say, like the type."""
    group_type: str
    """``classic``, ``consumer``, ``share`` or ``streams``."""
    coordinator_id: int
    """The coordinator of the group."""


def list_request(states: list[str], types: list[str], version: int) -> ListGroupsRequest:
    """Return the request for groups in these states and of these types, if any are given.

    Brokers before 3.8 cannot select types: they have groups of the type ``classic`` alone.
    """
    if version < FIRST_VERSION_WITH_TYPES and CLASSIC in map(str.lower, types):
        types = []
    return ListGroupsRequest(states_filter=states, types_filter=types)


def first_list_version(states: list[str], types: list[str]) -> int | None:
    """Return the first version of ListGroups that can be asked for these, None if any can."""
    if types and CLASSIC not in map(str.lower, types):
        return FIRST_VERSION_WITH_TYPES
    return FIRST_VERSION_WITH_STATES if states else None


def group_listings(groups: Iterable[ListedGroup], coordinator_id: int) -> list[GroupListing]:
    return [
        GroupListing(
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            state=group.group_state,
            group_type=group.group_type,
            coordinator_id=coordinator_id,
        )
        for group in groups
    ]


def once_each(listings: Iterable[GroupListing]) -> list[GroupListing]:
    """Return groups by id. One whose coordinator moves meanwhile can be in the lists of two."""
    by_id = {one.group_id: one for one in listings}
    return [by_id[group_id] for group_id in sorted(by_id)]
