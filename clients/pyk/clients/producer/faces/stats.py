"""What a producer tells of itself."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class ProducerStats:
    """A moment in the life of a producer. Counts are since it was made."""

    delivered_records: int
    failed_records: int
    unfinished_batches: int
    """Batches whose outcome is not known yet, the open ones included."""
    in_flight_requests: int
    buffer_available_bytes: int
    buffer_total_bytes: int
