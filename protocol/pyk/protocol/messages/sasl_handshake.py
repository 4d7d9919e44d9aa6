"""SaslHandshake: agree on a SASL mechanism."""

from __future__ import annotations

from pyk.protocol.schema import ApiKey, Message, array, int16, request, response, string


@request(ApiKey.SASL_HANDSHAKE, versions="0-1", flexible="none")
class SaslHandshakeRequest(Message):
    """Name the SASL mechanism that the client wants to use."""

    mechanism: str = string()


@response(ApiKey.SASL_HANDSHAKE, versions="0-1", flexible="none")
class SaslHandshakeResponse(Message):
    """Accept the mechanism, or list those that the broker has."""

    error_code: int = int16()
    mechanisms: list[str] = array(string)
