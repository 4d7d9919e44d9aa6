"""ExpireDelegationToken: let a token end, now or at a set time (KIP-48)."""

from __future__ import annotations

from pyk.protocol.schema import ApiKey, Message, binary, int16, int32, int64, request, response


@request(ApiKey.EXPIRE_DELEGATION_TOKEN, versions="0-2", flexible="2+")
class ExpireDelegationTokenRequest(Message):
    """Ask for the end of a token; its owner and its renewers may."""

    hmac: bytes = binary(secret=True)
    """By which the token is found."""
    expiry_time_period_ms: int = int64()
    """From now on; negative ends it at once."""


@response(ApiKey.EXPIRE_DELEGATION_TOKEN, versions="0-2", flexible="2+")
class ExpireDelegationTokenResponse(Message):
    """Say when the token ends."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
