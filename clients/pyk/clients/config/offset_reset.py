"""The option ``auto_offset_reset``: where to begin without a committed offset. Pure."""

from __future__ import annotations

import re

import attrs

BY_DURATION = "by_duration:"
WORDS = ("latest", "earliest", "none")

# java.time.Duration, which Kafka parses with (KIP-1106), has no years and months.
DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{0,9})?)S)?)?",
    re.ASCII | re.IGNORECASE,
)
MILLISECONDS = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000}


@attrs.frozen
class OffsetReset:
    """The kind of option that names an end of the log, or a duration before now."""

    def parse(self, given: object) -> str:
        text = given.strip() if isinstance(given, str) else ""
        if text.lower() in WORDS:
            return text.lower()
        if text.lower().startswith(BY_DURATION):
            duration = text[len(BY_DURATION) :].upper()
            duration_ms(duration)
            return f"{BY_DURATION}{duration}"
        raise ValueError(f"is {given!r}, but must be {self.describe()}")

    def describe(self) -> str:
        return f"{' or '.join(map(repr, WORDS))} or '{BY_DURATION}' and a duration such as PT1H"


def reset_duration_ms(policy: str) -> int | None:
    """Return how many milliseconds before now a policy begins, None if it names no duration."""
    return duration_ms(policy[len(BY_DURATION) :]) if policy.startswith(BY_DURATION) else None


def duration_ms(text: str) -> int:
    """Return the milliseconds of an ISO 8601 duration such as ``P1DT2H30M`` or ``PT0.5S``.

    Raises ``ValueError`` for another text, for a negative duration, and for years and months, whose
    lengths differ.
    """
    found = DURATION.fullmatch(text)
    parts = {} if found is None else {k: v for k, v in found.groupdict().items() if v is not None}
    if not parts:
        raise ValueError(
            f"has the duration {text!r}, but must have one such as P7D, PT1H or P1DT2H30M, which "
            "is not negative"
        )
    seconds, _, fraction = parts.pop("seconds", "0").partition(".")
    whole = sum(int(number) * MILLISECONDS[name] for name, number in parts.items())
    return whole + int(seconds) * 1000 + int(fraction[:3].ljust(3, "0"))
