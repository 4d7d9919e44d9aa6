"""SaslHandshake and SaslAuthenticate: a client shows who it is (KIP-43, KIP-152, KIP-368)."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from pyk.reference_broker.security.authentication import State, UnsupportedMechanismError
from pyk.reference_broker.security.exchanges import LoginRefusedError

from .context import RequestContext


class SaslServices(Protocol):
    """The services that logins use."""

    def time_ms(self) -> int: ...


def sasl_handshake(
    services: SaslServices, request: SaslHandshakeRequest, context: RequestContext
) -> SaslHandshakeResponse:
    """Begin to authenticate by a mechanism, or list those that the listener has."""
    sasl, now_ms = context.sasl, services.time_ms()
    if sasl is None or not sasl.may_begin(now_ms):
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    code = ErrorCode.NONE
    try:
        sasl.begin(request.mechanism, now_ms)
    except UnsupportedMechanismError:
        code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
    except LoginRefusedError:
        code = ErrorCode.SASL_AUTHENTICATION_FAILED
    return SaslHandshakeResponse(error_code=code, mechanisms=list(sasl.mechanisms))


def sasl_authenticate(
    services: SaslServices, request: SaslAuthenticateRequest, context: RequestContext
) -> SaslAuthenticateResponse:
    """Answer the next token of a client."""
    sasl = context.sasl
    if sasl is None or sasl.state is not State.EXCHANGING:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
        )
    try:
        token, lifetime_ms = sasl.answer(request.auth_bytes, services.time_ms())
    except LoginRefusedError as error:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=error.message
        )
    return SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=lifetime_ms)
