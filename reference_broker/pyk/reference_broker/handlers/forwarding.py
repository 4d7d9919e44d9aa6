"""Requests that a broker hands to the controller as they are."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.schema import Message
from pyk.reference_broker.controller_channel import ControllerChannel
from pyk.reference_broker.deferred import HandlerResult

from .context import RequestContext


class ForwardingServices(Protocol):
    """The services that forwarding uses."""

    @property
    def controller(self) -> ControllerChannel: ...


def forward(
    services: ForwardingServices, request: Message, context: RequestContext
) -> HandlerResult:
    """Return the response of the controller, which comes when its decision is committed."""
    return services.controller.send(request)
