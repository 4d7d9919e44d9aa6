"""The configuration of a share group: the broker's, and the group's own. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.protocol.durations import duration_ms
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.partition_reader import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Isolation,
)
from pyk.runtime import slotted

from .share_partition import Limits

LATEST, EARLIEST, BY_DURATION = "latest", "earliest", "by_duration:"


@slotted.frozen(kw_only=True)
class ShareGroupSettings:
    """What a share group obeys where its partitions are led."""

    lock_duration_ms: int
    deliveries: int
    records_in_flight: int
    auto_offset_reset: str = LATEST
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    may_renew: bool = True

    @property
    def limits(self) -> Limits:
        return Limits(
            deliveries=self.deliveries,
            records_in_flight=self.records_in_flight,
            lock_seconds=self.lock_duration_ms / 1000,
            may_renew=self.may_renew,
        )

    def reset_timestamp(self, time_ms: int) -> int:
        """Return the timestamp of ListOffsets by which a group without a start offset begins."""
        strategy = self.auto_offset_reset
        if strategy.lower() == EARLIEST:
            return EARLIEST_TIMESTAMP
        if not strategy.startswith(BY_DURATION):
            return LATEST_TIMESTAMP
        return max(0, time_ms - duration_ms(strategy.removeprefix(BY_DURATION)))


def settings_of(broker: BrokerConfig, own: Mapping[str, str]) -> ShareGroupSettings:
    """Return the settings of a group with values of its own."""
    is_committed = own.get("share.isolation.level", "").lower() == "read_committed"
    return ShareGroupSettings(
        lock_duration_ms=_number(
            own, "share.record.lock.duration.ms", broker.group_share_record_lock_duration_ms
        ),
        deliveries=_number(
            own, "share.delivery.count.limit", broker.group_share_delivery_count_limit
        ),
        records_in_flight=_number(
            own, "share.partition.max.record.locks", broker.group_share_partition_max_record_locks
        ),
        auto_offset_reset=own.get("share.auto.offset.reset", LATEST),
        isolation=Isolation.READ_COMMITTED if is_committed else Isolation.READ_UNCOMMITTED,
        may_renew=own.get("share.renew.acknowledge.enable", "true").lower() == "true",
    )


def _number(own: Mapping[str, str], name: str, default: int) -> int:
    return int(own[name]) if name in own else default
