"""Hand requests about the cluster's metadata to the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyk.protocol.schema import Message
from pyk.reference_broker.controller.shard import ControllerShard
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.deferred import HandlerResult

from .error_responses import error_response

if TYPE_CHECKING:
    from pyk.reference_broker.broker import Broker


def ask_controller(
    broker: Broker, request: Any, handle: Callable[[ControllerShard], tuple[Message, Decision]]
) -> HandlerResult:
    """Return the response of the controller, sent once its records are committed, or its error."""
    return broker.controller.ask(
        lambda shard, _: handle(shard),
        lambda code: error_response(request.api_key, request, code),
    )
