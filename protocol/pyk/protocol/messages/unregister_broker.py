"""UnregisterBroker: remove a broker that will not come back."""

from __future__ import annotations

from pyk.protocol.schema import ApiKey, Message, int16, int32, request, response, string


@request(ApiKey.UNREGISTER_BROKER, versions="0", flexible="0+")
class UnregisterBrokerRequest(Message):
    """Ask the controller to forget the registration of a broker that has been shut down."""

    broker_id: int = int32()


@response(ApiKey.UNREGISTER_BROKER, versions="0", flexible="0+")
class UnregisterBrokerResponse(Message):
    """Return whether the broker was removed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
