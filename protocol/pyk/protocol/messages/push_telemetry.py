"""PushTelemetry: hand over the metrics of a client (KIP-714)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    binary,
    boolean,
    int8,
    int16,
    int32,
    request,
    response,
    uuid,
)


@request(ApiKey.PUSH_TELEMETRY, versions="0", flexible="0+")
class PushTelemetryRequest(Message):
    """Hand a broker the metrics it has asked for, to pass on to its plug-ins."""

    client_instance_id: UUID = uuid()
    subscription_id: int = int32()
    terminating: bool = boolean()
    """The client is about to close; this push may come before the interval is over."""
    compression_type: int = int8()
    """In the numbers of record batches."""
    metrics: bytes = binary()
    """OpenTelemetry ``MetricsData`` in protobuf, then compressed."""


@response(ApiKey.PUSH_TELEMETRY, versions="0", flexible="0+")
class PushTelemetryResponse(Message):
    """Return whether the metrics were taken."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
