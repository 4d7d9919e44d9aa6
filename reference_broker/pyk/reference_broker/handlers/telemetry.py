"""GetTelemetrySubscriptions and PushTelemetry (KIP-714): clients hand over their metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from pyk.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from pyk.reference_broker.client_metrics.subscription import Attribute, Attributes
from pyk.reference_broker.client_metrics.telemetry import Telemetry
from pyk.reference_broker.errors import ApiError

from .context import RequestContext

UNKNOWN = "unknown"
"""What Kafka writes where a client has not told its software."""


class TelemetryServices(Protocol):
    """The services that requests about metrics of clients use."""

    @property
    def telemetry(self) -> Telemetry: ...
    @property
    def now(self) -> Callable[[], float]: ...


def get_telemetry_subscriptions(
    services: TelemetryServices,
    request: GetTelemetrySubscriptionsRequest,
    context: RequestContext,
) -> GetTelemetrySubscriptionsResponse:
    """Return which metrics the client is to push, and how often."""
    try:
        return services.telemetry.subscriptions_for(
            request.client_instance_id,
            _client(context),
            context.connection,
            services.now() * 1000,
        )
    except ApiError as error:
        return GetTelemetrySubscriptionsResponse(error_code=error.code)


def push_telemetry(
    services: TelemetryServices, request: PushTelemetryRequest, context: RequestContext
) -> PushTelemetryResponse:
    """Keep the metrics of a client."""
    code = ErrorCode.NONE
    try:
        services.telemetry.pushed(
            request, _client(context), context.connection, services.now() * 1000
        )
    except ApiError as error:
        code = error.code
    return PushTelemetryResponse(error_code=code)


def _client(context: RequestContext) -> Attributes:
    connection = context.connection
    name, version = (UNKNOWN, UNKNOWN) if connection is None else connection.software
    return {
        Attribute.CLIENT_ID: context.client_id,
        Attribute.CLIENT_SOFTWARE_NAME: name,
        Attribute.CLIENT_SOFTWARE_VERSION: version,
        Attribute.CLIENT_SOURCE_ADDRESS: context.client_host.removeprefix("/"),
        Attribute.CLIENT_SOURCE_PORT: "" if connection is None else connection.port,
    }
