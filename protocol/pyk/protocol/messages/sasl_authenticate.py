"""SaslAuthenticate: carry the tokens of a SASL exchange (KIP-152)."""

from __future__ import annotations

from pyk.protocol.schema import ApiKey, Message, binary, int16, int64, request, response, string


@request(ApiKey.SASL_AUTHENTICATE, versions="0-2", flexible="2+")
class SaslAuthenticateRequest(Message):
    """Carry the client's next SASL token."""

    auth_bytes: bytes = binary(secret=True)


@response(ApiKey.SASL_AUTHENTICATE, versions="0-2", flexible="2+")
class SaslAuthenticateResponse(Message):
    """Carry the broker's next SASL token, and at the end how long the session holds."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    auth_bytes: bytes = binary(secret=True)
    session_lifetime_ms: int = int64(versions="1+", ignorable=True)
    """Authenticate again before it is over (KIP-368); 0: no limit."""
