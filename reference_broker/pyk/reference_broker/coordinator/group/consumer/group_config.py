"""The configuration of consumer groups: the broker's, and a group's own (KIP-848)."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.runtime import slotted

from .migration import MigrationPolicy


@slotted.frozen(kw_only=True)
class ConsumerGroupConfig:
    """What consumer groups obey; durations in milliseconds."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    """How far apart two target assignments are at least."""
    max_size: int = 2_147_483_647
    assignors: tuple[str, ...] = ("uniform", "range")
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL

    def of_group(self, own: Mapping[str, str]) -> ConsumerGroupConfig:
        """Return the configuration of a group with values of its own."""
        changes = {
            name.removeprefix("consumer.").replace(".", "_"): int(value)
            for name, value in own.items()
            if name in OWN_CONFIGS
        }
        return slotted.evolve(self, **changes) if changes else self


OWN_CONFIGS = (
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "consumer.assignment.interval.ms",
)
"""What a group may have for itself of these."""
