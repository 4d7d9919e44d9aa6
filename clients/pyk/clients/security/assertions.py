"""Assertions: tokens that a client makes itself, to show an identity provider who it is (RFC 7523).

A key signs them, or another program writes them into a file. Files are read each time, so that one
that changes is used for the next token.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import attrs

from pyk.clients.errors import ConfigurationError
from pyk.clients.security.token_answers import BEARER_TOKEN, TokenError
from pyk.protocol.sasl import MalformedTokenError
from pyk.protocol.sasl.json_web_tokens import encode_unsigned, json_object, to_base64url
from pyk.runtime import allow_list, slotted
from pyk.runtime.secret import Secret, secret_of

ALGORITHMS = ("RS256", "ES256")
INSTALL = "signing needs the package 'cryptography': install pyk-kafka[tls]"


class Assertion(Protocol):
    """What makes assertions."""

    def assertion(self, now: float) -> Secret:
        """Return one that is valid at ``now``, in seconds of the epoch; raise TokenError."""


@slotted.frozen
class AssertionFile:
    """An assertion that another program writes, and replaces before it expires."""

    path: str

    def assertion(self, now: float) -> Secret:
        """See :class:`Assertion`."""
        text = _read(self.path, "the assertion").decode("ascii", "replace").strip()
        if BEARER_TOKEN.fullmatch(text) is None:
            raise TokenError(f"the file of the assertion, {self.path!r}, does not hold a token")
        return Secret(text)


@attrs.frozen(kw_only=True)
class SignedAssertion:
    """Assertions that are signed with a private key in PEM.

    ``issuer`` and ``subject`` are the client's id at most providers, ``audience`` is the provider.
    ``algorithm`` is ``"RS256"`` or ``"ES256"``. ``template_file`` holds other members of the header
    and the claims as JSON: ``{"header": {"kid": …}, "payload": {…}}``. Kafka's names begin with
    ``sasl.oauthbearer.assertion``.
    """

    key_file: str
    key_password: Secret | None = attrs.field(
        default=None, converter=attrs.converters.optional(secret_of)
    )
    algorithm: str = "RS256"
    issuer: str | None = None
    subject: str | None = None
    audience: str | None = None
    expires_in_seconds: int = 300
    not_before_seconds: int = 60
    has_id: bool = False
    template_file: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ConfigurationError(
                f"the algorithm of assertions must be RS256 or ES256, not {self.algorithm!r}"
            )

    def assertion(self, now: float) -> Secret:
        """See :class:`Assertion`."""
        header, claims = self._template()
        fixed = {"iss": self.issuer, "sub": self.subject, "aud": self.audience}
        claims |= {name: value for name, value in fixed.items() if value is not None}
        claims |= {
            "iat": int(now),
            "exp": int(now) + self.expires_in_seconds,
            "nbf": int(now) - self.not_before_seconds,
        }
        if self.has_id:
            claims["jti"] = str(uuid.uuid4())
        unsigned = encode_unsigned({"typ": "JWT"} | header | {"alg": self.algorithm}, claims)
        signature = self._signer()(unsigned.encode())
        return Secret(f"{unsigned}.{to_base64url(signature)}")

    def _template(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if self.template_file is None:
            return {}, {}
        data = _read(self.template_file, "the template of assertions")
        try:
            template = json_object(data)
        except MalformedTokenError:
            template = {"header": None}
        header, claims = template.get("header", {}), template.get("payload", {})
        if not isinstance(header, Mapping) or not isinstance(claims, Mapping):
            raise TokenError(
                f"the template of assertions, {self.template_file!r}, is not JSON with the objects "
                "header and payload"
            )
        return dict(header), dict(claims)

    def _signer(self) -> Callable[[bytes], bytes]:
        try:
            from cryptography.hazmat.primitives import hashes
            from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
            from cryptography.hazmat.primitives.serialization import load_pem_private_key
        except ImportError:
            raise TokenError(INSTALL) from None
        data = _read(self.key_file, "the key of assertions")
        password = self.key_password.reveal().encode() if self.key_password else None
        try:
            key = load_pem_private_key(data, password)
        except (ValueError, TypeError):
            raise TokenError(
                f"the file {self.key_file!r} does not hold a private key in PEM, or its password "
                "is missing or wrong"
            ) from None
        if self.algorithm == "RS256" and isinstance(key, rsa.RSAPrivateKey):
            return lambda signed: key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
        if self.algorithm == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey):
            return lambda signed: _raw(
                utils.decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256())))
            )
        raise TokenError(f"the key in {self.key_file!r} is not one for {self.algorithm}")


def _raw(numbers: tuple[int, int]) -> bytes:
    """Return a signature of ES256 as RFC 7518 has it: both numbers, in 32 bytes each."""
    return b"".join(number.to_bytes(32, "big") for number in numbers)


def _read(path: str, what: str) -> bytes:
    try:
        allow_list.check_file(path)
        return Path(path).read_bytes()
    except ValueError as error:
        raise TokenError(f"{what}, {path!r}, {error}") from None
    except OSError as error:
        raise TokenError(f"cannot read {what}, {path!r}: {error.strerror}") from None
