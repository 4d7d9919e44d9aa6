"""RenewDelegationToken: let a token live longer (KIP-48)."""

from __future__ import annotations

from pyk.protocol.schema import ApiKey, Message, binary, int16, int32, int64, request, response


@request(ApiKey.RENEW_DELEGATION_TOKEN, versions="0-2", flexible="2+")
class RenewDelegationTokenRequest(Message):
    """Ask for more time; its owner and its renewers may."""

    hmac: bytes = binary(secret=True)
    """By which the token is found."""
    renew_period_ms: int = int64()
    """From now on; at most ``delegation.token.expiry.time.ms`` of the broker, which -1 stands
    for."""


@response(ApiKey.RENEW_DELEGATION_TOKEN, versions="0-2", flexible="2+")
class RenewDelegationTokenResponse(Message):
    """Say when the token ends now."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
