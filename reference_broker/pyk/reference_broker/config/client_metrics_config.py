"""The configurations of a subscription to client metrics (KIP-714), as in Apache Kafka 4.3."""

from __future__ import annotations

from pyk.reference_broker.config.definition import definitions_of, integer, strings
from pyk.runtime import slotted

MIN_INTERVAL_MS, MAX_INTERVAL_MS = 100, 3_600_000
DEFAULT_INTERVAL_MS = 300_000


@slotted.frozen(kw_only=True)
class ClientMetricsConfig:
    """The effective configuration of one subscription."""

    interval_ms: int = integer(
        DEFAULT_INTERVAL_MS, doc="How far apart the pushes of a client are: 100 ms to 1 hour."
    )
    match: tuple[str, ...] = strings(
        doc="The clients that push, as name=pattern, all of which must match; empty for all."
    )
    metrics: tuple[str, ...] = strings(
        doc="The prefixes of the names of the metrics to push; * for all metrics."
    )


CLIENT_METRICS_DEFINITIONS = definitions_of(ClientMetricsConfig)
