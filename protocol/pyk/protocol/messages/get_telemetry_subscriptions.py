"""GetTelemetrySubscriptions: which metrics the cluster wants of a client (KIP-714)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    array,
    boolean,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    uuid,
)


@request(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest(Message):
    """Ask a broker what to measure.

    A client does so before its first push, and again when a push was refused as out of date.
    """

    client_instance_id: UUID = uuid()
    """All zero at first."""


@response(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse(Message):
    """Say which metrics to push, how often and in what form."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    client_instance_id: UUID = uuid()
    """The id to use from now on, if the client had none."""
    subscription_id: int = int32()
    """Stands for all that follows: a push with an old one is refused."""
    accepted_compression_types: list[int] = array(int8)
    """In the numbers of record batches."""
    push_interval_ms: int = int32()
    telemetry_max_bytes: int = int32()
    delta_temporality: bool = boolean()
    """Counters are to be told as what they grew by since the last push, not as totals."""
    requested_metrics: list[str] = array(string)
    """Prefixes of names: nothing for no metrics, one empty string for all."""
