"""Bearer tokens without a signature, for tests: what Kafka's brokers accept by default. Pure.

They are JSON Web Signatures whose header says ``"alg": "none"`` (RFC 7515), and prove nothing.
"""

from __future__ import annotations

from pyk.protocol.sasl import MalformedTokenError
from pyk.protocol.sasl.json_web_tokens import JsonWebToken

from .principal import Login, Principal


class InvalidBearerTokenError(Exception):
    """A token that is refused: ``status`` and ``scope`` are those of RFC 6750."""

    def __init__(self, reason: str, status: str = "invalid_token", scope: str | None = None):
        super().__init__(reason)
        self.status = status
        self.scope = scope


def read_unsecured(token: str, now_ms: int) -> Login:
    """Return the login of a token; raise ``InvalidBearerTokenError`` unless it is valid now."""
    try:
        decoded = JsonWebToken.decode(token)
        expires_at, issued_at = decoded.seconds("exp"), decoded.seconds("iat")
    except MalformedTokenError as error:
        raise InvalidBearerTokenError(str(error)) from None
    if decoded.header.get("alg") != "none" or decoded.signature:
        raise InvalidBearerTokenError("the algorithm of an unsecured token is none")
    subject = decoded.claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise InvalidBearerTokenError("sub is not a name")
    if expires_at is None or expires_at * 1000 <= now_ms:
        raise InvalidBearerTokenError("exp is missing, or over")
    # Tokens may be issued within a millisecond, which the clock here rounds down.
    if issued_at is not None and (issued_at * 1000 >= now_ms + 1 or issued_at > expires_at):
        raise InvalidBearerTokenError("iat is in the future")
    return Login(Principal(subject), round(expires_at * 1000))
