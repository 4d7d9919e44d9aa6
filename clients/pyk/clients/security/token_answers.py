"""What a token endpoint answers (RFC 6749, RFC 6750). Pure.

No text of an error shows a token, nor a secret that the request had: an endpoint may repeat it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from pyk.clients.security.exchange import CredentialsError
from pyk.protocol.sasl import MalformedTokenError
from pyk.protocol.sasl.json_web_tokens import JsonWebToken, json_object
from pyk.runtime import slotted
from pyk.runtime.secret import HIDDEN, Secret

BEARER_TOKEN = re.compile(r"[-_~+/.A-Za-z0-9]+=*")
LONGEST_SHOWN = 200
# As in Kafka's client; all others of 400 to 499 say that the same request fails again, too.
RETRIABLE_CLIENT_ERRORS = (408, 425, 429)


class TokenError(CredentialsError):
    """There is no token; ``is_retriable`` if the next attempt may bring one."""

    def __init__(self, text: str, *, is_retriable: bool = False) -> None:
        super().__init__(text)
        self.is_retriable = is_retriable


@slotted.frozen
class Token:
    """A token, and how many seconds it is valid from now on."""

    value: Secret
    lifetime: float


def token_of(
    status: int, body: bytes, url: str, now: float, secrets: Collection[str] = ()
) -> Token:
    """Return the token in an answer; raise :class:`TokenError` if there is none that is valid.

    ``now`` is in seconds of the epoch; ``secrets`` are what the text of an error must not show.
    """
    if status not in (200, 201):
        raise _refusal(status, body, url, secrets)
    try:
        members = json_object(body)
    except MalformedTokenError:
        raise TokenError(f"{url} does not answer with a JSON object") from None
    value = members.get("access_token") or members.get("id_token")
    if not isinstance(value, str) or BEARER_TOKEN.fullmatch(value) is None:
        raise TokenError(f"{url} answers without an access_token that can be sent")
    kind = members.get("token_type", "Bearer")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise TokenError(f"{url} gives a token of another type than Bearer")
    return Token(Secret(value), _lifetime(value, members.get("expires_in"), url, now))


def _lifetime(value: str, expires_in: object, url: str, now: float) -> float:
    """Return the shorter of what the endpoint says and what the token says."""
    found = [] if (seconds := _seconds(expires_in)) is None else [seconds]
    expires_at = _expires_at(value)
    if expires_at is not None:
        found.append(expires_at - now)
    if not found:
        raise TokenError(f"{url} gives a token without expires_in, exp or another end")
    lifetime = min(found)
    if lifetime <= 0:
        raise TokenError(
            f"{url} gives a token that has expired already: compare its clock with the one here"
        )
    return lifetime


def _seconds(value: object) -> float | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        return float(value)  # as some providers write it
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**11:
        return float(value)
    return None


def _expires_at(value: str) -> float | None:
    """Return the end of a token that can be read, in seconds of the epoch."""
    try:
        return JsonWebToken.decode(value).seconds("exp")
    except MalformedTokenError:
        return None  # how a token is made is the business of the provider


def _refusal(status: int, body: bytes, url: str, secrets: Collection[str]) -> TokenError:
    if 300 <= status < 400:
        return TokenError(
            f"{url} redirects to another place (HTTP {status}), which is not followed: give the "
            "URL of the token endpoint itself"
        )
    is_retriable = status >= 500 or status in RETRIABLE_CLIENT_ERRORS
    said = _said(body, secrets)
    text = f"{url} gives no token (HTTP {status})" + (f": {said}" if said else "")
    if status in (400, 401, 403):
        text += "; check client id, secret or key, and scope"
    return TokenError(text, is_retriable=is_retriable)


def _said(body: bytes, secrets: Collection[str]) -> str:
    """Return ``error`` and ``error_description`` of an answer, and nothing else of it."""
    try:
        members = json_object(body)
    except MalformedTokenError:
        return ""
    names = ("error", "error_description", "errorCode", "errorSummary")
    said = [text for name in names if isinstance(text := members.get(name), str)]
    return _printable(" - ".join(said[:2]), secrets)


def _printable(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    shown = "".join(one if one.isprintable() else " " for one in text)
    return shown[:LONGEST_SHOWN].strip()
