"""Durations as Kafka's configurations name them: ISO 8601. Pure."""

from __future__ import annotations

import re

# java.time.Duration, which Kafka parses with (KIP-1106), has no years and months.
DURATION = (
    r"P(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{0,9})?)S)?)?"
)
MILLISECONDS = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000}


def duration_ms(text: str) -> int:
    """Return the milliseconds of an ISO 8601 duration such as ``P1DT2H30M`` or ``PT0.5S``.

    Raises ``ValueError`` for another text, for a negative duration, and for years and months, whose
    lengths differ.
    """
    found = re.fullmatch(DURATION, text, re.ASCII | re.IGNORECASE)
    parts = {} if found is None else {k: v for k, v in found.groupdict().items() if v is not None}
    if not parts:
        raise ValueError(
            f"has the duration {text!r}, but must have one such as P7D, PT1H or P1DT2H30M, which "
            "is not negative"
        )
    seconds, _, fraction = parts.pop("seconds", "0").partition(".")
    whole = sum(int(number) * MILLISECONDS[name] for name, number in parts.items())
    return whole + int(seconds) * 1000 + int(fraction[:3].ljust(3, "0"))
