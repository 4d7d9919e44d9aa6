"""Bearer tokens without a signature, for tests: what Kafka's brokers accept by default. Pure.

They are JSON Web Signatures whose header says ``"alg": "none"`` (RFC 7515), and prove nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from .principal import Login, Principal


class InvalidBearerTokenError(Exception):
    """A token that is refused: ``status`` and ``scope`` are those of RFC 6750."""

    def __init__(self, reason: str, status: str = "invalid_token", scope: str | None = None):
        super().__init__(reason)
        self.status = status
        self.scope = scope


def read_unsecured(token: str, now_ms: int) -> Login:
    """Return the login of a token; raise ``InvalidBearerTokenError`` unless it is valid now."""
    parts = token.split(".")
    if len(parts) != 3 or parts[2]:
        raise InvalidBearerTokenError("not header.claims. with an empty signature")
    header, claims = _json_object(parts[0]), _json_object(parts[1])
    if header.get("alg") != "none":
        raise InvalidBearerTokenError("the algorithm of an unsecured token is none")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise InvalidBearerTokenError("sub is not a name")
    expires_at_ms = _time_ms(claims, "exp")
    if expires_at_ms is None or expires_at_ms <= now_ms:
        raise InvalidBearerTokenError("exp is missing, or over")
    issued_at_ms = _time_ms(claims, "iat")
    if issued_at_ms is not None and issued_at_ms > min(now_ms, expires_at_ms):
        raise InvalidBearerTokenError("iat is in the future")
    return Login(Principal(subject), expires_at_ms)


def _time_ms(claims: dict[str, Any], name: str) -> int | None:
    seconds = claims.get(name)
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or abs(seconds) > 1e12:
        raise InvalidBearerTokenError(f"{name} is not a time")
    return round(seconds * 1000)


def _json_object(part: str) -> dict[str, Any]:
    try:
        raw = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        value = json.loads(raw.decode())
    except (binascii.Error, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidBearerTokenError("a part is not a JSON object in base64url")
    return value
