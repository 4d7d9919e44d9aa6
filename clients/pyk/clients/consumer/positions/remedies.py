"""What helps a partition that stands still although it has records. Pure.

Each remedy costs more than the one before, and has STALL_SECONDS to help. After the last one the
application is told, again and again as long as nothing comes.
"""

from __future__ import annotations

from enum import Enum


class Remedy(Enum):
    """What to try; the order is that of the members."""

    SESSION = "refreshing metadata, and opening new fetch sessions"
    CONNECTION = "opening a new connection"
    REJOIN = "joining the group again"
    TELL = "telling the application"


LADDER = tuple(Remedy)


def remedy_for(stalls: int, *, has_group: bool) -> Remedy:
    """Return what to try when a partition has stalled so often since its last progress."""
    remedies = LADDER if has_group else tuple(r for r in LADDER if r is not Remedy.REJOIN)
    return remedies[min(stalls, len(remedies)) - 1]
