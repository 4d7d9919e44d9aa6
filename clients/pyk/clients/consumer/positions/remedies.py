"""What helps a partition that stands still although it has records, and when to tell. Pure.

Each remedy costs more than the one before, and has STALL_SECONDS to help. After the last one the
application is told, again and again as long as nothing comes.

A partition whose requests fail needs no remedy: they are sent again. A refusal that lasts is told
after the time of one request. Lost requests are an outage, and most of those end: Java's consumer
never raises them, this one raises those that last.
"""

from __future__ import annotations

from enum import Enum

from pyk.clients.errors import KafkaError, NetworkError, RequestTimeoutError

# How many times the timeout of a request a node may be silent before the application is told.
SILENCES = 4


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


def tells_after(error: KafkaError, request_timeout: float) -> float:
    """Return for how many seconds requests may fail with an error before the application is told
    of it."""
    is_silence = isinstance(error, NetworkError | RequestTimeoutError)
    return SILENCES * request_timeout if is_silence else request_timeout
