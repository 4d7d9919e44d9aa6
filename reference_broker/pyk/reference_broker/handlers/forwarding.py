"""Requests that a broker hands to the controller as they are."""

from __future__ import annotations

from typing import Any, Protocol

from pyk.protocol.api_keys import ApiKey
from pyk.reference_broker.controller.topics import Charge, uncharged
from pyk.reference_broker.controller_channel import ControllerChannel
from pyk.reference_broker.deferred import HandlerResult

from .context import RequestContext

# From these versions on clients understand THROTTLING_QUOTA_EXCEEDED, and try again later.
_STRICT_SINCE = {
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.DELETE_TOPICS: 5,
    ApiKey.CREATE_PARTITIONS: 3,
}


class ForwardingServices(Protocol):
    """The services that forwarding uses."""

    @property
    def controller(self) -> ControllerChannel: ...


def forward(services: ForwardingServices, request: Any, context: RequestContext) -> HandlerResult:
    """Return the response of the controller, which comes when its decision is committed."""
    charge = mutation_charge(request.api_key, context, context.version)
    return services.controller.send(request, charge)


def mutation_charge(api_key: ApiKey, context: RequestContext, version: int) -> Charge:
    """Return whom to charge partitions to that a request creates or deletes (KIP-599)."""
    strict_since = _STRICT_SINCE.get(api_key)
    if context.usage is None or strict_since is None:
        return uncharged
    quota = context.usage.mutations(is_strict=version >= strict_since)
    return uncharged if quota is None else quota.charge
