"""The configuration of share groups: the broker's, and a group's own (KIP-932)."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class ShareGroupConfig:
    """What the members of share groups obey; durations in milliseconds."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    """How far apart two target assignments are at least."""
    initialize_retry_interval_ms: int = 30_000
    """After how long partitions that are still being initialized are tried again."""
    max_size: int = 200
    assignor: str = "simple"

    def of_group(self, own: Mapping[str, str]) -> ShareGroupConfig:
        """Return the configuration of a group with values of its own."""
        changes = {
            name.removeprefix("share.").replace(".", "_"): int(value)
            for name, value in own.items()
            if name in OWN_CONFIGS
        }
        return slotted.evolve(self, **changes) if changes else self


OWN_CONFIGS = (
    "share.session.timeout.ms",
    "share.heartbeat.interval.ms",
    "share.assignment.interval.ms",
)
"""What a group may have for itself of these."""
