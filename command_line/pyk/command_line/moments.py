"""Points in a log as people write them: offsets, times, durations. Pure.

earliest, latest    the log start, the log end
42                  an offset
-10                 ten offsets before the log end, in each partition
2026-03-01T12:00    a time, in UTC without a zone; also 2026-03-01, and @1772366400000 in ms
15m                 that long ago: ms, s, m, h, d, w

``-0`` is refused. By the rule it is the end, but kcat reads it as offset 0: who writes the one and
gets the other reads, or deletes, all or nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Literal

from pyk.command_line.text import printable
from pyk.runtime import slotted

DURATION = r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)(?: ago)?"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_TIME_MS = 2**63 - 1
UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
FORMS = "earliest, latest, an offset, -N for the last N, a time such as 2026-03-01T12:00, or 15m"


@slotted.frozen
class Moment:
    """A point in a log. One of the fields is given."""

    name: str | None = None
    """``earliest`` or ``latest``."""
    offset: int | None = None
    """From the log end if it is negative."""
    time_ms: int | None = None

    @property
    def target(self) -> Literal["earliest", "latest"] | datetime | None:
        """Return this as ``Admin.reset_offsets`` takes it, None for what that does not."""
        if self.name is not None:
            return "earliest" if self.name == "earliest" else "latest"
        if self.time_ms is None:
            return None
        try:
            return EPOCH + timedelta(milliseconds=self.time_ms)
        except OverflowError:  # beyond all records
            return "latest"

    def is_before(self, other: Moment) -> bool:
        """Return whether this is before the other in every log, as far as both alone can tell."""
        if self.name is not None or other.name is not None:
            return self.name == "earliest" and other.name == "latest"
        if self.time_ms is not None and other.time_ms is not None:
            return self.time_ms < other.time_ms
        if self.offset is None or other.offset is None:
            return False
        return (self.offset < 0) == (other.offset < 0) and self.offset < other.offset

    def resolve(self, log_start: int, log_end: int, at_time: int | None = None) -> int:
        """Return the offset in a log; ``at_time`` is that of the first record at or after the time.

        An offset that the log does not have is moved to its nearest end.
        """
        if self.name is not None:
            return log_start if self.name == "earliest" else log_end
        if self.time_ms is not None:
            return log_end if at_time is None else at_time
        assert self.offset is not None
        wanted = self.offset if self.offset >= 0 else log_end + self.offset
        return min(max(wanted, log_start), log_end)


EARLIEST, LATEST = Moment(name="earliest"), Moment(name="latest")
NAMES = {"earliest": EARLIEST, "beginning": EARLIEST, "latest": LATEST, "end": LATEST}


def parse_moment(text: str, now_ms: int) -> Moment:
    """Return the moment that a text means; raise ``ValueError`` that names the forms."""
    word = text.strip().lower()
    for names, moment in (
        (("earliest", "beginning", "start"), EARLIEST),
        (("latest", "end"), LATEST),
    ):
        if word in names:
            return moment
    if re.fullmatch(r"-0+", word):
        raise ValueError(
            f"{word!r} may mean the start or the end: write 0 for offset 0, or latest for the end"
        )
    if re.fullmatch(r"-?\d+", word):
        return Moment(offset=int(word))
    if re.fullmatch(r"@\d+", word):
        return _time(int(word[1:]))
    if (duration := re.fullmatch(DURATION, word)) is not None:
        return _time(now_ms - float(duration[1]) * UNITS_MS[duration[2]])
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{printable(text)!r} must be {FORMS}") from None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return _time(at.timestamp() * 1000)


def _time(time_ms: float) -> Moment:
    """Return a time, moved to the nearest one that a record may have."""
    return Moment(time_ms=round(min(max(time_ms, 0), LAST_TIME_MS)))


def time_text(time_ms: int | None) -> str | None:
    """Return a time in UTC as people read it, None for no time."""
    if time_ms is None or time_ms < 0:
        return None
    try:
        at = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"@{time_ms}"
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
