"""The configuration of streams groups: the broker's, and a group's own (KIP-1071)."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class StreamsGroupConfig:
    """What the members of streams groups obey; durations in milliseconds."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    """How far apart two target assignments are at least."""
    initial_rebalance_delay_ms: int = 3_000
    """How long the first member of an empty group waits for others."""
    num_standby_replicas: int = 0
    """How many processes keep copies of the stores of each task."""
    max_size: int = 2_147_483_647

    @property
    def of_assignment(self) -> dict[str, str]:
        """The settings that begin a new epoch when they change, as the group's record has them."""
        return {"num.standby.replicas": str(self.num_standby_replicas)}

    def of_group(self, own: Mapping[str, str]) -> StreamsGroupConfig:
        """Return the configuration of a group with values of its own."""
        changes = {
            name.removeprefix("streams.").replace(".", "_"): int(value)
            for name, value in own.items()
            if name in OWN_CONFIGS
        }
        return slotted.evolve(self, **changes) if changes else self


OWN_CONFIGS = (
    "streams.session.timeout.ms",
    "streams.heartbeat.interval.ms",
    "streams.assignment.interval.ms",
    "streams.initial.rebalance.delay.ms",
    "streams.num.standby.replicas",
)
"""What a group may have for itself of these."""
