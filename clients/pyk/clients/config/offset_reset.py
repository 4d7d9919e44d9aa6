"""The option ``auto_offset_reset``: where to begin without a committed offset. Pure."""

from __future__ import annotations

from pyk.protocol.durations import duration_ms
from pyk.runtime import slotted

BY_DURATION = "by_duration:"
WORDS = ("latest", "earliest", "none")


@slotted.frozen
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
