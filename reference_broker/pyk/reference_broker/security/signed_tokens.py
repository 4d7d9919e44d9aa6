"""Bearer tokens that an identity provider signed, as Kafka's BrokerJwtValidator takes them. Pure.

A token is accepted if a key of the provider signed it, it is valid now, and it is for this cluster:
its audience must be one that is expected, and if none is expected, it must not have one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pyk.protocol.sasl import MalformedTokenError
from pyk.protocol.sasl.json_web_tokens import JsonWebToken
from pyk.runtime import slotted

from .bearer_tokens import InvalidBearerTokenError
from .principal import Login, Principal


class Keys(Protocol):
    """The keys of an identity provider."""

    def verifies(self, token: JsonWebToken) -> bool:
        """Return whether one of the keys signed a token."""


@slotted.frozen(kw_only=True)
class TokenRules:
    """What a listener asks of tokens; Kafka's names begin with ``sasl.oauthbearer``."""

    audiences: tuple[str, ...] = ()
    issuer: str | None = None
    subject_claim: str = "sub"
    scope_claim: str = "scope"
    clock_skew_seconds: int = 30


def read_signed(
    token: str, verifies: Callable[[JsonWebToken], bool], rules: TokenRules, now_ms: int
) -> Login:
    """Return the login of a token; raise ``InvalidBearerTokenError`` unless it is valid now.

    ``verifies`` says whether a key of the provider signed it.
    """
    try:
        decoded = JsonWebToken.decode(token)
        algorithm = decoded.header.get("alg")
        if not isinstance(algorithm, str) or algorithm.lower() == "none":
            raise InvalidBearerTokenError("it is not signed")
        if "crit" in decoded.header:
            raise InvalidBearerTokenError("its header has critical parts that are not known here")
        if not verifies(decoded):
            raise InvalidBearerTokenError("no key of the provider signed it")
        expires_at_ms = _check_times(decoded, rules.clock_skew_seconds, now_ms / 1000)
    except MalformedTokenError as error:
        raise InvalidBearerTokenError(str(error)) from None
    _check_purpose(decoded, rules)
    _check_scope(decoded.claims.get(rules.scope_claim))
    return Login(Principal(_subject(decoded, rules.subject_claim)), expires_at_ms)


def _check_times(token: JsonWebToken, skew: int, now: float) -> int:
    """Return when a token expires, in ms of the epoch.

    One that has expired within the skew is taken, but the login is over with it, as in Kafka.
    """
    expires_at, issued_at = token.seconds("exp"), token.seconds("iat")
    not_before = token.seconds("nbf")
    if expires_at is None or issued_at is None:
        raise InvalidBearerTokenError("exp or iat is missing")
    if expires_at < max(issued_at, issued_at if not_before is None else not_before):
        raise InvalidBearerTokenError("exp is before iat or nbf")
    if now - skew >= expires_at:
        raise InvalidBearerTokenError("it has expired")
    if not_before is not None and now + skew < not_before:
        raise InvalidBearerTokenError("it is not valid yet (nbf)")
    return round(expires_at * 1000)


def _check_purpose(token: JsonWebToken, rules: TokenRules) -> None:
    if rules.issuer is not None and token.claims.get("iss") != rules.issuer:
        raise InvalidBearerTokenError("iss is not the issuer that is expected")
    audience = token.claims.get("aud")
    named = [audience] if isinstance(audience, str) else audience
    if named is None and not rules.audiences:
        return
    if not isinstance(named, list) or not any(one in rules.audiences for one in named):
        raise InvalidBearerTokenError("aud has none of the audiences that are expected")


def _check_scope(scope: Any) -> None:
    named = [scope] if isinstance(scope, str) else scope if isinstance(scope, list) else []
    names = [one.strip() if isinstance(one, str) else "" for one in named]
    if not all(names) or len(set(names)) != len(names):
        raise InvalidBearerTokenError("the scope has a name that is empty or there twice")


def _subject(token: JsonWebToken, claim: str) -> str:
    subject = token.claims.get(claim)
    if not isinstance(subject, str) or not subject.strip():
        raise InvalidBearerTokenError(f"{claim} is not a name")
    return subject.strip()
