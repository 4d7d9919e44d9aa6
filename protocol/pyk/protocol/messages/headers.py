"""Headers: what stands before the body of every request and response."""

from __future__ import annotations

from pyk.protocol.schema import Message, header, int16, int32, string


@header(versions="0-2", flexible="2+")
class RequestHeader(Message):
    """Say which request follows, in which version, and how its response will be known."""

    request_api_key: int = int16()
    request_api_version: int = int16()
    correlation_id: int = int32()
    client_id: str | None = string(
        versions="1+", nullable="1+", ignorable=True, always_classic=True
    )
    """Never in the compact encoding, so that a broker can read it whatever the version."""


@header(versions="0-1", flexible="1+")
class ResponseHeader(Message):
    """Say which request this answers."""

    correlation_id: int = int32()
