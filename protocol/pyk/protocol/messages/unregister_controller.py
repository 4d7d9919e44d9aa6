"""UnregisterController: forget a controller that is gone for good (KIP-1312)."""

from __future__ import annotations

from pyk.protocol.schema import ApiKey, Message, int16, int32, request, response, string


@request(ApiKey.UNREGISTER_CONTROLLER, versions="0", flexible="0+")
class UnregisterControllerRequest(Message):
    """Drop a controller's registration, which otherwise holds back the upgrade of features.

    Sent by an operator's tool after the controller has left the voters.
    """

    controller_id: int = int32()


@response(ApiKey.UNREGISTER_CONTROLLER, versions="0", flexible="0+")
class UnregisterControllerResponse(Message):
    """Return whether the controller was forgotten."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
