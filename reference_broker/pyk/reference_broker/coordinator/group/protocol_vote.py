"""The protocol of a group: its members vote for one that all of them support."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from .member import Member, Protocols


def has_protocol_in_common(members: Collection[Member], protocols: Protocols) -> bool:
    """Return whether one of ``protocols`` is supported by all members."""
    candidates = _candidates(members)
    return any(name in candidates for name, _ in protocols)


def select_protocol(members: Collection[Member]) -> str:
    """Return the protocol with most votes among those that all members support."""
    candidates = _candidates(members)
    if not candidates:
        raise AssertionError("the members of a group have no protocol in common")
    votes = Counter(member.vote(candidates) for member in members)
    return votes.most_common(1)[0][0]


def _candidates(members: Collection[Member]) -> set[str]:
    support = Counter(name for member in members for name in set(member.protocol_names))
    return {name for name, count in support.items() if count == len(members)}
