"""JSON Web Tokens: their parts, without a look at who signed them (RFC 7515, RFC 7519). Pure.

::

    base64url(header) "." base64url(claims) "." base64url(signature)

They are bytes of a peer: each part is bounded, and JSON is read strictly. No error shows a token.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, NoReturn

from pyk.runtime import slotted

from .errors import MalformedTokenError
from .syntax import MAX_TOKEN_BYTES

LATEST_SECONDS = 10**12
"""A time beyond this is not one; milliseconds where seconds belong would be."""


@slotted.frozen
class JsonWebToken:
    """The parts of a token. Claims hold only if its signature is one of somebody trusted."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any] = slotted.field(repr=False)
    signed: bytes = slotted.field(repr=False)
    """The bytes that the signature is made of."""
    signature: bytes = slotted.field(repr=False)

    @classmethod
    def decode(cls, token: str) -> JsonWebToken:
        """Return the parts of a token; raise MalformedTokenError if it is not one."""
        parts = token.split(".")
        if len(token) > MAX_TOKEN_BYTES or len(parts) != 3 or not token.isascii():
            raise MalformedTokenError("it is not header.claims.signature")
        header, claims, signature = (from_base64url(part) for part in parts)
        signed = f"{parts[0]}.{parts[1]}".encode()
        return cls(json_object(header), json_object(claims), signed, signature)

    def seconds(self, claim: str) -> float | None:
        """Return the time of a claim in seconds of the epoch, None without it.

        Raises MalformedTokenError if it is not a time.
        """
        value = self.claims.get(claim)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not abs(value) < LATEST_SECONDS:
            raise MalformedTokenError(f"{claim} is not a time")
        return float(value)


def encode_unsigned(header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
    """Return the first two parts of a token, which are to be signed."""
    return ".".join(
        to_base64url(json.dumps(part, separators=(",", ":")).encode()) for part in (header, claims)
    )


def to_base64url(data: bytes) -> str:
    """Return bytes in base64url, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """Return the bytes of base64url without padding; raise MalformedTokenError."""
    try:
        if "=" in text:
            raise ValueError
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise MalformedTokenError("a part is not base64url") from None


def json_object(data: bytes) -> dict[str, Any]:
    """Return a JSON object (RFC 8259), in which every name is there once.

    Raises MalformedTokenError for all else, also for ``NaN``, which Python would take.
    """
    try:
        value = json.loads(
            data.decode(), object_pairs_hook=_without_duplicates, parse_constant=_refuse
        )
    # Deep nesting ends in a RecursionError; invalid UTF-8 or JSON in kinds of ValueError.
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise MalformedTokenError("it is not a JSON object")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _refuse(_: str) -> NoReturn:
    raise ValueError
