"""Envelope: a broker passes a client's request on to the controller (KIP-590)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    binary,
    boolean,
    data,
    int16,
    request,
    response,
    string,
)


@data(versions="0", flexible="0+")
class DefaultPrincipalData(Message):
    """The principal of a client, as brokers without a principal builder of their own write it.

    An int16 version stands before it.
    """

    type: str = string()
    """``User``, unless an authorizer knows others."""
    name: str = string()
    token_authenticated: bool = boolean()
    """The client logged in with a delegation token."""


@request(ApiKey.ENVELOPE, versions="0", flexible="0+")
class EnvelopeRequest(Message):
    """Carry a client's request to the active controller, in the client's name.

    Brokers send it for requests that only the controller can answer, such as CreateTopics.
    """

    request_data: bytes = binary(secret=True)
    """The client's request with its header; it may hold what is secret."""
    request_principal: bytes | None = binary(nullable="0+")
    """Who the client is, in the form of the broker's principal builder."""
    client_host_address: bytes = binary()
    """The 4 or 16 bytes of the client's IP address."""


@response(ApiKey.ENVELOPE, versions="0", flexible="0+")
class EnvelopeResponse(Message):
    """Carry the controller's response back."""

    response_data: bytes | None = binary(nullable="0+", default=None, secret=True)
    """The response to the client with its header; None if the envelope was refused."""
    error_code: int = int16()
    """What was wrong with the envelope, not with the request inside."""
