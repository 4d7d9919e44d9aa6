"""Where a partition begins that has no position: what ``auto_offset_reset`` means. Pure."""

from __future__ import annotations

from pyk.clients.config.offset_reset import reset_duration_ms
from pyk.clients.offsets import OffsetSpec
from pyk.runtime import slotted

ENDS = {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST}


@slotted.frozen
class TimeBack:
    """The first record of the last so many milliseconds; without one the end (KIP-1106)."""

    milliseconds: int


ResetTarget = OffsetSpec | TimeBack


def reset_policy(option: str) -> ResetTarget | None:
    """Return where to begin, None if ``option`` is ``none``."""
    duration_ms = reset_duration_ms(option)
    return ENDS.get(option) if duration_ms is None else TimeBack(duration_ms)


def time_to_ask(target: ResetTarget, now_ms: int) -> int:
    """Return the time to ask a leader for, or the number that stands for an end of its log."""
    if isinstance(target, TimeBack):
        return max(0, now_ms - target.milliseconds)
    return target
