"""OAUTHBEARER (RFC 7628, KIP-255, KIP-342): a bearer token, and what follows if it is refused.

::

    client                                               server
      OAuthBearerResponse   token, extensions        →
                            nothing: it is accepted  ←
                            or a reason              ←   OAuthBearerFailure
      FAILURE_SEEN                                   →   which ends the exchange
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Self

import attrs

from pyk.protocol.errors import EncodeError

from .errors import MalformedTokenError
from .json_web_tokens import json_object
from .syntax import (
    ascii_text,
    bounded,
    decoding,
    extension_field,
    extensions_of,
    gs2_header,
    matching,
    optional_sasl_name,
    read_pairs,
    sendable,
    split_gs2_header,
)

FAILURE_SEEN = b"\x01"
"""What a client answers to an OAuthBearerFailure; the server then fails the authentication."""

_SEPARATOR = "\x01"
_CREDENTIALS = "[-_~+/.A-Za-z0-9]+=*"
_BEARER = re.compile(f"bearer +({_CREDENTIALS})", re.IGNORECASE)


@attrs.frozen
class OAuthBearerResponse:
    """The first message of a client: its token, which is as secret as a password.

    ``token`` has the characters of RFC 6750, names of extensions are letters and not ``auth``,
    values printable ASCII, spaces, tabs and ends of lines. Kafka refuses an ``authzid`` that is
    neither empty nor the name of the token's principal. Making one raises EncodeError if a value
    cannot be sent.
    """

    token: str = attrs.field(
        validator=matching(_CREDENTIALS, "is not a bearer token of RFC 6750"), repr=False
    )
    authzid: str = attrs.field(default="", validator=optional_sasl_name)
    extensions: Mapping[str, str] = extension_field(extensions_of(r"[\x20-\x7e\t\r\n]+", {"auth"}))

    def encode(self) -> bytes:
        pairs = {"auth": f"Bearer {self.token}", **self.extensions}
        text = "".join(f"{name}={value}{_SEPARATOR}" for name, value in pairs.items())
        header = gs2_header(self.authzid)
        return sendable(f"{header}{_SEPARATOR}{text}{_SEPARATOR}".encode())

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """Return the response in ``data``; raise MalformedTokenError if it is invalid.

        ``auth`` may stand among the extensions and spell Bearer as it likes.
        """
        with decoding("OAUTHBEARER client response"):
            authzid, rest = split_gs2_header(ascii_text(data))
            if not (rest.startswith(_SEPARATOR) and rest[1:].endswith(_SEPARATOR * 2)):
                raise MalformedTokenError("it is not enclosed in \\x01")
            pairs = read_pairs(rest[1:-2].split(_SEPARATOR))
            bearer = _BEARER.fullmatch(pairs.pop("auth", ""))
            if bearer is None:
                raise MalformedTokenError("auth is missing, or no bearer token")
            return cls(bearer[1], authzid, pairs)


def _printable(_: Any, field: attrs.Attribute[Any], value: str) -> None:
    if not (isinstance(value, str) and value.isprintable()):
        raise EncodeError(f"{field.name} is not printable text")


@attrs.frozen
class OAuthBearerFailure:
    """The reason for which a server refuses a token: a JSON object.

    ``status`` is one of RFC 6750, such as ``invalid_token``; the others tell where to get a better
    one.
    """

    status: str = attrs.field(validator=_printable)
    scope: str | None = attrs.field(default=None, validator=attrs.validators.optional(_printable))
    openid_configuration: str | None = attrs.field(
        default=None, validator=attrs.validators.optional(_printable)
    )

    def encode(self) -> bytes:
        members = {
            "status": self.status,
            "scope": self.scope,
            "openid-configuration": self.openid_configuration,
        }
        said = {name: value for name, value in members.items() if value is not None}
        return sendable(json.dumps(said, separators=(",", ":")).encode())

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """Return the failure in ``data``, without members that are unknown.

        Raises MalformedTokenError if it is invalid. Any response but an empty one is a failure all
        the same; Kafka's client does not look into it.
        """
        with decoding("OAUTHBEARER failure"):
            members = json_object(bounded(data))
            if "status" not in members:
                raise MalformedTokenError("it has no status")
            scope, configuration = members.get("scope"), members.get("openid-configuration")
            return cls(members["status"], scope, configuration)
