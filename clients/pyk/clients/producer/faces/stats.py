"""The counters of a producer."""

from __future__ import annotations

from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class ProducerStats:
    """The counters of a producer at one moment; they begin when it is made."""

    delivered_records: int
    failed_records: int
    unfinished_batches: int
    """Batches whose outcome is not known yet, the open ones included."""
    in_flight_requests: int
    throttled_nodes: int
    """Brokers that make this client wait, because its quota is used up (KIP-219)."""
    buffer_available_bytes: int
    buffer_total_bytes: int
