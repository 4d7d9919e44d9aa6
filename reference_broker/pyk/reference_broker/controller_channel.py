"""The channel from a broker to the controller: Kafka's requests, wherever the controller is.

The controller of a one-node cluster runs in the same process. The channel to it takes and gives the
same messages as a connection would: nothing but requests reaches the controller, and nothing but
responses comes back.
"""

from __future__ import annotations

from typing import Any, Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message

from .controller.requests import decide
from .controller.shard import ControllerShard
from .controller.topics import Charge, uncharged
from .coordinator.runtime import ShardRuntime
from .deferred import Deferred
from .security.principal import ANONYMOUS, Principal


class ControllerChannel(Protocol):
    """The way to the active controller."""

    def send(
        self,
        request: Message,
        charge: Charge = uncharged,
        *,
        requester: Principal = ANONYMOUS,
    ) -> Deferred[Any]:
        """Send a request; return its response, which comes when what it decides is committed.

        Partitions that it creates or deletes are charged to ``charge``. ``requester`` is the client
        that has sent it, as an Envelope tells it (KIP-590).
        Never fails: the response says so if the controller could not decide, or not write.
        """


class LocalControllerChannel:
    """The way to a controller in this process."""

    def __init__(self, controller: ShardRuntime[ControllerShard]) -> None:
        self._controller = controller

    def send(
        self,
        request: Message,
        charge: Charge = uncharged,
        *,
        requester: Principal = ANONYMOUS,
    ) -> Deferred[Any]:
        """See :class:`ControllerChannel`."""
        asked: Any = request

        def refused(code: ErrorCode) -> Message:
            from .handlers.error_responses import error_response

            return error_response(asked.api_key, request, code)

        return self._controller.ask(
            lambda shard, moment: decide(shard, request, charge, requester, moment.time_ms),
            refused,
        )
